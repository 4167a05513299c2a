import Platform

/// A value that was read from a JSON5 text, with the place of everything in it.
package struct JSON5Document<Value: Decodable & Sendable>: Sendable {
    /// What the text says.
    package let value: Value
    /// Where it says so.
    package let outline: JSON5Outline

    /// Reads a text in UTF-8.
    ///
    /// - Throws: `JSON5Outline.Mistake` with the place, in words without the decoder's names of types.
    package init(_ data: Data) throws(JSON5Outline.Mistake) {
        let outline = try JSON5Outline(Array(data))
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do { value = try decoder.decode(Value.self, from: data) } catch {
            let mistake = Self.mistake(error)
            throw JSON5Outline.Mistake(
                place: outline.place(of: mistake.path, isKey: mistake.isKey), words: mistake.words)
        }
        self.outline = outline
    }

    /// What and where, without the type names of the decoder.
    private static func mistake(_ error: any Error) -> SettingMistake {
        switch error {
        case let mistake as SettingMistake:
            let object = mistake.isKey ? Array(mistake.path.dropLast()) : mistake.path
            return SettingMistake(mistake.path, isKey: mistake.isKey, said(object, mistake.words))
        case DecodingError.dataCorrupted(let found), DecodingError.keyNotFound(_, let found):
            return SettingMistake(found.codingPath, said(found.codingPath, found.debugDescription))
        case DecodingError.typeMismatch(let type, let found):
            let name = name(found.codingPath)
            return SettingMistake(found.codingPath, "\(name.isEmpty ? "this" : name) is not \(article(type))")
        case DecodingError.valueNotFound(_, let found):
            return SettingMistake(found.codingPath, said(found.codingPath, "null is no value here; leave it out"))
        default: return SettingMistake([], "it cannot be understood (\(error))")
        }
    }

    private static func said(_ path: [any CodingKey], _ words: String) -> String {
        let name = name(path)
        return name.isEmpty ? words : "\(name): \(words)"
    }

    private static func name(_ path: [any CodingKey]) -> String {
        path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
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
