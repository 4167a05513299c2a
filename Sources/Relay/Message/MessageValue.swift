/// Any value that a message can carry: everything in MessagePack, which includes all of JSON.
///
/// Two values are equal if they are encoded alike, so `1` and `1.0` differ, and so do maps whose entries are in another
/// order.
public enum MessageValue: Hashable, Sendable {
    /// Nothing.
    case null
    /// True or false.
    case bool(Bool)
    /// Any integer that an `Int64` holds.
    case int(Int64)
    /// An integer above `Int64.max`. Create integers with ``integer(_:)``, so that equal numbers are equal values.
    case unsigned(UInt64)
    /// A floating-point number.
    case double(Double)
    /// Text.
    case string(String)
    /// Bytes.
    case binary([UInt8])
    /// Values in order.
    case array([MessageValue])
    /// Keys and values in order.
    case map(MessageMap)
    /// A moment with nanoseconds (0 to 999,999,999), MessagePack's extension type −1.
    case timestamp(seconds: Int64, nanoseconds: UInt32)
    /// An application's own type with its bytes.
    case `extension`(type: Int8, data: [UInt8])

    /// The value of any unsigned integer: ``int(_:)`` if it fits, else ``unsigned(_:)``.
    public static func integer(_ number: UInt64) -> MessageValue {
        Int64(exactly: number).map(MessageValue.int) ?? .unsigned(number)
    }
}

extension MessageValue {
    /// The text, if this is text.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The number, if this is an integer that fits into an `Int64`.
    public var intValue: Int64? { if case .int(let number) = self { number } else { nil } }

    /// The number, if this is any number; large integers are rounded.
    public var doubleValue: Double? {
        switch self {
        case .int(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// The truth value, if this is one.
    public var boolValue: Bool? { if case .bool(let truth) = self { truth } else { nil } }

    /// The values, if this is an array.
    public var arrayValue: [MessageValue]? { if case .array(let values) = self { values } else { nil } }

    /// The map, if this is one.
    public var mapValue: MessageMap? { if case .map(let map) = self { map } else { nil } }

    /// Whether this is ``null``.
    public var isNull: Bool { self == .null }

    /// The value of a text key, if this is a map that has it.
    public subscript(key: String) -> MessageValue? { mapValue?[key] }

    /// The value at a position, if this is an array that has it.
    public subscript(index: Int) -> MessageValue? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }
}

extension MessageValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// `nil` is ``null``.
    public init(nilLiteral: ()) { self = .null }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: MessageValue...) { self = .array(elements) }
    /// A map, its entries in the order written.
    public init(dictionaryLiteral elements: (MessageValue, MessageValue)...) {
        self = .map(MessageMap(elements.map { MessageMap.Entry(key: $0, value: $1) }))
    }
}

extension MessageValue: CustomStringConvertible {
    /// The value as JSON text.
    public var description: String { JSONText.text(self) }
}
