import Relay
import Terminal

// Answering, forwarding and saving letters.
extension ChatModel {
    private var chosenLetter: PostboxMessage? { network.inbox.openLetter ?? network.inbox.selectedLetter }

    /// The chosen letter if its text can be read; otherwise says that it cannot.
    private func readableLetter() -> PostboxMessage? {
        guard let letter = chosenLetter else { return nil }
        guard letter.isUnreadable else { return letter }
        sayUnreadable()
        return nil
    }

    func sayUnreadable() { say("This letter cannot be read; it can be deleted.", .failure) }

    /// Begins a letter to the sender of the open or selected one, with its text if it `quotes`.
    func reply(quotes: Bool = false) {
        guard let letter = quotes ? readableLetter() : chosenLetter else { return }
        guard let from = letter.from, !from.isEmpty else {
            return say("The letter does not say who sent it. /post USER/POSTBOX TEXT writes to anyone.", .failure)
        }
        guard !from.hasPrefix("~") else {
            return say("The network itself sent this; an answer would not be read.", .failure)
        }
        let address = Self.address(from)
        // A letter names its sender but none of the sender's postboxes: everyone starts with this one.
        let command = address.contains("/") ? "/post \(address) " : "/post \(address)/\(SlashCommand.firstPostbox) "
        let quotation = quotes ? Self.quotation(of: letter.message, within: .letter) : ""
        let subject = LetterSubject.shown(letter.subject).map { LetterSubject.replying($0) }
        if beginLetter(command + LetterSubject.joined(subject, quotes ? quotation + "\n\n" : "")) {
            sayCut(quotation, of: letter.message)
        }
    }

    /// Begins another letter to the recipient of one that was sent from here, with its text.
    func quote(_ text: String, sent letter: KeptLetter) {
        guard let person = letter.person, !person.isEmpty else {
            return say("It is not known whom this letter went to. /post USER/POSTBOX TEXT writes to anyone.", .failure)
        }
        let address = "\(Self.address(person))/\(Self.address(letter.postbox))"
        let subject = LetterSubject.shown(letter.subject).map { LetterSubject.replying($0) }
        let quotation = Self.quotation(of: text, within: .letter) + "\n\n"
        beginLetter("/post \(address) " + LetterSubject.joined(subject, quotation))
    }

    /// Begins to forward the open or selected letter, and asks for the address.
    func forward() {
        guard let letter = readableLetter() else { return }
        let subject = LetterSubject.shown(letter.subject).map { LetterSubject.forwarding($0) }
        let body = LetterSubject.joined(subject, letter.forwarded(under: nil))
        guard body.utf8.count < network.messageBytes else {
            return say("The letter is too long to be sent on with a text; parley inbox forward sends it.", .failure)
        }
        let command = "/post "
        guard beginLetter(command + "\n\n" + body) else { return }
        compose.editor.moveCursor(to: command.count)
        say("To whom? Write USER/POSTBOX here.")
    }

    func proposeFile() {
        guard let letter = readableLetter() else { return }
        if beginLetter("/save \(letter.fileName)") {
            say("Enter saves the letter; edit the path to save elsewhere.")
        }
    }

    /// Saves a letter in a file: the one that is read, whichever that is, or the postbox's open or selected one.
    ///
    /// - Parameter file: the path; if empty, a name with the letter's time and the other person.
    func save(to file: String) -> ChatEffects {
        let letter: (text: String, name: String)?
        if screen.view.isInbox {
            if chosenLetter == nil { say("There is no letter to save.", .failure) }
            letter = readableLetter().map { ($0.message, $0.fileName) }
        } else if let read = screen.view.reader ?? screen.view.search?.openLetter.map(reader), read.fileName != nil {
            letter = saved(read)
        } else {
            letter = nil
            sayPostboxFirst()
        }
        guard let letter else { return [] }
        return [.letters(.save(text: letter.text, path: file.isEmpty ? letter.name : file, overwrites: false))]
    }

    /// The text and file name of a letter that is read; says so if a search has only its beginning.
    private func saved(_ reader: Reader) -> (text: String, name: String)? {
        guard let name = reader.fileName else { return nil }
        guard reader.isCut else { return (reader.text, name) }
        say("The search has only the letter's beginning; parley inbox save writes all of it.", .failure)
        return nil
    }

    func handleSaving(_ outcome: LetterFile.Outcome) {
        switch outcome {
        case .saved(let path): say("Saved as \(path.prefix(512)).")
        case .isThere(let text, let path):
            ask(.overwrite(text: text, path: path), "\(path.prefix(256)) is there already. Write over it?")
        case .failed(let words): say(words, .failure)
        }
    }

    func write(to address: String) {
        guard hasScreen else {
            return say("Without a screen, add the text: /post USER[/POSTBOX] TEXT", .failure)
        }
        if beginLetter("/post \(address) ") { say("A letter to \(address): write it here, and Enter sends it.") }
    }

    /// Begins a letter in the compose pane; false if something is being written there.
    @discardableResult
    func beginLetter(_ command: String = "/post ") -> Bool {
        screen.focus = .compose
        guard !compose.hasContent else {
            let clears = settings.keys.label(of: .interrupt).map { " \($0) clears it." } ?? ""
            say("Something is being written already." + clears)
            return false
        }
        compose.set(command)
        return true
    }

    /// A sender's claimed name as an address: it is remote text, so white space and control characters are dropped.
    private static func address(_ text: String) -> String {
        let kept = text.unicodeScalars.filter { scalar in
            !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control
                && scalar.properties.generalCategory != .format
        }
        return String(String(String.UnicodeScalarView(kept)).prefix(128))
    }
}
