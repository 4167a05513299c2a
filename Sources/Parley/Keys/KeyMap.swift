import JSON5
import Terminal

/// The keys of all actions, with the configuration's changes. Used by dispatch, help and hints.
struct KeyMap: Hashable, Sendable {
    /// An action of a table with its current keys.
    struct Entry: Hashable, Sendable {
        /// The action's name in the configuration, such as `next-unread`.
        let name: String
        let binding: KeyBinding
        fileprivate(set) var sequences: [KeySequence]

        /// The keys for display; a dash if there are none.
        var label: String { sequences.isEmpty ? "–" : sequences.map(\.label).joined(separator: " ") }

        fileprivate func isMeant(by keys: [Key]) -> Bool { sequences.contains { $0.keys == keys } }
        fileprivate func isBegun(by keys: [Key]) -> Bool { sequences.contains { $0.continues(keys) } }

        /// Whether a sequence is one of the standard keys.
        fileprivate func isStandard(_ sequence: KeySequence) -> Bool {
            sequence.keys.count == 1 && sequence.keys.allSatisfy(binding.keys.contains)
        }

        /// The key to pass to the editor for pressed keys: the same key if it is a standard one, or else the first
        /// standard one.
        fileprivate func editorKey(for pressed: [Key]) -> Key? {
            isStandard(KeySequence(pressed)) ? pressed.first : binding.keys.first
        }
    }

    /// The hint for an action on the bottom line, ready to be drawn.
    struct Hint: Hashable, Sendable {
        /// The action's place in its table.
        let place: Int
        let key: SafeText
        let words: SafeText
    }

    struct Table: Hashable, Sendable {
        let title: String
        /// The table's name in the configuration.
        let name: String
        fileprivate(set) var entries: [Entry]
        fileprivate private(set) var beginnings: Set<Key> = []
        private(set) var hints: [Hint] = []

        fileprivate init<Action: KeyAction>(_ table: Action.Type) {
            title = table.title
            name = table.tableName
            entries = table.allCases.map { action in
                let binding = action.binding
                return Entry(name: action.name, binding: binding, sequences: binding.keys.map { KeySequence([$0]) })
            }
        }

        /// The index of an action, by its name with or without the table's.
        fileprivate func place(of action: String) -> Int? {
            entries.firstIndex { $0.name == action || "\(name).\($0.name)" == action }
        }

        fileprivate var holders: [(sequence: KeySequence, name: String, table: String)] {
            entries.flatMap { entry in entry.sequences.map { ($0, entry.name, name) } }
        }

        /// Precomputes what is needed for each key and each frame.
        fileprivate mutating func index() {
            beginnings = Set(entries.flatMap { $0.sequences.compactMap(\.keys.first) })
            hints = entries.enumerated().compactMap { place, entry in
                guard let words = entry.binding.hint, let first = entry.sequences.first else { return nil }
                return Hint(place: place, key: SafeText(first.label), words: SafeText(" \(words)  "))
            }
        }
    }

    /// All tables, in the order of the help.
    private(set) var tables: [Table]
    /// The first keys of everything that works everywhere or in a text, including removed standard keys of the text.
    private var sharedBeginnings: Set<Key> = []

    static let standard = KeyMap()

    private init() {
        func table<P: Pane>(of pane: P.Type) -> Table { Table(P.Action.self) }
        tables = [Table(EverywhereKey.self)]
        for pane in Panes.all {
            tables.append(table(of: pane))
            if pane == ComposePane.self { tables.append(Table(EditingKey.self)) }
        }
        index()
    }

    private mutating func index() {
        for place in tables.indices { tables[place].index() }
        sharedBeginnings = self[EverywhereKey.self].beginnings.union(self[EditingKey.self].beginnings)
        for action in EditingKey.allCases { sharedBeginnings.formUnion(action.binding.keys) }
    }

    subscript<Action: KeyAction>(_ actions: Action.Type) -> Table {
        tables.first { $0.name == actions.tableName } ?? Table(actions)
    }

    private func sequences<Action: KeyAction>(of action: Action) -> [KeySequence] {
        zip(Action.allCases, self[Action.self].entries).first { $0.0 == action }?.1.sequences ?? []
    }

    // MARK: Dispatch

    enum Meaning<Action: KeyAction>: Hashable, Sendable {
        case own(Action)
        case everywhere(EverywhereKey)
        /// Edits a text; with the key to pass to the editor.
        case editing(Key)
        case beginning
        case nothing
    }

