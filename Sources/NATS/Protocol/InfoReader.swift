/// Reads the usual form of INFO by hand: one object of plain texts, whole numbers, truths and lists of plain texts.
///
/// Connecting takes a few hundred microseconds, and a general JSON decoder accounted for a good part of that. Any other
/// form is left to the general decoder, which also reports what is wrong with it.
struct InfoReader {
    fileprivate enum Value {
        case text(String)
        case number(Int)
        case truth(Bool)
        case texts([String])
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// What the line says; nil for a form that is not the usual one.
    static func read(_ json: [UInt8]) -> ServerInfo? {
        json.withUnsafeBytes { bytes in
            var reader = InfoReader(bytes)
            return reader.info()
        }
    }

    private mutating func info() -> ServerInfo? {
        var info = ServerInfo()
        guard take("{") else { return nil }
        if !take("}") {
            repeat {
                guard let key = text(), take(":"), let value = value(), info.take(value, for: key) else { return nil }
            } while take(",")
            guard take("}") else { return nil }
        }
        skipSpace()
        return position == bytes.count ? info : nil
    }

    private mutating func value() -> Value? {
        skipSpace()
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "\""): return text().map { .text($0) }
        case UInt8(ascii: "["): return texts().map { .texts($0) }
        case UInt8(ascii: "t"): return word("true") ? .truth(true) : nil
        case UInt8(ascii: "f"): return word("false") ? .truth(false) : nil
        default: return number().map { .number($0) }
        }
    }

    /// A text of ASCII characters that stand for themselves.
    private mutating func text() -> String? {
        guard take("\"") else { return nil }
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let text = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
                position += 1
                return text
            case UInt8(ascii: "\\"), 0..<0x20, 0x80...: return nil
            default: position += 1
            }
        }
        return nil
    }

    private mutating func texts() -> [String]? {
        guard take("[") else { return nil }
        if take("]") { return [] }
        var texts: [String] = []
        repeat {
            guard let text = text() else { return nil }
            // A list of a million is not made to take the first of them.
            if texts.count < ServerInfo.maximumConnectURLs, text.utf8.count <= ServerInfo.maximumText {
                texts.append(text)
            }
        } while take(",")
        return take("]") ? texts : nil
    }

    private mutating func number() -> Int? {
        let start = position
        var number = 0
        while position < bytes.count, case let digit = bytes[position] &- UInt8(ascii: "0"), digit <= 9 {
            // Longer ones may not fit.
            guard position - start < 18 else { return nil }
            number = number * 10 + Int(digit)
            position += 1
        }
        let isPlain = position - start == 1 || position > start && bytes[start] != UInt8(ascii: "0")
        return isPlain ? number : nil
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
    /// Takes in a field; false for one of a type that it does not have.
    fileprivate mutating func take(_ value: InfoReader.Value, for key: String) -> Bool {
        switch (key, value) {
        case ("server_id", .text(let text)): serverID = Self.short(text) ?? ""
        case ("server_name", .text(let text)): serverName = Self.short(text)
        case ("version", .text(let text)): version = Self.short(text) ?? ""
        case ("host", .text(let text)): host = Self.short(text)
        case ("port", .number(let number)): port = number
        case ("headers", .truth(let truth)): supportsHeaders = truth
        case ("max_payload", .number(let number)): state(maximumPayload: number)
        case ("jetstream", .truth(let truth)): hasJetStream = truth
        case ("auth_required", .truth(let truth)): requiresAuthentication = truth
        case ("tls_required", .truth(let truth)): requiresTLS = truth
        case ("tls_available", .truth(let truth)): offersTLS = truth
        case ("client_id", .number(let number)): clientID = UInt64(number)
        case ("client_ip", .text(let text)): clientAddress = Self.short(text)
        case ("nonce", .text(let text)): nonce = Self.short(text)
        case ("cluster", .text(let text)): cluster = Self.short(text)
        case ("domain", .text(let text)): domain = Self.short(text)
        case ("connect_urls", .texts(let urls)): connectURLs = urls
        case ("ldm", .truth(let truth)): isLameDuck = truth
        case ("remote_account", .text(let text)): account = Self.short(text)
        default: return !Self.fields.contains(key)
        }
        return true
    }

    private static func short(_ text: String) -> String? { text.utf8.count <= maximumText ? text : nil }
}
