/// The terminal's reply that it supports notifications by OSC 99: `99;i=parley:p=?;…`, then its other abilities.
///
/// As with ``ColorReply``, pieces of it are recognized here, so that none of them looks typed.
enum NotificationReply {
    /// The identifier of this program's notifications, and of the question.
    static let identifier = "i=parley"

    private static let introducer = Array("99;".utf8)

    /// Whether this is the reply to the question; its first bytes are enough.
    static func isReply(_ bytes: [UInt8]) -> Bool {
        guard bytes.starts(with: introducer) else { return false }
        let header = String(decoding: bytes.dropFirst(introducer.count).prefix { $0 != 0x3B }, as: UTF8.self)
        let parts = header.split(separator: ":")
        return parts.contains(Substring(identifier)) && parts.contains("p=?")
    }

    static func isBeginning(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > introducer.count else { return introducer.starts(with: bytes) }
        return bytes.starts(with: introducer) && bytes.allSatisfy { 0x20..<0x7F ~= $0 }
    }
}
