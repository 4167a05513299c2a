/// The fields of CONNECT. The server's defaults differ, so every field is sent.
struct ConnectRequest {
    var tlsRequired = false
    var name: String?
    var echo = true
    var headers = true
    var noResponders = true
    var user: String?
    var password: String?
    var token: String?
    var nkey: String?
    var jwt: String?
    var signature: String?

    /// The operation in its wire form. Written by hand because a general encoder takes longer than the rest of a login.
    var line: [UInt8] {
        var line = Array("CONNECT {".utf8)
        line.reserveCapacity(512 + (jwt?.utf8.count ?? 0))
        for (key, truth) in [
            ("verbose", false), ("pedantic", false), ("tls_required", tlsRequired), ("echo", echo),
            ("headers", headers), ("no_responders", noResponders),
        ] {
            line += "\"\(key)\":\(truth),".utf8
        }
        for (key, text) in [
            ("name", name), ("lang", "swift"), ("version", "0.1.0"), ("user", user), ("pass", password),
            ("auth_token", token), ("nkey", nkey), ("jwt", jwt), ("sig", signature),
        ] {
            guard let text else { continue }
            line += "\"\(key)\":".utf8
            Self.append(text, to: &line)
            line.append(UInt8(ascii: ","))
        }
        // Level 1 of the protocol asks the server for later INFOs.
        line += "\"protocol\":1}\r\n".utf8
        return line
    }

    /// Appends a text in quotation marks (RFC 8259, section 7).
    private static func append(_ text: String, to line: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        line.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): line += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: line += "\\u00".utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: line.append(byte)
            }
        }
        line.append(UInt8(ascii: "\""))
    }
}

extension ConnectRequest {
    /// The login for `authentication`, which signs the server's nonce if it has a key.
    init(
        options: ConnectOptions, authentication: Authentication, nonce: String?, tls: Bool, headers: Bool
    ) throws(NATSError) {
        self.init()
        name = options.name
        echo = options.echo
        tlsRequired = tls
        self.headers = headers
        noResponders = headers
        switch authentication {
        case .none: break
        case .token(let token): self.token = token
        case .user(let user, let password):
            self.user = user
            self.password = password
        case .bearer(let jwt): self.jwt = jwt
        case .nkey(let pair):
            nkey = pair.publicKey.description
            signature = Self.signature(of: nonce, by: pair)
        case .jwt(let jwt, let pair):
            self.jwt = jwt
            signature = Self.signature(of: nonce, by: pair)
        }
    }

    private static func signature(of nonce: String?, by pair: NKeyPair) -> String? {
        nonce.map { Base64URL.encode(pair.sign($0.utf8)) }
    }
}
