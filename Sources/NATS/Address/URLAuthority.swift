/// The part of a URL between its scheme and its path: `[user information@]host[:port]` (RFC 3986, 3.2).
struct URLAuthority {
    /// Host name or IP address; IPv6 without brackets.
    var host: String
    /// 1 to 65,535; nil when none is written.
    var port: Int?
    /// The text before the last `@`, as written. May be a secret.
    var userInfo: String?

    /// The lowercased scheme and the text after `://`; nil without a scheme.
    static func splitScheme(_ text: String) -> (scheme: String, rest: Substring)? {
        guard let mark = text.firstRange(of: "://") else { return nil }
        return (text[..<mark.lowerBound].lowercased(), text[mark.upperBound...])
    }

    /// Schemes that people write in front of servers and proxies.
    private static let schemes = [
        "nats", "tls", "ws", "wss", "http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h",
    ]

    /// The lowercased scheme of a text whose `://` is incomplete, as in `nats:host`, `nats:/host` and `nats//host`; nil
    /// for any other text. A host may have such a name, followed by a port or a slash.
    static func schemeWithoutSlashes(_ text: String) -> String? {
        let word = text.prefix { $0.isLetter || $0.isNumber }
        let rest = text[word.endIndex...]
        guard schemes.contains(word.lowercased()), rest != "/", !rest.hasPrefix("://") else { return nil }
        let port = rest.hasSuffix("/") ? rest.dropFirst().dropLast() : rest.dropFirst()
        let isPort = !port.isEmpty && port.allSatisfy { ("0"..."9").contains($0) }
        guard rest.first == "/" || rest.first == ":" && !isPort else { return nil }
        return word.lowercased()
    }

    /// Parses `text`. Errors use `kind` and `example` instead of quoting the text, which may hold a secret.
    init(parsing text: Substring, kind: String, example: String) throws(NATSError) {
        var rest = text
        if let at = rest.lastIndex(of: "@") {
            userInfo = String(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        if let end = rest.firstIndex(where: { "/?#".contains($0) }) {
            guard end > rest.startIndex else { throw Self.noHost(kind, example) }
            guard rest[end...] == "/" else {
                throw .invalidArgument("A \(kind) ends with the port: leave out what follows, from \(rest[end]) on.")
            }
            rest = rest[..<end]
        }
        let host: Substring
        var portText: Substring = ""
        let isBracketed = rest.first == "["
        if isBracketed {
            guard let close = rest.firstIndex(of: "]") else { throw .invalidArgument("The [ of an address has no ].") }
            host = rest[rest.index(after: rest.startIndex)..<close]
            let tail = rest[rest.index(after: close)...]
            guard tail.isEmpty || tail.first == ":" else {
                throw .invalidArgument("After the ] of an address comes :port or nothing.")
            }
            portText = tail.dropFirst()
        } else if let colon = rest.lastIndex(of: ":") {
            host = rest[..<colon]
            portText = rest[rest.index(after: colon)...]
            guard !host.contains(":") else {
                let isIPv6 = [rest, host].contains { IPLiteral(String($0)) != nil }
                throw .invalidArgument(
                    isIPv6
                        ? "An IPv6 address needs brackets: [::1]:4222."
                        : "A \(kind) has one port, after the host: write \(example).")
            }
        } else {
            host = rest
        }
        guard !host.isEmpty else { throw Self.noHost(kind, example) }
        self.host = try isBracketed ? HostName.bracketed(host) : HostName.plain(host)
        // As in any URL, a colon without a port is ignored.
        guard !portText.isEmpty else { return }
        guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(portText),
            (1...65_535).contains(port)
        else { throw .invalidArgument("The port of a \(kind) is a number from 1 to 65535.") }
        self.port = port
    }

    private static func noHost(_ kind: String, _ example: String) -> NATSError {
        .invalidArgument("The \(kind) has no host; write \(example).")
    }

    /// Whether a URL, and so a request to a proxy, can contain the host: no blanks, no line breaks, no slash.
    static func isUsable(host: String) -> Bool {
        !host.isEmpty && host.utf8.count <= 253
            && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
    }

    static func text(host: String, port: Int) -> String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The user and the password; without a colon, the user alone.
    static func credentials(in userInfo: String) -> (user: String, password: String?) {
        guard let colon = userInfo.firstIndex(of: ":") else { return (unescaped(userInfo[...]), nil) }
        return (unescaped(userInfo[..<colon]), unescaped(userInfo[userInfo.index(after: colon)...]))
    }

    /// Replaces `%40` and the like by their characters (RFC 3986, 2.1); anything that is no escape stays.
    private static func unescaped(_ text: Substring) -> String {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        var bytes = Array(parts[0].utf8)
        for part in parts.dropFirst() {
            let digits = part.prefix(2)
            if digits.count == 2, digits.allSatisfy(\.isHexDigit), let byte = UInt8(digits, radix: 16) {
                bytes.append(byte)
                bytes += part.dropFirst(2).utf8
            } else {
                bytes += "%".utf8
                bytes += part.utf8
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
