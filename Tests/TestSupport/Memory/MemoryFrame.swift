import Foundation
import NATS

/// A message on its way through the server.
struct MemoryFrame: Sendable, Hashable {
    var subject: String
    var reply: String?
    /// The header block as it is sent, with its closing empty line; empty for a message without headers.
    var block: [UInt8] = []
    var payload: [UInt8] = []

    /// The bytes that a server's limit counts.
    var size: Int { block.count + payload.count }

    var headers: NATSHeaders { HeaderText.headers(block) }

    /// The message with other digits in place of some numbers.
    ///
    /// - Parameter digits: by the number's name: that of a JSON member or a header, or `ack.5` to `ack.8` for a word of
    ///   the subject under which a consumer delivers.
    func with(_ digits: [String: String]) -> MemoryFrame {
        var frame = self
        if let reply, reply.hasPrefix("$JS.ACK.") {
            var words = reply.components(separatedBy: ".")
            for index in words.indices { words[index] = digits["ack.\(index)"] ?? words[index] }
            frame.reply = words.joined(separator: ".")
        }
        for (name, number) in digits {
            frame.block = Self.replacing("\(name): ", number, in: frame.block)
            frame.payload = Self.replacing("\"\(name)\":", number, in: frame.payload)
        }
        return frame
    }

    private static func replacing(_ beginning: String, _ number: String, in bytes: [UInt8]) -> [UInt8] {
        let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: beginning)
        let rest = parts.dropFirst().map { part in
            part.first?.isNumber == true ? number + part.drop { $0.isNumber } : part[...]
        }
        return Array(([parts[0][...]] + rest).joined(separator: beginning).utf8)
    }
}

/// Header blocks and what they say.
enum HeaderText {
    private static let version = "NATS/1.0"

    /// A block with these fields.
    static func block(_ fields: [(name: String, value: String)]) -> [UInt8] { block(version, fields) }

    /// The block of a message that the server itself makes: code, words and fields.
    static func block(status: String, _ fields: [(name: String, value: String)] = []) -> [UInt8] {
        block(version + " " + status, fields)
    }

    private static func block(_ first: String, _ fields: [(name: String, value: String)]) -> [UInt8] {
        var text = first + "\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// A block with these headers; empty when there are none.
    static func block(_ headers: NATSHeaders) -> [UInt8] { headers.isEmpty ? [] : block(headers.pairs) }

    /// A block with further fields behind its own.
    static func block(_ block: [UInt8], adding fields: [(name: String, value: String)]) -> [UInt8] {
        let added = Self.block(fields)
        guard !block.isEmpty else { return added }
        return Array(block.dropLast(2)) + added.dropFirst(version.utf8.count + 2)
    }

    /// Reads the fields of a block.
    static func headers(_ block: [UInt8]) -> NATSHeaders {
        var headers = NATSHeaders()
        for line in block.split(separator: UInt8(ascii: "\n")).dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            var value = line[(colon + 1)...]
            while let first = value.first, isBlank(first) { value.removeFirst() }
            while let last = value.last, isBlank(last) { value.removeLast() }
            headers.append(
                String(decoding: value, as: UTF8.self), for: String(decoding: line[..<colon], as: UTF8.self))
        }
        return headers
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}
