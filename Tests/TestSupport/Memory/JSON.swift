import Foundation

/// A JSON value, for requests whose fields are looked up by name and answers that are put together.
enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Reads JSON text; nil when it is none.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSON.self, from: Data(bytes)) else { return nil }
        self = value
    }

    /// The value as JSON text.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Every value can be written: numbers come from JSON text or are whole.
        return (try? encoder.encode(self)).map { Array($0) } ?? []
    }

    /// The value of an object's field; nil where there is none, or `null`.
    subscript(key: String) -> JSON? {
        guard case .object(let fields) = self, let value = fields[key], value != .null else { return nil }
        return value
    }

    var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
    var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    var arrayValue: [JSON]? { if case .array(let values) = self { values } else { nil } }
    var objectValue: [String: JSON]? { if case .object(let fields) = self { fields } else { nil } }

    /// A sequence, or any other number that is not negative.
    var unsignedValue: UInt64? { integerValue.flatMap { UInt64(exactly: $0) } }

    /// A sequence, or any other number that is not negative.
    static func unsigned(_ value: UInt64) -> JSON { .integer(Int64(clamping: value)) }
}

extension JSON: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let fields): try container.encode(fields)
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
}
