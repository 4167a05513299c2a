/// Base64 (RFC 4648 section 4) for showing binary values in JSON.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ data: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((data.count + 2) / 3 * 4)
        for start in stride(from: 0, to: data.count, by: 3) {
            let group = data[start..<min(start + 3, data.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for position in 0..<4 {
                let index = Int(bits >> UInt32(18 - 6 * position) & 0x3F)
                text.append(position <= group.count ? alphabet[index] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
