import JSON5
import Terminal

/// Which keys stand for what: the tables, with what the configuration says instead. Dispatch, help and hints ask it.
struct KeyMap: Hashable, Sendable {
    /// A binding of the tables with the keys that it has now.
    struct Entry: Hashable, Sendable {
        let binding: KeyBinding
        fileprivate(set) var sequences: [KeySequence]

        var action: KeyAction { binding.action }
        /// The keys as a person reads them; a dash where there are none.
        var label: String { sequences.isEmpty ? "–" : sequences.map(\.label).joined(separator: " ") }

        /// Whether a sequence is one of the table's own.
        fileprivate func isStandard(_ sequence: KeySequence) -> Bool {
            sequence.keys.count == 1 && sequence.keys.allSatisfy(binding.keys.contains)
        }

        /// The key that a text's editor takes for keys that were pressed: what was pressed, where that is one of the
        /// table's own.
        fileprivate func editorKey(for pressed: [Key]) -> Key? {
            isStandard(KeySequence(pressed)) ? pressed.first : binding.keys.first
        }
    }

    /// The keys that work everywhere, in the order of the help.
    private(set) var everywhere = KeyMap.entries(KeyBinding.everywhere)
    /// The keys that edit a text, in the order of the help.
    private(set) var editing = KeyMap.entries(EditingKey.all)
    /// By the panes' titles.
    private var panes = Dictionary(
        uniqueKeysWithValues: Panes.all.map { ($0.title, KeyMap.entries($0.keys)) })

    /// The keys with which something of a pane's table begins, by its title.
    private var beginnings: [String: Set<Key>] = [:]
    /// The keys with which something begins everywhere or in a text, and those of the text that were taken away.
    private var sharedBeginnings: Set<Key> = []
    private var hints: [String: [Hint]] = [:]
    /// What the bottom line may say of the keys that work everywhere.
    private(set) var hintsOfEverywhere: [Hint] = []

    /// What the bottom line says of an entry, ready to be drawn.
    struct Hint: Hashable, Sendable {
        let action: KeyAction
        let key: SafeText
        let words: SafeText

        /// Nil for an entry that is not hinted, or has no key.
        fileprivate init?(_ entry: Entry) {
            guard let words = entry.binding.hint, let first = entry.sequences.first else { return nil }
            action = entry.action
            key = SafeText(first.label)
            self.words = SafeText(" \(words)  ")
        }
    }

    /// The tables as they are.
    static let standard = KeyMap()

    private init() { index() }

    /// Makes of the tables what each key and each frame asks for.
    private mutating func index() {
        beginnings = panes.mapValues { Self.firstKeys(of: $0) }
        sharedBeginnings = Self.firstKeys(of: everywhere).union(Self.firstKeys(of: editing))
        for binding in EditingKey.all { sharedBeginnings.formUnion(binding.keys) }
        hints = panes.mapValues { $0.compactMap { Hint($0) } }
        hintsOfEverywhere = everywhere.compactMap { Hint($0) }
    }

    private static func firstKeys(of entries: [Entry]) -> Set<Key> {
        Set(entries.flatMap { $0.sequences.compactMap(\.keys.first) })
    }

    /// What the bottom line may say of a pane's own keys.
    func hints(of pane: any Pane.Type) -> [Hint] { hints[pane.title] ?? [] }

    private static func entries(_ table: [KeyBinding]) -> [Entry] {
        table.map { Entry(binding: $0, sequences: $0.keys.map { KeySequence([$0]) }) }
    }

    /// A pane's own keys, in the order of the help.
    func entries(of pane: any Pane.Type) -> [Entry] { panes[pane.title] ?? [] }

    // MARK: Dispatch

    /// What keys stand for.
    enum Meaning: Hashable, Sendable {
        /// An action of the pane.
        case own(KeyAction)
        case everywhere(KeyAction)
        /// Edits a text, as the editor's own key does.
        case editing(Key)
        /// A chord begins with them.
        case beginning
        case nothing
    }

