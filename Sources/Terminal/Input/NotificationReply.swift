/// The terminal's answer that it takes notifications by OSC 99: `99;i=parley:p=?;…`, then its other abilities.
///
/// As with ``ColorReply``, what can be a piece of one is known here, so that none of them looks typed.
enum NotificationReply {
    /// What every notification of this program, and the question, is named.
    static let identifier = "i=parley"

    private static let introducer = Array("99;".utf8)

    /// True for the answer to the question, of which the first bytes are enough.
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
