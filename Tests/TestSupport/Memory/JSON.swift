import Foundation
import NATS

/// A JSON value, for requests whose fields are looked up by name and answers that are put together.
typealias JSON = JSONValue

extension JSONValue {
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

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}
