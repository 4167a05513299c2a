import NIOCore
import Platform

/// Validates host names and addresses, and brings each into one canonical form.
enum HostName {
    /// A host name, or an IPv4 address in any of its forms.
    static func plain(_ text: Substring) throws(NATSError) -> String {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw .invalidArgument("A host name must be ASCII; write the form that begins with xn--.")
        }
        if let strange = text.unicodeScalars.first(where: { !isPart($0) }) {
            let shown = strange.value > 0x20 && strange.value < 0x7F ? "“\(strange)”" : "a blank or control character"
            throw .invalidArgument("A host name cannot contain \(shown).")
        }
        guard text.utf8.count <= 253, text != "." else { throw .invalidArgument("The host name is too long.") }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let written = labels.last == "" ? labels.dropLast() : labels[...]
        guard written.allSatisfy({ !$0.isEmpty }) else {
            throw .invalidArgument("A host name cannot begin with a dot or contain two in a row.")
        }
        guard let last = written.last, isNumber(last) else {
            // The system's files list this machine's name without the root's dot (RFC 6761, 6.3).
            return written.map { $0.lowercased() } == ["localhost"] ? "localhost" : String(text)
        }
        guard let address = ipv4(written) else {
            throw .invalidArgument("The host ends with a number but is no IPv4 address: four numbers from 0 to 255.")
        }
        return address
    }

    /// An IPv6 address in brackets, optionally with a zone after a `%`, which a URL writes as `%25`.
    static func bracketed(_ text: Substring) throws(NATSError) -> String {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].contains(":"), let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0),
            let canonical = address.ipAddress
        else {
            throw .invalidArgument("Brackets are for an IPv6 address, as in [::1]:4222.")
        }
        guard parts.count > 1 else { return canonical }
        let zone = parts[1].hasPrefix("25") && parts[1].count > 2 ? parts[1].dropFirst(2) : parts[1]
        guard !zone.isEmpty, zone.unicodeScalars.allSatisfy(isPart) else {
            throw .invalidArgument("The % of an IPv6 address must be followed by the name of a network interface.")
        }
        return "\(canonical)%\(zone)"
    }

    private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": true
        default: false
        }
    }

    /// Up to four numbers, the last of which fills the bytes that are left. Each is decimal, octal after `0` or
    /// hexadecimal after `0x`, as curl and browsers read them.
    private static func ipv4(_ labels: ArraySlice<Substring>) -> String? {
        var address = in_addr()
        guard labels.count <= 4, labels.allSatisfy({ isNumber($0) }),
            inet_aton(labels.joined(separator: "."), &address) != 0
        else { return nil }
        return withUnsafeBytes(of: address) { $0.map(String.init).joined(separator: ".") }
    }

    private static func isNumber(_ label: Substring) -> Bool {
        let digits = label.lowercased()
        return digits.hasPrefix("0x") ? digits.dropFirst(2).allSatisfy(\.isHexDigit) : digits.allSatisfy(\.isNumber)
    }
}

/// An IP address as its 4 or 16 bytes, however it is written. An IPv4 address written as IPv6 counts as IPv4.
package struct IPLiteral: Hashable, Sendable {
    package let bytes: [UInt8]

    /// Nil if the text is no address; a zone is ignored.
    package init?(_ text: String) {
        let text = text.prefix { $0 != "%" }
        switch try? SocketAddress(ipAddress: String(text), port: 0) {
        case .v4(let address): bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            let all = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let isMapped = all.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
            bytes = isMapped ? Array(all.suffix(4)) : all
        case .unixDomainSocket, nil: return nil
        }
    }

    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// Whether the first `prefix` bits are those of `network`.
    package func isIn(_ network: IPLiteral, prefix: Int) -> Bool {
        guard bytes.count == network.bytes.count else { return false }
        return zip(bytes, network.bytes).enumerated().allSatisfy { place, pair in
            let left = max(0, min(8, prefix - place * 8))
            return (pair.0 ^ pair.1) >> UInt8(8 - left) == 0 || left == 0
        }
    }
}
