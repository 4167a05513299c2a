import Terminal

/// The actions of one table of keys. A `KeyMap` makes dispatch, help, hints and the configuration from the cases, in
/// order.
protocol KeyAction: CaseIterable, Hashable, Sendable where AllCases == [Self] {
    /// The table's heading in the help.
    static var title: String { get }
    /// The table's unique name in the configuration.
    static var tableName: String { get }
    /// The action's name in the configuration, such as `next-unread`.
    var name: String { get }
    var binding: KeyBinding { get }
}

extension KeyAction {
    static func name(ofCase text: String) -> String {
        text.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    }
}

extension KeyAction where Self: RawRepresentable, RawValue == String {
    var name: String { Self.name(ofCase: rawValue) }
}

/// The standard keys of an action, with its help.
struct KeyBinding: Hashable, Sendable {
    let keys: [Key]
    let words: String
    /// The text on the hint line; nil to leave it out there.
    let hint: String?

    init(_ keys: [Key], _ words: String, hint: String? = nil) {
        (self.keys, self.words, self.hint) = (keys, words, hint)
    }

    init(_ key: Key.Code, _ words: String, hint: String? = nil) { self.init([Key(key)], words, hint: hint) }
}