    /// Whether any binding of a pane begins with a key. Most keys are merely letters of a text.
    func begins<P: Pane>(with key: Key, in pane: P.Type) -> Bool {
        sharedBeginnings.contains(key) || self[P.Action.self].beginnings.contains(key)
    }

    /// The meaning in a pane of keys pressed one after the other. The pane's own actions come first, if they apply.
    func meaning<P: Pane>(
        of keys: [Key], in pane: P.Type, where hasMeaning: (P.Action) -> Bool
    ) -> Meaning<P.Action> {
        let actions = zip(P.Action.allCases, self[P.Action.self].entries)
        if let (action, _) = actions.first(where: { $1.isMeant(by: keys) && hasMeaning($0) }) { return .own(action) }
        if actions.contains(where: { $1.isBegun(by: keys) && hasMeaning($0) }) { return .beginning }
        let everywhere = zip(EverywhereKey.allCases, self[EverywhereKey.self].entries)
        if let (action, _) = everywhere.first(where: { $1.isMeant(by: keys) }) { return .everywhere(action) }
        if everywhere.contains(where: { $1.isBegun(by: keys) }) { return .beginning }
        let editing = self[EditingKey.self].entries
        if let entry = editing.first(where: { $0.isMeant(by: keys) }) {
            return entry.editorKey(for: keys).map { .editing($0) } ?? .nothing
        }
        return editing.contains { $0.isBegun(by: keys) } ? .beginning : .nothing
    }

    /// The key to pass to the editor for a pressed one; nil for a standard key that the configuration has removed.
    func editorKey(for key: Key) -> Key? {
        guard sharedBeginnings.contains(key) else { return key }
        if let entry = self[EditingKey.self].entries.first(where: { $0.isMeant(by: [key]) }) {
            return entry.editorKey(for: [key])
        }
        return EditingKey.allCases.contains { $0.binding.keys.contains(key) } ? nil : key
    }

    func action(of key: Key) -> EverywhereKey? { action(of: key, among: EverywhereKey.self) }

    func action<P: Pane>(of key: Key, in pane: P.Type) -> P.Action? { action(of: key, among: P.Action.self) }

    private func action<Action: KeyAction>(of key: Key, among actions: Action.Type) -> Action? {
        zip(actions.allCases, self[actions].entries).first { $1.isMeant(by: [key]) }?.0
    }

    /// The possible continuations of a chord: the remaining keys and their action.
    func followers<P: Pane>(of chord: [Key], in pane: P) -> [(rest: KeySequence, binding: KeyBinding)] {
        let tables = [self[P.Action.self], self[EverywhereKey.self], self[EditingKey.self]]
        return tables.flatMap(\.entries).flatMap { entry in
            entry.sequences.filter { $0.continues(chord) }.map {
                (rest: KeySequence(Array($0.keys.dropFirst(chord.count))), binding: entry.binding)
            }
        }
    }

    /// The action's first key for display; nil if it has none.
    func label(of action: EverywhereKey) -> String? { sequences(of: action).first?.label }

    func label(of action: EditingKey) -> String? { sequences(of: action).first?.label }

    func label<P: Pane>(of action: P.Action, in pane: P.Type) -> String? { sequences(of: action).first?.label }

    /// The key that closes a list over the panes; Esc always does.
    var labelOfClosing: String {
        sequences(of: EverywhereKey.escape).first { $0.keys.count == 1 }?.label ?? Key(.escape).label
    }
}

// MARK: - Changes by the configuration

extension KeyMap {
    struct Change: Hashable, Sendable {
        /// The action as written: `next-unread`, or `postbox.reply` for one table only.
        let name: String
        /// Empty to unbind the action.
        let sequences: [KeySequence]
    }

    struct Mistake: Error, Hashable {
        let name: String
        let words: String
    }

    static func knows(_ name: String) -> Bool { standard.tables.contains { $0.place(of: name) != nil } }

