// Writing in a program of the person's own.
extension ChatModel {
    /// Takes over what the person has written in their editor; the text before can be had back.
    func handleEdited(_ outcome: TextEditor.Outcome) {
        // Meanwhile nobody saw what came.
        let time = now.wall
        network.conversations.updateAll { $0.resume(at: time) }
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
