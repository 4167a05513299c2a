/// Where a server listens, as a URL names it: `nats://host:port`, `tls://host:port`, or `host:port`.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// Host name or IP address; IPv6 without brackets.
    public var host: String
    /// TCP port, 1 to 65,535.
    public var port: Int
    /// Whether the connection must be encrypted.
    public var usesTLS: Bool
    /// The name that the server's certificate must carry, when it differs from `host` (a discovered address, say).
    public var certificateName: String?
    /// User name and password, or a token alone, as far as the URL held them. Never printed.
    var userInfo: String?

    /// Creates an address.
    public init(host: String, port: Int = 4222, usesTLS: Bool = false, certificateName: String? = nil) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.certificateName = certificateName
    }

    /// Reads a URL. Throws `invalidArgument` when it is none, or of another protocol.
    public init(parsing text: String) throws(NATSError) {
        var rest = text[...]
        var usesTLS = false
        if let scheme = text.range(of: "://") {
            switch text[..<scheme.lowerBound].lowercased() {
            case "nats": usesTLS = false
            case "tls": usesTLS = true
            default: throw .invalidArgument("A server address begins with nats:// or tls://.")
            }
            rest = text[scheme.upperBound...]
        }
        if rest.last == "/" { rest.removeLast() }
        var userInfo: String?
        if let at = rest.lastIndex(of: "@") {
            userInfo = String(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        let host: Substring
        var portText: Substring = "4222"
        if rest.first == "[", let close = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<close]
            let tail = rest[rest.index(after: close)...]
            guard tail.isEmpty || tail.first == ":" else {
                throw .invalidArgument("After the ] of an address comes :port or nothing.")
            }
            if !tail.isEmpty { portText = tail.dropFirst() }
        } else if let colon = rest.lastIndex(of: ":") {
            host = rest[..<colon]
            portText = rest[rest.index(after: colon)...]
            guard !host.contains(":") else {
                throw .invalidArgument("An IPv6 address stands in brackets: nats://[::1]:4222.")
            }
        } else {
            host = rest
        }
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F })
        else {
            throw .invalidArgument("The server address has no usable host; write nats://host:port.")
        }
        guard let port = Int(portText), (1...65_535).contains(port) else {
            throw .invalidArgument("The port of a server address is a number from 1 to 65535.")
        }
        self.init(host: String(host), port: port, usesTLS: usesTLS)
        self.userInfo = userInfo
    }

    /// The address as a URL, without user name, password or token.
    public var description: String {
        let shown = host.contains(":") ? "[\(host)]" : host
        return "\(usesTLS ? "tls" : "nats")://\(shown):\(port)"
    }

    /// The authentication that the URL itself carried, if any.
    public var authentication: Authentication? {
        guard let userInfo, !userInfo.isEmpty else { return nil }
        guard let colon = userInfo.firstIndex(of: ":") else { return .token(Self.unescaped(userInfo[...])) }
        return .user(
            Self.unescaped(userInfo[..<colon]), password: Self.unescaped(userInfo[userInfo.index(after: colon)...]))
    }

    /// `%40` and the like as the characters they stand for (RFC 3986, 2.1); what is no escape stays.
    private static func unescaped(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexadecimal(bytes[index + 1]),
                let low = hexadecimal(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): return byte - UInt8(ascii: "A") + 10
        default: return nil
        }
    }
}

extension ServerAddress: CustomReflectable {
    /// The address alone: dumps and failed expectations must not show what it carries.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}

extension String {
    /// First place of `text`; a small search, so that no Foundation type is needed here.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
