/// A mistake in a text, by the keys that lead to it; the owner of the text finds its place.
package struct SettingMistake: Error {
    package let path: [any CodingKey]
    /// Whether the last key itself is the mistake, and not its value.
    package let isKey: Bool
    /// What is wrong, and what to write instead. Never contains a secret.
    package let words: String

    package init(_ path: [any CodingKey], isKey: Bool = false, _ words: String) {
        (self.path, self.isKey, self.words) = (path, isKey, words)
    }
}

/// An object's key or a list's index without a name in the program.
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

/// Reports misspelt keys instead of ignoring them.
package enum UnknownKeys {
    /// Throws for any other key; `kind` is what the mistake calls a key.
    package static func refuse(in decoder: any Decoder, besides known: [String], kind: String = "setting") throws {
        let keys = try decoder.container(keyedBy: PathKey.self).allKeys.map(\.stringValue)
        guard let unknown = keys.filter({ !known.contains($0) }).min() else { return }
        throw SettingMistake(
            decoder.codingPath + [PathKey(unknown)], isKey: true,
            "“\(unknown)” is not a \(kind); these are: \(known.sorted().joined(separator: ", "))")
    }
}
