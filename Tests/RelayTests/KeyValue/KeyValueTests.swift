import NIOCore
import Testing

@testable import Relay

/// Keys, values and batches of them, before anything is sent.
@Suite("Keys and values")
struct KeyValueTests {
    @Test(
        "B52: a key has RelayX's characters, and a part on each side of a dot",
        arguments: [
            "a", "A-z_0=9", "room/1.color", "a.b.c", "-", "=", "/", "_", "1",
            String(repeating: "k", count: KeyGrammar.maximumBytes),
        ])
    func keys(key: String) throws {
        try KeyGrammar.check(key: key)
        try KeyGrammar.check(pattern: key)
    }

    @Test(
        "B52: what cannot be a key is refused",
        arguments: [
            "", " ", "a b", "é", "a*", "*", ">", "a.>", "a$", "a+b", "a\\b", "a:b", ".", ".a", "a.", "a..b", "a\n",
            "a\u{0}",
            String(repeating: "k", count: KeyGrammar.maximumBytes + 1),
        ])
    func notKeys(key: String) {
        #expect(throws: RelayError.self) { try KeyGrammar.check(key: key) }
    }

    @Test("Patterns have * for a part and > for the rest")
    func patterns() throws {
        for pattern in ["*", ">", "a.*", "a.>", "*.b", "*.*.>", "room/1.*.x"] { try KeyGrammar.check(pattern: pattern) }
        for pattern in ["", ">.a", "a>", "a*", "a.*b", "a..*", ".>", "a. ", "*."] {
            #expect(throws: RelayError.self) { try KeyGrammar.check(pattern: pattern) }
        }
    }

    @Test(
        "B52: values are stored as JSON, and read as what they were",
        arguments: [
            (MessageValue.null, "null"), (.bool(true), "true"), (.int(-7), "-7"), (.double(2.5), "2.5"),
            (.string("a \"b\""), #""a \"b\"""#), (.array([.int(1), .null]), "[1,null]"),
            (.map(["x": .array([]), "y": .map([:])]), #"{"x":[],"y":{}}"#),
            (.integer(UInt64.max), "18446744073709551615"),
        ] as [(MessageValue, String)])
    func encoding(value: MessageValue, text: String) throws {
        let bytes = try ValueCoding.bytes(of: value)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        #expect(ValueCoding.value(of: ByteBuffer(bytes: bytes)) == value)
    }

    @Test(
        "B52: a value that JSON would make something else of is refused",
        arguments: [
            .binary([1]), .timestamp(seconds: 1, nanoseconds: 0), .extension(type: 1, data: []), .double(.infinity),
            .array([.binary([])]), .map(MessageMap([MessageMap.Entry(key: .int(1), value: .null)])),
        ] as [MessageValue])
    func notJSON(value: MessageValue) {
        #expect(throws: RelayError.self) { try ValueCoding.bytes(of: value) }
    }

    @Test("Bytes that are no JSON are read as bytes", arguments: ["", "hello", "{", "1 2"])
    func foreign(text: String) {
        #expect(ValueCoding.value(of: ByteBuffer(string: text)) == .binary(Array(text.utf8)))
    }

    @Test("B52: batches are cut into tens, and no ten has a key twice")
    func parts() {
        func parts(_ keys: [String]) -> [Range<Int>] { KeyValueBatch.parts(of: keys) }
        #expect(parts([]) == [])
        #expect(parts(["a"]) == [0..<1])
        #expect(parts((0..<10).map { "\($0)" }) == [0..<10])
        #expect(parts((0..<25).map { "\($0)" }) == [0..<10, 10..<20, 20..<25])
        #expect(parts(["a", "b", "a", "a", "c"]) == [0..<2, 2..<3, 3..<5])
    }

    @Test("B52: a conflict is Nexconn's and RongCloud's 23431, and names the revision that won")
    func conflict() {
        #expect(KeyValueStore.revision(in: "wrong last sequence: 7") == 7)
        #expect(KeyValueStore.revision(in: "wrong last sequence") == nil)
        let error = RelayError.conflict(key: "a", revision: 7)
        #expect(RongCloudCode(error).rawValue == 23_431)
        #expect(error.words.contains("revision 7"))
    }
}
