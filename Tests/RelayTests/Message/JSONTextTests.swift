import NATS
import Relay
import Testing

@Suite struct JSONTextTests {
    @Test(
        "Values and their text",
        arguments: [
            ("null", nil), ("true", true), ("false", false), ("0", 0), ("-7", -7),
            ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
            ("18446744073709551615", .unsigned(.max)), ("1.5", 1.5), ("1.0", 1.0), ("-0.0", -0.0),
            ("1e+300", 1e300), ("5e-324", .double(.leastNonzeroMagnitude)), ("0.1", 0.1), (#""""#, ""),
            (#""a\"\\\n\r\t""#, "a\"\\\n\r\t"),
            (#""é漢🙂""#, "é漢🙂"), (#""\u0001\u007f\u0085\u202e""#, "\u{1}\u{7F}\u{85}\u{202E}"), ("[]", []), ("{}", [:]),
            (#"[1,[2,"3"],{"b":1,"a":2}]"#, [1, [2, "3"], ["b": 1, "a": 2]]),
            (#"{"a":1,"a":2}"#, ["a": 1, "a": 2]),
        ] as [(String, MessageValue)]
    ) func both(_ text: String, _ value: MessageValue) throws {
        #expect(JSONText.text(value) == text)
        #expect(try JSONText.parse(text) == value)
    }

    @Test(
        "Other spellings are read",
        arguments: [
            (" [ 1 , 2 ]\n", [1, 2]), (#""\u00e9\/\b\f""#, "é/\u{8}\u{C}"), (#""\ud83d\ude42""#, "🙂"),
            (#""\ud83d""#, "\u{FFFD}"), (#""\ud83dx\udE42""#, "\u{FFFD}x\u{FFFD}"), ("1E2", 100.0), ("-0", -0.0),
            (#""\ud83d\u0041""#, "\u{FFFD}A"),
            ("18446744073709551616", 18446744073709551616.0), ("\t{\"a\" : null }", ["a": nil]),
        ] as [(String, MessageValue)]
    ) func read(_ text: String, _ value: MessageValue) throws {
        #expect(try JSONText.parse(text) == value)
    }

    @Test(
        "What is no JSON is refused",
        arguments: [
            "", " ", "nul", "nulx", "tru", "[1", "[1,", "[1,]", "[,1]", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
            "{\"a\":1,}",
            "{a:1}", "{1:2}", "01", "-", "+1", "1.", ".5", "1e", "1e400", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"",
            "\"\\u12g4\"", "\"\u{1}\"", "1 2", "[] x", "'a'", "NaN", "Infinity", "[1 2]", "\u{FEFF}1", "--1", "1.e1",
        ]
    ) func refused(_ text: String) {
        #expect(throws: MessageCodingError.self) { try JSONText.parse(text) }
    }

    @Test("Text that is not UTF-8 is refused")
    func invalidText() {
        #expect(throws: MessageCodingError.invalidText(offset: 0)) { try JSONText.parse(bytes: [0x22, 0xFF, 0x22]) }
        #expect(throws: MessageCodingError.invalidText(offset: 0)) {
            try JSONText.parse(bytes: [0x22, 0x5C, 0x6E, 0xFF, 0x22])
        }
    }

    @Test("Depth, size and element limits hold")
    func limits() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: MessageCodingError.tooDeep(limit: 64)) { try JSONText.parse(deep) }
        #expect(throws: MessageCodingError.tooDeep(limit: 64)) {
            try JSONText.parse(String(repeating: #"{"a":"#, count: 100_000))
        }
        let long = [UInt8](repeating: 0x20, count: MessagePack.maximumBytes + 1)
        #expect(throws: MessageCodingError.tooLong(bytes: long.count, limit: long.count - 1)) {
            try JSONText.parse(bytes: long)
        }
        let many = "[" + String(repeating: "1,", count: MessagePack.maximumElements) + "1]"
        #expect(throws: MessageCodingError.tooManyElements(limit: MessagePack.maximumElements)) {
            try JSONText.parse(many)
        }
    }

    @Test("B34: random values survive printing and parsing")
    func roundTrip() async throws {
        var random = SeededGenerator(seed: 8259)
        for round in 0..<400 {
            if round % 10 == 0 { await Task.yield() }
            let value = random.value(depth: 3, json: true)
            #expect(try JSONText.parse(JSONText.text(value)) == value)
            #expect(try JSONText.parse(JSONText.text(value, spaced: true)) == value)
        }
    }

    @Test("What JSON lacks is written as its nearest form")
    func nearest() {
        #expect(JSONText.text(.double(.nan)) == "null")
        #expect(JSONText.text(.double(-.infinity)) == "null")
        #expect(JSONText.text(.binary([])) == #""""#)
        #expect(JSONText.text(.binary(Array("f".utf8))) == #""Zg==""#)
        #expect(JSONText.text(.binary(Array("fo".utf8))) == #""Zm8=""#)
        #expect(JSONText.text(.binary(Array("foo?~".utf8))) == #""Zm9vP34=""#)
        #expect(JSONText.text(.extension(type: -7, data: [1])) == #"{"type":-7,"data":"AQ=="}"#)
        #expect(JSONText.text(.timestamp(seconds: 1, nanoseconds: 500_000_000)) == #""1970-01-01T00:00:01.500Z""#)
        #expect(JSONText.text(.timestamp(seconds: .max, nanoseconds: 0)) == #""9999-12-31T23:59:59.000Z""#)
        #expect(JSONText.text([1: 2, [nil]: 3]) == #"{"1":2,"[null]":3}"#)
        #expect(JSONText.text(["a": [1, 2]], spaced: true) == #"{"a": [1, 2]}"#)
        #expect(JSONText.quote("a\u{9B}b") == #""a\u009bb""#)
    }

    @Test("A character is written alike wherever it stands among others")
    func places() throws {
        let scalars = (0...0xFF).compactMap(Unicode.Scalar.init) + ["\u{061C}", "\u{2028}", "\u{202E}", "漢", "🙂"]
        for scalar in scalars {
            let alone = JSONText.quote(String(scalar)).dropFirst().dropLast()
            for before in 0...17 {
                for after in [0, 1, 7, 8, 20] {
                    let (left, right) = (String(repeating: "a", count: before), String(repeating: "z", count: after))
                    #expect(JSONText.quote(left + String(scalar) + right) == "\"\(left)\(alone)\(right)\"")
                }
            }
        }
    }

    @Test("B53: no control or direction mark leaves the printer unescaped")
    func safeText() {
        let dangerous =
            (0...0x1F).map { $0 } + Array(0x7F...0x9F) + [0x061C, 0x200E, 0x200F]
            + Array(0x2028...0x202E) + Array(0x2066...0x2069)
        var text = ""
        for scalar in dangerous.compactMap({ Unicode.Scalar(UInt32($0)) }) { text.unicodeScalars.append(scalar) }
        #expect(JSONText.quote(text).utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }
}
