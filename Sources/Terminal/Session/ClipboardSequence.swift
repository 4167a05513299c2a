import Platform

/// Asks a terminal to put a text into its clipboard (OSC 52), in base64, so that nothing in it is interpreted.
enum ClipboardSequence {
    static func bytes(_ text: String) -> [UInt8] {
        Array("\u{1B}]52;c;\(Data(text.utf8).base64EncodedString())\u{1B}\\".utf8)
    }
}