    /// The standard tables with changes. A change applies to each table that has the action; one for a single table
    /// takes precedence.
    ///
    /// - Throws: ``Mistake`` if a key would have two meanings in one table, or could no longer be typed.
    init(_ changes: [Change]) throws(Mistake) {
        self = .standard
        // The changes as written, by table and action, for error messages.
        var changed: [String: String] = [:]
        for change in changes.filter({ !$0.name.contains(".") }) + changes.filter({ $0.name.contains(".") }) {
            for (index, table) in tables.enumerated() {
                guard let place = table.place(of: change.name) else { continue }
                tables[index].entries[place].sequences = change.sequences
                changed["\(table.name).\(table.entries[place].name)"] = change.name
            }
        }
        index()
        let text = [self[EverywhereKey.self], self[ComposePane.Action.self]]
        // Only the standard keys of the text; configured ones are checked with their own table.
        var own = self[EditingKey.self]
        for index in own.entries.indices {
            own.entries[index].sequences = own.entries[index].sequences.filter(own.entries[index].isStandard)
        }
        for table in tables {
            // A key of the text with another meaning would never reach the text.
            let isText = text.contains { $0.name == table.name }
            let others = table.name == EditingKey.tableName ? text : isText ? [own] : []
            try Self.check(table, changed, beside: others)
        }
    }

    /// The tables in which a bare letter belongs to the text.
    private static let typing = [
        EverywhereKey.tableName, EditingKey.tableName, ComposePane.Action.tableName, LogPane.Action.tableName,
    ]

    /// - Parameter others: tables that this one must not share keys with, except standard ones.
    private static func check(
        _ table: Table, _ changed: [String: String], beside others: [Table]
    ) throws(Mistake) {
        func change(of action: String) -> String? { changed["\(table.name).\(action)"] }
        // Unchanged entries first, so that the error names a change.
        var seen = table.holders.filter { change(of: $0.name) == nil }
        let shared = others.flatMap(\.holders)
        for entry in table.entries {
            guard let name = change(of: entry.name) else { continue }
            for sequence in entry.sequences {
                let label = sequence.label
                if typing.contains(table.name), let first = sequence.keys.first, first.modifiers.isEmpty,
                    case .character = first.code
                {
                    let words = "\(label) by itself is a letter of the text (\(table.name)); add Alt or Ctrl, say"
                    throw Mistake(name: name, words: words)
                }
                let taken = entry.isStandard(sequence) ? seen : seen + shared
                if let other = taken.first(where: { $0.sequence.clashes(with: sequence) }) {
                    let relation =
                        other.sequence == sequence ? "is" : "and \(other.sequence.label) begin alike, and that is"
                    let words = "\(label) \(relation) “\(other.name)” already (\(other.table)); give one of them "
                    throw Mistake(name: name, words: words + "another key, or none")
                }
                seen.append((sequence, entry.name, table.name))
            }
        }
    }
}

/// The setting `keys`: for the name of an action its key, a list of keys, or `none`.
struct KeySetting: Hashable, Sendable, Decodable {
    let changes: [KeyMap.Change]
    let map: KeyMap

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: PathKey.self)
        var changes: [KeyMap.Change] = []
        for key in values.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
            guard KeyMap.knows(key.stringValue) else {
                throw SettingMistake(
                    values.codingPath + [key], isKey: true,
                    "“\(key.stringValue.prefix(64))” is no action; parley config defaults lists them")
            }
            let list = try values.decode(KeyList.self, forKey: key)
            changes.append(.init(name: key.stringValue, sequences: list.sequences))
        }
        self.changes = changes
        do throws(KeyMap.Mistake) { map = try KeyMap(changes) } catch {
            throw SettingMistake(values.codingPath + [PathKey(error.name)], error.words)
        }
    }
}

private struct KeyList: Decodable {
    let sequences: [KeySequence]

    private static let maximumCount = 8

    init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            sequences = text == "none" ? [] : [try Self.sequence(text, decoder.codingPath)]
            return
        }
        guard var values = try? decoder.unkeyedContainer() else {
            throw SettingMistake(decoder.codingPath, "it takes a key, a list of keys, or none")
        }
        var sequences: [KeySequence] = []
        while !values.isAtEnd {
            let path = decoder.codingPath + [PathKey(values.currentIndex)]
            let sequence = try Self.sequence(try values.decode(String.self), path)
            guard !sequences.contains(sequence) else { throw SettingMistake(path, "it is in the list already") }
            guard sequences.count < Self.maximumCount else {
                throw SettingMistake(path, "an action has at most \(Self.maximumCount) keys")
            }
            sequences.append(sequence)
        }
        self.sequences = sequences
    }

    private static func sequence(_ text: String, _ path: [any CodingKey]) throws -> KeySequence {
        do throws(KeySequence.Mistake) { return try KeySequence(parsing: text) } catch {
            throw SettingMistake(path, error.words)
        }
    }
}
