import Terminal

/// What the keys of one table do. Dispatch, help, hints and the configuration are made of the cases, in their order, by
/// the `KeyMap` that has the configuration's changes.
protocol KeyAction: CaseIterable, Hashable, Sendable where AllCases == [Self] {
    /// What the help calls the table.
    static var title: String { get }
    /// What the configuration calls it; no two tables have the same.
    static var tableName: String { get }
    /// What the configuration calls the action: `next-unread`.
    var name: String { get }
    var binding: KeyBinding { get }
}

extension KeyAction {
    /// A case's name with dashes in the place of its capitals.
    static func name(ofCase text: String) -> String {
        text.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    }
}

extension KeyAction where Self: RawRepresentable, RawValue == String {
    var name: String { Self.name(ofCase: rawValue) }
}

/// The keys of an action, and what is said of it.
struct KeyBinding: Hashable, Sendable {
    let keys: [Key]
    /// What the help says.
    let words: String
    /// What the hint line says; nil for keys that are not hinted.
    let hint: String?

    init(_ keys: [Key], _ words: String, hint: String? = nil) {
        (self.keys, self.words, self.hint) = (keys, words, hint)
    }

    init(_ key: Key.Code, _ words: String, hint: String? = nil) { self.init([Key(key)], words, hint: hint) }
}
