/// A mistake in what a text says, by the keys that lead to it; whoever has the text finds its place.
package struct SettingMistake: Error {
    package let path: [any CodingKey]
    /// Whether the last key itself is the mistake, and not what it stands for.
    package let isKey: Bool
    /// What is wrong, and what to write instead. Never holds a secret.
    package let words: String

    package init(_ path: [any CodingKey], isKey: Bool = false, _ words: String) {
        self.path = path
        self.isKey = isKey
        self.words = words
    }
}

/// A key of an object, or a place in a list, that has no name of its own in the program.
package struct PathKey: CodingKey, Hashable {
    package let stringValue: String
    package let intValue: Int?

    package init(_ index: Int) {
        stringValue = String(index)
        intValue = index
    }

    package init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue: Int) { self.init(intValue) }
}

/// A misspelt key is a mistake that should be reported, not ignored.
package enum UnknownKeys {
    /// Refuses other keys than these; `kind` is what the mistake calls a key.
    package static func refuse(in decoder: any Decoder, besides known: [String], kind: String = "setting") throws {
        let keys = try decoder.container(keyedBy: PathKey.self).allKeys.map(\.stringValue)
        guard let unknown = keys.filter({ !known.contains($0) }).min() else { return }
        throw SettingMistake(
            decoder.codingPath + [PathKey(unknown)], isKey: true,
            "“\(unknown)” is not a \(kind); these are: \(known.sorted().joined(separator: ", "))")
    }
}
