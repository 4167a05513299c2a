import Relay
import Testing

@testable import Parley

@Suite("JSON that is folded")
struct FoldedJSONTests {
    @Test("An object says its keys and an array its items, each with the bytes of the text")
    func words() {
        let object = "{" + (1...12).map { "\"key\($0)\": [1, {\"a\": 2}]" }.joined(separator: ", ") + "}"
        #expect(FoldedJSON(object)?.words == "{…} 12 keys, \(object.utf8.count) bytes")
        #expect(FoldedJSON(" [1,[2,3],{}] ")?.words == "[…] 3 items, 14 bytes")
        #expect(FoldedJSON("{\"a\":1}")?.words == "{…} 1 key, 7 bytes")
        #expect(FoldedJSON("{}")?.words == "{…} 0 keys, 2 bytes" && FoldedJSON("[ ]")?.count == 0)
        let long = "[" + Array(repeating: "1234567", count: 401).joined(separator: ",") + "]"
        #expect(FoldedJSON(long)?.words == "[…] 401 items, 3,209 bytes")
    }

    @Test(
        "A text that only looks like it is text",
        arguments: [
            "", "{", "}", "{}{}", "[1] [2]", "[note] see [2]", "{a: 1}", "{\"a\" 1}", "{\"a\":}", "[1,]", "[,1]",
            "{\"a\":1,}",
            "[01a]", "[tru]", "[\"a]", "[\"\\x\"]", "[1}", "\"[1]\"", "1", "null", "[-]", "[1.]", "[1e]", "{\"a\":1]",
            "[\"a\nb\"]",
        ])
    func text(text: String) {
        #expect(FoldedJSON(text) == nil && FoldedJSON.indented(text) == nil)
    }

    @Test(
        "What the reader of JSON takes is taken here, and shown with the same values",
        arguments: [
            "{\"a\": [1, 2.5e3, -0, true, false, null], \"b\\n\\\"{\": {\"c\": {}, \"d\": []}}",
            "[[[]],[{}],\"}\",\"\\\\\",\"漢字 \\u00e9\"]", " { \"x\" : \"a , b : c\" } ",
        ])
    func indented(text: String) throws {
        let value = try JSONText.parse(text)
        let shown = try #require(FoldedJSON.indented(text))
        #expect(try JSONText.parse(shown) == value)
        #expect(FoldedJSON.indented(shown) == shown)
    }

    @Test("Read whole, each value has its line")
    func lines() {
        #expect(
            FoldedJSON.indented("{\"a\":1,\"b\":[true,{}],\"c\":[]}") == """
                {
                  "a": 1,
                  "b": [
                    true,
                    {}
                  ],
                  "c": []
                }
                """)
    }

    @Test("It is folded only where it would take more than a line")
    func columns() {
        let text = "{\"name\": \"日本\"}"
        #expect(FoldedJSON(text, columns: 16) == nil && FoldedJSON(text, columns: 15) != nil)
        #expect(FoldedJSON("{\n\"a\": 1}", columns: 80) != nil)
    }

    @Test("Deep, long and broken texts end, and what is indented does not grow without bound")
    func hostile() {
        let limit = FoldedJSON.depthLimit
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(FoldedJSON(nested(limit)) != nil && FoldedJSON(nested(limit + 1)) == nil)
        #expect(FoldedJSON(nested(100_000)) == nil)
        let wide =
            String(repeating: "[", count: limit) + Array(repeating: "1", count: 50_000).joined(separator: ",")
            + String(repeating: "]", count: limit)
        #expect((FoldedJSON.indented(wide)?.utf8.count ?? .max) < wide.utf8.count * 12)
        let long = "[\"" + String(repeating: "a", count: FoldedJSON.byteLimit) + "\"]"
        #expect(FoldedJSON(long) == nil)
    }
}
