/// Texts in many scripts, with all that a message can have in it, and names in the scripts of those who wrote them.
public enum ScriptTexts {
    /// A message, and who wrote it.
    public struct Line: Sendable {
        /// The name of its author.
        public let name: String
        /// What it says.
        public let text: String
    }

    /// Each of another kind: wide, joined and coloured, paired, right to left, with marks, and with what is drawn
    /// otherwise.
    public static let lines: [Line] = [
        Line(name: "李小龍", text: "日本語と中文，한국어도 됩니다"),
        Line(name: "zoë", text: "joined: 👩‍👩‍👧 👍🏽 ❤️ 🏳️‍🌈 1️⃣"),
        Line(name: "zoë", text: "flags: 🇩🇪🇯🇵🇧🇷 and a lone 🇩"),
        Line(name: "נועה", text: "עברית באמצע English and back"),
        Line(name: "ليلى", text: "مرحبا بالعالم 123"),
        Line(name: "combining", text: "e\u{301} a\u{308}\u{323} n\u{303} Z\u{335}\u{336}\u{337}\u{338}\u{33A}algo"),
        Line(name: "देवी", text: "क्षि हिन्दी"),
        Line(name: "tabs", text: "a\tb\tc\u{7}\u{1B}[31m"),
        Line(name: "bob", text: "> quoted before\n`code` and https://example.org/a?b=c"),
        Line(name: "bob", text: "@alice: and you?"),
    ]
}
