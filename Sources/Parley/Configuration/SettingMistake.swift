/// A mistake in the configuration, by the keys that lead to it; whoever has the text finds its place.
struct SettingMistake: Error {
    let path: [any CodingKey]
    /// Whether the last key itself is the mistake, and not what it stands for.
    let isKey: Bool
    /// What is wrong, and what to write instead. Never holds a secret.
    let words: String

    init(_ path: [any CodingKey], isKey: Bool = false, _ words: String) {
        self.path = path
        self.isKey = isKey
        self.words = words
    }
}

/// A key of an object, or a place in a list, that has no name of its own in the program.
struct PathKey: CodingKey, Hashable {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) {
        stringValue = String(index)
        intValue = index
    }

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}

/// A misspelt key is a mistake that should be heard of, not passed over.
enum UnknownKeys {
    static func refuse(in decoder: any Decoder, besides known: [String]) throws {
        let keys = try decoder.container(keyedBy: PathKey.self).allKeys.map(\.stringValue)
        guard let unknown = keys.filter({ !known.contains($0) }).min() else { return }
        throw SettingMistake(
            decoder.codingPath + [PathKey(unknown)], isKey: true,
            "“\(unknown)” is not a setting; these are: \(known.sorted().joined(separator: ", "))")
    }
}
