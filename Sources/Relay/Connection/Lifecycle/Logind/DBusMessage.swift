/// A message of D-Bus, as far as it takes to ask a few things and to hear signals: a pure value.
///
/// It follows the [D-Bus Specification](https://dbus.freedesktop.org/doc/dbus-specification.html), "Message Protocol".
struct DBusMessage: Sendable, Hashable {
    /// What it is.
    enum Kind: UInt8, Sendable {
        case call = 1
        case answer = 2
        case error = 3
        case signal = 4
    }

    /// Bytes that are no message, or one that is larger than anything that was asked for.
    struct Malformed: Error {}

    /// Nothing is started to answer the call.
    static let startsNobody: UInt8 = 2
    /// What is asked for here has a few hundred bytes.
    static let sizeLimit = 65_536

    var kind: Kind
    var flags: UInt8 = 0
    /// The sender's own number of it; never 0.
    var serial: UInt32
    /// To which call an answer or an error belongs.
    var answered: UInt32?
    var path: String?
    var interface: String?
    var member: String?
    var destination: String?
    /// Of which types the body is.
    var signature = ""
    var body = DBusBody()

    // MARK: Writing

    /// The message's bytes, little-endian.
    var bytes: [UInt8] {
        var fields = DBusBody()
        func add(_ code: UInt8, _ type: String, _ value: String?) {
            guard let value else { return }
            fields.align(to: 8)
            fields.bytes.append(code)
            fields.add(signature: type)
            if type == "g" { fields.add(signature: value) } else { fields.add(value) }
        }
        add(1, "o", path)
        add(2, "s", interface)
        add(3, "s", member)
        if let answered {
            fields.align(to: 8)
            fields.bytes.append(5)
            fields.add(signature: "u")
            fields.add(answered)
        }
        add(6, "s", destination)
        add(8, "g", signature.isEmpty ? nil : signature)
        var message = DBusBody()
        message.bytes = [UInt8(ascii: "l"), kind.rawValue, flags, 1]
        message.add(UInt32(body.bytes.count))
        message.add(serial)
        // Behind 16 bytes the fields are aligned as they are by themselves.
        message.add(UInt32(fields.bytes.count))
        message.bytes += fields.bytes
        message.align(to: 8)
        return message.bytes + body.bytes
    }

    // MARK: Reading

    /// Takes the first message out of what was received.
    ///
    /// - Returns: nil where more has to come.
    /// - Throws: `Malformed`, behind which nothing can be read any more.
    static func take(from received: inout [UInt8]) throws(Malformed) -> DBusMessage? {
        guard received.count >= 16 else { return nil }
        let isBig = received[0] == UInt8(ascii: "B")
        guard isBig || received[0] == UInt8(ascii: "l"), received[3] == 1 else { throw Malformed() }
        var head = DBusReader(received[4..<16], isBigEndian: isBig)
        guard let bodyLength = head.number(), let serial = head.number(), let fieldsLength = head.number(),
            bodyLength <= sizeLimit, fieldsLength <= sizeLimit
        else { throw Malformed() }
        let fieldsEnd = 16 + Int(fieldsLength)
        let bodyStart = (fieldsEnd + 7) / 8 * 8
        let end = bodyStart + Int(bodyLength)
        guard received.count >= end else { return nil }
        defer { received.removeFirst(end) }
        // Of a kind that is not known yet nothing is to be done.
        var message = DBusMessage(kind: Kind(rawValue: received[1]) ?? .signal, serial: serial)
        message.flags = received[2]
        message.body = DBusBody(Array(received[bodyStart..<end]), isBigEndian: isBig)
        var fields = DBusReader(received[16..<fieldsEnd], isBigEndian: isBig)
        guard message.takeFields(&fields) else { throw Malformed() }
        return message
    }

    private mutating func takeFields(_ fields: inout DBusReader) -> Bool {
        while !fields.isAtEnd {
            guard fields.align(to: 8), let code = fields.byte(), let type = fields.signature() else { return false }
            switch type {
            case "s", "o":
                guard let text = fields.text() else { return false }
                switch code {
                case 1: path = text
                case 2: interface = text
                case 3: member = text
                case 6: destination = text
                default: break
                }
            case "g":
                guard let types = fields.signature() else { return false }
                if code == 8 { signature = types }
            case "u":
                guard let number = fields.number() else { return false }
                if code == 5 { answered = number }
            // No field has another type; behind one that had, nothing could be found.
            default: return false
            }
        }
        return true
    }
}

/// Values as D-Bus writes them one behind the other.
struct DBusBody: Sendable, Hashable {
    var bytes: [UInt8] = []
    private(set) var isBigEndian = false

    init() {}

    /// What was received.
    init(_ bytes: [UInt8], isBigEndian: Bool) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
    }

    /// Texts, such as the arguments of a call.
    init(_ texts: String...) { for text in texts { add(text) } }

    /// Reads it from its beginning.
    var reader: DBusReader { DBusReader(bytes[...], isBigEndian: isBigEndian) }

    mutating func align(to boundary: Int) {
        while !bytes.count.isMultiple(of: boundary) { bytes.append(0) }
    }

    mutating func add(_ number: UInt32) {
        align(to: 4)
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    mutating func add(_ text: String) {
        add(UInt32(text.utf8.count))
        bytes += Array(text.utf8) + [0]
    }

    mutating func add(signature: String) {
        bytes += [UInt8(signature.utf8.count)] + Array(signature.utf8) + [0]
    }
}

/// Reads values of D-Bus, which are aligned by their distance from the beginning.
struct DBusReader {
    private let bytes: ArraySlice<UInt8>
    private let isBigEndian: Bool
    private var offset = 0

    init(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
    }

    var isAtEnd: Bool { offset >= bytes.count }

    /// - Returns: whether there is anything at the boundary.
    mutating func align(to boundary: Int) -> Bool {
        offset = (offset + boundary - 1) / boundary * boundary
        return offset < bytes.count
    }

    mutating func byte() -> UInt8? { take(1)?.first }

    mutating func number() -> UInt32? {
        guard align(to: 4), let four = take(4) else { return nil }
        let value = four.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return isBigEndian ? value : value.byteSwapped
    }

    /// A text or the path of an object.
    mutating func text() -> String? {
        guard let length = number(), let text = take(Int(length)), byte() == 0 else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    mutating func signature() -> String? {
        guard let length = byte(), let text = take(Int(length)), byte() == 0 else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= bytes.count - offset else { return nil }
        let start = bytes.startIndex + offset
        offset += count
        return bytes[start..<start + count]
    }
}
