// Writing in an external editor.
extension ChatModel {
    /// Replaces the text by that of the person's editor; undo brings the earlier one back.
    func handleEdited(_ outcome: TextEditor.Outcome) {
        // No one saw what came meanwhile.
        network.conversations.updateAll { $0.resume(at: now.wall) }
        attention.lastInput = now.instant
        screen.focus = .compose
        switch outcome {
        case .written(let text):
            guard text != compose.text else { return }
            compose.set("")
            let cut = compose.editor.insert(text)
            if cut > 0 {
                sayFull("The last \(Wording.count(cut, "character")) of the text \(cut == 1 ? "is" : "are") missing")
            } else {
                _ = fits(text)
            }
        case .failed(let words): say(words, .failure)
        }
    }
}