    /// What keys that were pressed one after the other stand for in a pane. Its own come first.
    ///
    /// - Parameter hasMeaning: whether an action of the pane can be meant now.
    func meaning(of keys: [Key], in pane: any Pane.Type, where hasMeaning: (KeyAction) -> Bool) -> Meaning {
        // Most keys are letters of a text.
        if let first = keys.first, !sharedBeginnings.contains(first),
            beginnings[pane.title]?.contains(first) != true
        {
            return .nothing
        }
        let own = entries(of: pane).filter { hasMeaning($0.action) }
        if let entry = own.first(where: { $0.sequences.contains { $0.keys == keys } }) { return .own(entry.action) }
        if own.contains(where: { $0.sequences.contains { $0.continues(keys) } }) { return .beginning }
        if let entry = everywhere.first(where: { $0.sequences.contains { $0.keys == keys } }) {
            return .everywhere(entry.action)
        }
        if everywhere.contains(where: { $0.sequences.contains { $0.continues(keys) } }) { return .beginning }
        if let entry = editing.first(where: { $0.sequences.contains { $0.keys == keys } }) {
            return entry.editorKey(for: keys).map { Meaning.editing($0) } ?? .nothing
        }
        return editing.contains { $0.sequences.contains { $0.continues(keys) } } ? .beginning : .nothing
    }

    /// The key that a text's editor takes for one; nil for one of its own that the configuration has taken away.
    func editorKey(for key: Key) -> Key? {
        guard sharedBeginnings.contains(key) else { return key }
        if let entry = editing.first(where: { $0.sequences.contains { $0.keys == [key] } }) {
            return entry.editorKey(for: [key])
        }
        return EditingKey.all.contains { $0.keys.contains(key) } ? nil : key
    }

    /// The action of one key in a pane's own table, or in the one of everywhere.
    func action(of key: Key, in pane: (any Pane.Type)? = nil) -> KeyAction? {
        let table = pane.map(entries(of:)) ?? everywhere
        return table.first { $0.sequences.contains { $0.keys == [key] } }?.action
    }

    /// What can follow the first keys of a chord: the keys that are left, and what they do.
    func followers(of chord: [Key], in pane: any Pane.Type) -> [(rest: KeySequence, binding: KeyBinding)] {
        (entries(of: pane) + everywhere + editing).flatMap { entry in
            entry.sequences.filter { $0.continues(chord) }.map {
                (rest: KeySequence(Array($0.keys.dropFirst(chord.count))), binding: entry.binding)
            }
        }
    }

    /// The first key of an action in a pane, or else everywhere and in a text, for a sentence that names it; nil where
    /// it has none.
    func label(of action: KeyAction, in pane: (any Pane.Type)? = nil) -> String? {
        if let pane { return entries(of: pane).first { $0.action == action }?.sequences.first?.label }
        let entry = everywhere.first { $0.action == action } ?? editing.first { $0.action == action }
        return entry?.sequences.first?.label
    }

    /// What closes a list over the panes: Esc does whatever the keys are.
    var labelOfClosing: String {
        let escape = everywhere.first { $0.action == .escape }
        return escape?.sequences.first { $0.keys.count == 1 }?.label ?? Key(.escape).label
    }
}

// MARK: - What the configuration changes

extension KeyAction {
    /// As the configuration calls it: `next-unread`.
    var name: String {
        rawValue.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    }
}

extension KeyMap {
    /// What the configuration calls a table: that of a pane by its title, such as `postbox`.
    static func name(of pane: any Pane.Type) -> String { pane.title.lowercased().replacing(" ", with: "-") }

    private static let nameOfEverywhere = "everywhere"
    private static let nameOfEditing = "editing"

    /// The keys that the configuration gives an action.
    struct Change: Hashable, Sendable {
        /// As it was written: `next-unread`, or `postbox.reply` for one pane alone.
        let name: String
        /// None unbinds.
        let sequences: [KeySequence]
    }

    /// Why a change cannot be made.
    struct Mistake: Error, Hashable {
        /// The name of the change.
        let name: String
        let words: String
    }

    /// Whether there is an action of this name.
    static func knows(_ name: String) -> Bool {
        let (table, action) = parts(name)
        return standard.tables.contains {
            (table == nil || $0.name == table) && $0.entries.contains { $0.action.name == action }
        }
    }

    private static func parts(_ name: String) -> (table: String?, action: String) {
        guard let dot = name.firstIndex(of: ".") else { return (nil, name) }
        return (String(name[..<dot]), String(name[name.index(after: dot)...]))
    }

    /// All tables with the names that the configuration has for them, in the order of the help.
    var tables: [(name: String, entries: [Entry])] {
        var tables = [(name: Self.nameOfEverywhere, entries: everywhere)]
        for pane in Panes.all {
            tables.append((name: Self.name(of: pane), entries: entries(of: pane)))
            if pane == ComposePane.self { tables.append((name: Self.nameOfEditing, entries: editing)) }
        }
        return tables
    }

