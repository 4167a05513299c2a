import NATS
import Relay

extension SeededGenerator {
    /// A random value; with `json`, one that JSON can express exactly.
    mutating func value(depth: Int = 4, json: Bool = false) -> MessageValue {
        switch Int.random(in: 0..<(depth > 0 ? 11 : 8), using: &self) {
        case 0: return .null
        case 1: return .bool(.random(using: &self))
        case 2: return .int(integer())
        case 3: return .integer(.random(in: 0 ... .max, using: &self))
        case 4: return .double(finite())
        case 5: return .string(text())
        case 6:
            return json ? .string(text()) : .binary((0..<Int.random(in: 0...40, using: &self)).map { _ in byte() })
        case 7:
            if json { return .int(integer()) }
            if Bool.random(using: &self) {
                return .timestamp(seconds: integer(), nanoseconds: .random(in: 0..<1_000_000_000, using: &self))
            }
            let type = Int8.random(in: 0...127, using: &self)
            return .extension(type: type, data: (0..<Int.random(in: 0...20, using: &self)).map { _ in byte() })
        case 8:
            return .array((0..<Int.random(in: 0...20, using: &self)).map { _ in value(depth: depth - 1, json: json) })
        default:
            return .map(
                MessageMap(
                    (0..<Int.random(in: 0...20, using: &self)).map { _ in
                        MessageMap.Entry(
                            key: json || Bool.random(using: &self) ? .string(text()) : value(depth: 0),
                            value: value(depth: depth - 1, json: json)
                        )
                    }
                )
            )
        }
    }

    mutating func text() -> String {
        let alphabet: [Unicode.Scalar] = [
            "a", "Z", "\"", "\\", "\n", "\u{1}", "\u{85}", "é", "\u{202E}", "漢", "🙂", " ",
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0...40, using: &self) {
            text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &self)])
        }
        return text
    }

    private mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    private mutating func integer() -> Int64 {
        Int64(truncatingIfNeeded: next()) >> Int64.random(in: 0...63, using: &self)
    }

    private mutating func finite() -> Double {
        let number = Double(bitPattern: next())
        return number.isFinite ? number : 0.5
    }
}
