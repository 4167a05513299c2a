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
        #expect(KeyValueRequest("put a.b \(text)") == .change(.init(key: "a.b", value: value)))
    }

    @Test("Keys are listed by a pattern, or all of them")
    func keys() {
        #expect(KeyValueRequest("keys") == .keys(nil))
        #expect(KeyValueRequest("KEYS a.> ") == .keys("a.>"))
        #expect(KeyValueRequest("watch") == .watch(nil))
        #expect(KeyValueRequest("watch a.>") == .watch("a.>"))
        #expect(KeyValueRequest("unwatch") == .unwatch)
        #expect(KeyValueRequest("history a") == .history("a"))
        #expect(KeyValueRequest("purge a") == .purge("a"))
    }

    @Test(
        "B56: a half-written request stays in the pane and says how it is written",
        arguments: [
            "get", "get a b", "put a", "put", "delete", "delete a b", "keys a b", "watch a b",
            "unwatch a", "history", "purge a b", "other a",
        ])
    func halfWritten(text: String) {
        #expect(KeyValueRequest(text) == nil)
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/kv \(text)") == [])
        #expect(!desk.text.isEmpty)
        #expect(desk.notice == "Write it as \(KeyValueRequest.usage)")
    }

    private func change(_ value: MessageValue?) -> KeyValueRequest.Change {
        KeyValueRequest.Change(key: "room.color", value: value)
    }

    @Test("What a request about keys came to is said, and listed by /kv; the connection's log has none of it")
    func results() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/kv")
        #expect(desk.notice.hasPrefix("No key was asked for yet."))
        let before = desk.model.network.log.entries.count
        desk.send(.keys("room.color = \"blue\" (revision 4)", isFailure: false))
        desk.send(.keys("The request was not answered.", isFailure: true))
        let long = "20 keys: " + (1...20).map { "key.number.\($0)" }.joined(separator: ", ")
        desk.send(.keys(long, isFailure: false))
        #expect(desk.bottom.hasSuffix(" /kv"))
        guard case .keys(.change(let id, _))? = desk.enter("/kv put room.size 4").core.first else {
            Issue.record("nothing is put")
            return
        }
        desk.published(id, .acknowledged(sequence: 7))
        #expect(desk.model.network.log.entries.count == before)
        desk.enter("/kv")
        let screen = desk.screen().joined(separator: "\n")
        for words in ["room.color", "was not answered", "room.size is stored", "key.number.20"] {
            #expect(screen.contains(words), "\(words)")
        }
    }

    @Test("B52 B56: a key that is set without a connection waits and says so, and again when it is stored")
    func waits() throws {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        desk.acceptsAtOnce = false
        let effects = desk.enter("/kv put room.color blue")
        guard case .keys(.change(let id, change(.string("blue"))))? = effects.core.first, effects.core.count == 1 else {
            Issue.record("\(effects)")
            return
        }
        // Until the core has it, an end of the process would lose it.
        #expect(desk.model.notices.shown == nil)
        #expect(desk.model.network.outbox.queuedCount == 0)
        desk.published(id, .queued)
        #expect(desk.notice == "room.color waits, and will be put when connected.")
        #expect(desk.model.network.outbox.queuedCount == 1)
        desk.published(id, .acknowledged(sequence: 7))
        #expect(desk.notice == "room.color is stored as revision 7.")
        #expect(desk.model.network.outbox.queuedCount == 0)
    }

    @Test("B52: a change that somebody else was faster with comes back into the pane, with the revision that won")
    func conflict() throws {
        var desk = Desk.joined("chat.lobby", state: .reconnecting)
        let effects = desk.enter("/kv put room.color \"5\"")
        guard case .keys(.change(let id, _))? = effects.core.first else {
            Issue.record("\(effects)")
            return
        }
        desk.published(id, .failed(.conflict(key: "room.color", revision: 9)))
        #expect(desk.text == "/kv put room.color \"5\"")
        let words = desk.notice
        #expect(words.hasPrefix("room.color was not changed. ") && words.contains("revision 9"))
        #expect(desk.model.network.outbox.queuedCount == 0)
    }

    @Test("A deletion waits, is reported and comes back as what it is")
    func deletion() {
        let deletion = change(Optional.none)
        #expect(KeyValueRequest("delete room.color")?.change == deletion)
        #expect(deletion.waitingWords == "room.color waits, and will be deleted when connected.")
        #expect(deletion.doneWords(3) == "room.color is deleted.")
        #expect(deletion.command == "/kv delete room.color")
        // Null is a value.
        #expect(KeyValueRequest("put room.color null")?.change?.command == "/kv put room.color null")
    }

    @Test("Answers say what a key had, and what is watched")
    func past() {
        let stored = StoredValue(key: "a", value: .int(1), revision: 4, storedAt: Timestamp(milliseconds: 0))
        let removed = KeyValueChange.removed(key: "a", revision: 5, at: Timestamp(milliseconds: 0))
        #expect(KeyValueRequest.words([.put(stored), removed], of: "a") == "a: 1 (revision 4), removed (revision 5)")
        #expect(KeyValueRequest.words([], of: "a") == "a has no history.")
        #expect(KeyValueRequest.words(removed) == "a was removed (revision 5)")
        #expect(KeyValueRequest.words(.put(stored)) == "a = 1 (revision 4)")
    }

    @Test("Answers say the value and its revision, and count keys")
    func words() {
        let stored = StoredValue(
            key: "room/1.color", value: .string("blue"), revision: 7, storedAt: Timestamp(milliseconds: 0))
        #expect(KeyValueRequest.words(stored) == "room/1.color = \"blue\" (revision 7)")
        #expect(KeyValueRequest.words([]) == "No key has a value.")
        #expect(KeyValueRequest.words(["a"]) == "1 key: a")
        #expect(KeyValueRequest.words(["b", "a"]) == "2 keys: b, a")
        let offline = "Keys are read from the network, and there is no connection."
        #expect(KeyValueRequest.words(RelayError.notConnected) == offline)
        #expect(KeyValueRequest.words(RelayError.invalidToken) == RelayError.invalidToken.words)
    }
}