    /// The tables with changes. A change of an action counts in each table that has it; one for a table alone goes
    /// before.
    ///
    /// - Throws: ``Mistake`` where a key would stand for two things in one table, or could not be typed any more.
    init(_ changes: [Change]) throws(Mistake) {
        self = .standard
        // By table and action: what was changed, to name it.
        var changed: [String: String] = [:]
        let isGeneral = { (change: Change) in Self.parts(change.name).table == nil }
        for change in changes.filter(isGeneral) + changes.filter({ !isGeneral($0) }) {
            let (wanted, action) = Self.parts(change.name)
            for (table, entries) in tables where wanted == nil || table == wanted {
                guard let index = entries.firstIndex(where: { $0.action.name == action }) else { continue }
                set(change.sequences, at: index, in: table)
                changed["\(table).\(action)"] = change.name
            }
        }
        index()
        let text = tables.filter { $0.name == Self.nameOfEverywhere || $0.name == Self.name(of: ComposePane.self) }
        // The keys that the text has by itself; one that it was given goes by its own table.
        let own = editing.map { entry in
            var entry = entry
            entry.sequences = entry.sequences.filter(entry.isStandard)
            return entry
        }
        for (table, entries) in tables {
            // A key of the text that means something before it comes to that would never reach it.
            var others: [(name: String, entries: [Entry])] = []
            if table == Self.nameOfEditing { others = text }
            if text.contains(where: { $0.name == table }) { others = [(name: Self.nameOfEditing, entries: own)] }
            try Self.check(entries, of: table, changed, beside: others)
        }
    }

    private mutating func set(_ sequences: [KeySequence], at index: Int, in table: String) {
        if table == Self.nameOfEverywhere {
            everywhere[index].sequences = sequences
        } else if table == Self.nameOfEditing {
            editing[index].sequences = sequences
        } else if let pane = Panes.all.first(where: { Self.name(of: $0) == table }) {
            panes[pane.title]?[index].sequences = sequences
        }
    }

    /// The tables in which a letter by itself belongs to the text.
    private static let typing = [nameOfEverywhere, nameOfEditing, name(of: ComposePane.self), name(of: LogPane.self)]

    /// What has a key in a table.
    private struct Holder {
        let sequence: KeySequence
        let action: KeyAction
        let table: String
    }

    /// - Parameter others: tables with which this one shares no keys but those that they share by themselves.
    private static func check(
        _ entries: [Entry], of table: String, _ changed: [String: String],
        beside others: [(name: String, entries: [Entry])]
    ) throws(Mistake) {
        func change(of entry: Entry) -> String? { changed["\(table).\(entry.action.name)"] }
        func holders(_ entries: [Entry], of table: String) -> [Holder] {
            entries.flatMap { entry in
                entry.sequences.map { Holder(sequence: $0, action: entry.action, table: table) }
            }
        }
        // What was not changed is seen first, so that a change is named.
        var seen = holders(entries.filter { change(of: $0) == nil }, of: table)
        let shared = others.flatMap { holders($0.entries, of: $0.name) }
        for entry in entries {
            guard let name = change(of: entry) else { continue }
            for sequence in entry.sequences {
                if typing.contains(table), let first = sequence.keys.first, first.isText {
                    throw Mistake(
                        name: name,
                        words: "\(sequence.label) by itself is a letter of the text (\(table)); add Alt or Ctrl, say")
                }
                let taken = entry.isStandard(sequence) ? seen : seen + shared
                if let other = taken.first(where: { $0.sequence.clashes(with: sequence) }) {
                    let relation =
                        other.sequence == sequence ? "is" : "and \(other.sequence.label) begin alike, and that is"
                    throw Mistake(
                        name: name,
                        words:
                            "\(sequence.label) \(relation) “\(other.action.name)” already (\(other.table)); give one of "
                            + "them another key, or none")
                }
                seen.append(Holder(sequence: sequence, action: entry.action, table: table))
            }
        }
    }
}

extension Key {
    /// Whether it writes a character.
    fileprivate var isText: Bool {
        guard modifiers.isEmpty, case .character = code else { return false }
        return true
    }
}

/// The setting `keys`: by the name of an action its key, a list of keys, or `none`.
struct KeySetting: Hashable, Sendable, Decodable {
    /// What it changes, by name.
    let changes: [KeyMap.Change]
    /// The tables with it.
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
            changes.append(
                .init(name: key.stringValue, sequences: try values.decode(KeyList.self, forKey: key).sequences))
        }
        self.changes = changes
        do throws(KeyMap.Mistake) { map = try KeyMap(changes) } catch {
            throw SettingMistake(values.codingPath + [PathKey(error.name)], error.words)
        }
    }
}

/// A key, a list of keys, or `none`.
private struct KeyList: Decodable {
    let sequences: [KeySequence]

    /// Most keys of one action.
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
                throw SettingMistake(path, "an action has \(Self.maximumCount) keys at most")
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
