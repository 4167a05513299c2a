import NIOCore

/// The headers of a message: names and values in order, names case-sensitive (ADR-4). A name may occur several times.
public struct NATSHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var fields: [Field] = []

    private struct Field: Sendable, Hashable {
        var name: String
        var value: String
    }

    /// Creates empty headers.
    public init() {}

    /// Creates headers from name and value pairs.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Whether there are no headers.
    public var isEmpty: Bool { fields.isEmpty }

    /// The number of fields; a repeated name counts each time.
    public var count: Int { fields.count }

    /// The first value of a name. Setting replaces all its values; `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { $0.name == name }?.value }
        set {
            fields.removeAll { $0.name == name }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// All values of a name, in order.
    public func values(for name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// All names with their values, in order.
    public var pairs: [(name: String, value: String)] { fields.map { ($0.name, $0.value) } }

    /// Adds a field, keeping others of the same name.
    public mutating func append(_ value: String, for name: String) { fields.append(Field(name: name, value: value)) }

    /// Whether every field can be written without breaking the frame.
    var isWritable: Bool {
        fields.allSatisfy { field in
            !field.name.isEmpty
                && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
                && Self.isWritable(value: field.value)
        }
    }

    /// Whether a header can have this value without breaking the frame.
    static func isWritable(value: String) -> Bool {
        var value = value
        return value.withUTF8 { bytes in
            for byte in bytes where byte == 0x0A || byte == 0x0D { return false }
            return true
        }
    }

    /// The block in its wire form; nil without headers. Throws if a field would break the frame.
    func block() throws(NATSError) -> ByteBuffer? {
        guard !isEmpty else { return nil }
        guard isWritable else {
            throw .invalidArgument("A header contains a line break, or its name is not plain ASCII.")
        }
        var buffer = ByteBuffer()
        write(into: &buffer)
        return buffer
    }

    /// Appends the header block in its wire form, including the closing empty line.
    func write(into buffer: inout ByteBuffer) {
        buffer.writeStaticString("NATS/1.0\r\n")
        for field in fields {
            buffer.writeString(field.name)
            buffer.writeStaticString(": ")
            buffer.writeString(field.value)
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString("\r\n")
    }
}

/// The header block of a received message: status line and fields, parsed only on demand.
struct HeaderBlock {
    var status: Int?
    var statusText: String?
    var headers = NATSHeaders()

    /// More fields than a benign sender writes. Further ones are dropped: a field of a few bytes takes many times as
    /// much memory once it is parsed.
    static let maximumFields = 4_096

    /// Parses a block. Damaged lines are dropped: one bad field must not cost the message.
    init(_ buffer: ByteBuffer) {
        buffer.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            guard let first = Self.nextLine(&rest) else { return }
            let statusLine = String(decoding: Self.trimmed(first.dropFirst(8)), as: UTF8.self)
            if let code = Int(statusLine.prefix(3)) {
                status = code
                let words = statusLine.dropFirst(3).utf8.drop { Self.isBlank($0) }
                statusText = words.isEmpty ? nil : String(words)
            }
            while headers.count < Self.maximumFields, let line = Self.nextLine(&rest) {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
                headers.append(
                    String(decoding: Self.trimmed(line[(colon + 1)...]), as: UTF8.self),
                    for: String(decoding: line[..<colon], as: UTF8.self))
            }
        }
    }

    private typealias Bytes = Slice<UnsafeRawBufferPointer>

    /// The next line that is not empty, without its end.
    private static func nextLine(_ rest: inout Bytes) -> Bytes? {
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[min(end + 1, rest.endIndex)...]
            if !line.isEmpty { return line }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes.drop { isBlank($0) }
        while let last = bytes.last, isBlank(last) || last == UInt8(ascii: "\r") { bytes.removeLast() }
        return bytes
    }
}
