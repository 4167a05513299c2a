import Platform

/// Parses the JSON of INFO: an object with a few fields that a client knows and others that it does not.
///
/// Connecting takes a few hundred microseconds, of which a general JSON decoder would use a good part.
struct InfoReader {
    fileprivate enum Value {
        case text(String)
        case number(Int)
        case truth(Bool)
        case texts([String])
        /// Any other value; only its end matters.
        case other
    }

    /// No server nests this deep; the limit protects the stack.
    private static let maximumDepth = 32

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// Parses the text into `info`; false if it is no JSON object.
    static func read(_ json: [UInt8], into info: inout ServerInfo) -> Bool {
        json.withUnsafeBytes { bytes in
            var reader = InfoReader(bytes: bytes)
            guard reader.object(depth: 0, { info.take($1, for: $0) }) else { return false }
            reader.skipSpace()
            return reader.position == bytes.count
        }
    }

    /// Parses an object and passes on its fields; false if it is none.
    private mutating func object(depth: Int, _ field: (String, Value) -> Void) -> Bool {
        guard depth < Self.maximumDepth, take("{") else { return false }
        if take("}") { return true }
        repeat {
            guard let key = text(), take(":"), let value = value(depth: depth + 1) else { return false }
            field(key, value)
        } while take(",")
        return take("}")
    }

    /// Parses a list, of which a client needs the texts.
    private mutating func list(depth: Int) -> Value? {
        guard depth < Self.maximumDepth, take("[") else { return nil }
        var texts: [String] = []
        if take("]") { return .texts(texts) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            // A list of a million entries is not stored only to use the first ones.
            if case .text(let text) = value, texts.count < ServerInfo.maximumConnectURLs,
                text.utf8.count <= ServerInfo.maximumText
            {
                texts.append(text)
            }
        } while take(",")
        return take("]") ? .texts(texts) : nil
    }

    private mutating func value(depth: Int) -> Value? {
        skipSpace()
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "\""): return text().map { .text($0) }
        case UInt8(ascii: "["): return list(depth: depth)
        case UInt8(ascii: "{"): return object(depth: depth) { _, _ in } ? .other : nil
        case UInt8(ascii: "t"): return word("true") ? .truth(true) : nil
        case UInt8(ascii: "f"): return word("false") ? .truth(false) : nil
        case UInt8(ascii: "n"): return word("null") ? .other : nil
        default: return number()
        }
    }

    private mutating func text() -> String? {
        guard take("\"") else { return nil }
        let start = position
        var isPlain = true
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            isPlain =
                isPlain && position < bytes.count && (0x20..<0x80).contains(bytes[position])
                && bytes[position - 1] != UInt8(ascii: "\\")
            position += 1
        }
        guard position < bytes.count else { return nil }
        position += 1
        if isPlain { return String(decoding: bytes[start..<position - 1], as: UTF8.self) }
        return try? JSONDecoder().decode(String.self, from: Data(bytes[start - 1..<position]))
    }

    private mutating func number() -> Value? {
        let start = position
        while position < bytes.count, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
        let text = bytes[start..<position]
        if text.count <= 18, let number = Int(String(decoding: text, as: UTF8.self)),
            "\(number)".utf8.elementsEqual(text)
        {
            return .number(number)
        }
        return (try? JSONDecoder().decode(Double.self, from: Data(text))).map { _ in .other }
    }

    private mutating func word(_ word: StaticString) -> Bool {
        guard position + word.utf8CodeUnitCount <= bytes.count else { return false }
        for index in 0..<word.utf8CodeUnitCount where bytes[position + index] != word.utf8Start[index] { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }
}

extension ServerInfo {
    /// Sets a field unless its value is too long or of a wrong type: servers of different versions send different
    /// types. An empty list or identity is ignored.
    fileprivate mutating func take(_ value: InfoReader.Value, for key: String) {
        if case .text(let text) = value, text.utf8.count > Self.maximumText { return }
        switch (key, value) {
        case ("server_id", .text(let text)) where !text.isEmpty: serverID = text
        case ("server_name", .text(let text)): serverName = text
        case ("version", .text(let text)) where !text.isEmpty: version = text
        case ("host", .text(let text)): host = text
        case ("port", .number(let number)): port = number
        case ("headers", .truth(let truth)): supportsHeaders = truth
        // A server without a limit sends −1.
        case ("max_payload", .number(let number)):
            maximumPayload = number < 0 ? ProtocolDecoder.maximumContent : number
        case ("jetstream", .truth(let truth)): hasJetStream = truth
        case ("auth_required", .truth(let truth)): requiresAuthentication = truth
        case ("tls_required", .truth(let truth)): requiresTLS = truth
        case ("tls_available", .truth(let truth)): offersTLS = truth
        case ("tls_verify", .truth(let truth)): asksForCertificate = truth
        case ("client_id", .number(let number)): clientID = UInt64(exactly: number) ?? clientID
        case ("client_ip", .text(let text)): clientAddress = text
        case ("nonce", .text(let text)): nonce = text
        case ("cluster", .text(let text)): cluster = text
        case ("domain", .text(let text)): domain = text
        case ("connect_urls", .texts(let urls)) where !urls.isEmpty: connectURLs = urls
        case ("ldm", .truth(let truth)): isLameDuck = truth
        case ("remote_account", .text(let text)): account = text
        default: break
        }
    }
}
