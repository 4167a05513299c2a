import Platform

/// A value read from a JSON5 text, with the place of everything in it.
package struct JSON5Document<Value: Decodable & Sendable>: Sendable {
    package let value: Value
    /// The places of all values in the text.
    package let outline: JSON5Outline

    /// Parses a text in UTF-8. The words of a mistake do not name the decoder's types.
    package init(_ data: Data) throws(JSON5Outline.Mistake) {
        outline = try JSON5Outline(Array(data))
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do { value = try decoder.decode(Value.self, from: data) } catch {
            let mistake = Self.mistake(error)
            throw JSON5Outline.Mistake(
                place: outline.place(of: mistake.path, isKey: mistake.isKey), words: mistake.words)
        }
    }

    private static func mistake(_ error: any Error) -> SettingMistake {
        switch error {
        case let mistake as SettingMistake:
            let object = mistake.isKey ? mistake.path.dropLast() : mistake.path
            return SettingMistake(mistake.path, isKey: mistake.isKey, name(object, ": ") + mistake.words)
        case DecodingError.dataCorrupted(let found), DecodingError.keyNotFound(_, let found):
            return SettingMistake(found.codingPath, name(found.codingPath, ": ") + found.debugDescription)
        case DecodingError.typeMismatch(let type, let found):
            let name = name(found.codingPath)
            return SettingMistake(found.codingPath, "\(name.isEmpty ? "this" : name) is not \(article(type))")
        case DecodingError.valueNotFound(_, let found):
            return SettingMistake(
                found.codingPath, name(found.codingPath, ": ") + "null is not allowed here; leave it out")
        default: return SettingMistake([], "it cannot be understood (\(error))")
        }
    }

    /// A path as a mistake names it, followed by `end`; empty for the entire text.
    private static func name(_ path: [any CodingKey], _ end: String = "") -> String {
        let name = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return name.isEmpty ? "" : name + end
    }

    private static func article(_ type: Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Double.Type: "a number"
        case is Bool.Type: "true or false"
        case is [String].Type, is [Any].Type: "a list"
        default: "an object"
        }
    }
}
