import Platform

/// What asks a terminal to take a text into its clipboard (OSC 52): the text in base64, so that nothing of it is read
/// as anything else.
enum ClipboardSequence {
    static func bytes(_ text: String) -> [UInt8] {
        Array("\u{1B}]52;c;\(Data(text.utf8).base64EncodedString())\u{1B}\\".utf8)
    }
}
