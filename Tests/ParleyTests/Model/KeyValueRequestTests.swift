import Relay
import Testing

@testable import Parley

@Suite("Keys and values in the chat")
struct KeyValueRequestTests {
    @Test(
        "B56: a value is JSON where it is that, or else text",
        arguments: [
            ("5", MessageValue.int(5)), ("null", .null), ("\"5\"", .string("5")), ("five", .string("five")),
            ("{\"a\": [true]}", .map(["a": .array([.bool(true)])])), ("{\"a\"", .string("{\"a\"")),
            ("two words", .string("two words")),
        ])
    func values(text: String, value: MessageValue) {
        #expect(KeyValueRequest("put a.b \(text)") == .put(key: "a.b", value: value))
    }

    @Test("Keys are listed by a pattern, or all of them")
    func keys() {
        #expect(KeyValueRequest("keys") == .keys(nil))
        #expect(KeyValueRequest("KEYS a.> ") == .keys("a.>"))
    }

    @Test(
        "B56: a half-written request stays in the pane and says how it is written",
        arguments: ["", "get", "get a b", "put a", "put", "delete", "delete a b", "keys a b", "watch a"])
    func halfWritten(text: String) {
        #expect(KeyValueRequest(text) == nil)
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/kv \(text)") == [])
        #expect(!desk.model.compose.isEmpty)
        #expect(desk.model.notice?.text == "Write it as \(KeyValueRequest.usage)")
    }

    @Test("Answers say the value and its revision, and count keys")
    func words() {
        let stored = StoredValue(
            key: "room/1.color", value: .string("blue"), revision: 7, storedAt: Timestamp(milliseconds: 0))
        #expect(KeyValueRequest.words(stored) == "room/1.color = \"blue\" (revision 7)")
        #expect(KeyValueRequest.words([]) == "No key has a value.")
        #expect(KeyValueRequest.words(["a"]) == "1 key: a")
        #expect(KeyValueRequest.words(["b", "a"]) == "2 keys: b, a")
    }
}
