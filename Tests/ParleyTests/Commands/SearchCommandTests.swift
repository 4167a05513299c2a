import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Commands over the local store: options and words")
struct SearchCommandTests {
    private func query(_ words: [String], secondsFromGMT: Int = 0) throws -> SearchQuery {
        try SearchCommand.parse(words).query(secondsFromGMT: secondsFromGMT)
    }

    private func match(_ words: String, _ text: String) -> String? { SearchMatch(SearchQuery(words)).part(of: text) }

    @Test("Words are joined, and --in names topics as in: does")
    func words() throws {
        #expect(try query(["build", "from:bob", "--as", "alice"]) == SearchQuery("build from:bob"))
        #expect(try query(["build", "--in", "chat.*", "--in", "a"]) == SearchQuery("build in:chat.* in:a"))
        #expect(try query(["\"two words\"", "--limit", "7"]) == SearchQuery("\"two words\""))
        #expect(try query(["build", "--", "-fails"]) == SearchQuery("build -fails"))
        let late = try query(["before:2026-11-20"], secondsFromGMT: 3_600)
        #expect(late.before == Timestamp(iso8601: "2026-11-19T23:00:00Z"))
    }

    @Test("Without words, with a topic that is none, and with nothing to look for")
    func mistakes() throws {
        #expect(throws: (any Error).self) { try SearchCommand.parse([]) }
        #expect(throws: RelayError.self) { try query(["x", "--in", "a..b"]) }
        let failure = #expect(throws: CommandFailure.self) { try query(["!!!", "--in", "a"]) }
        #expect(failure?.code == 64)
    }

    @Test("A filter with nothing behind its colon is wrong usage, and says what is missing")
    func missingValues() throws {
        for (words, missing) in [
            (["from:"], "from: needs a name"), (["build", "from:", "bob"], "from: needs a name"),
            (["in:", "--in", "a"], "in: needs a topic"), (["x after:"], "after: needs a date"),
        ] {
            let failure = #expect(throws: CommandFailure.self) { try query(words) }
            #expect(failure?.code == 64 && failure?.text.contains(missing) == true, "\(words)")
        }
        #expect(try query(["to:", "bob"]) == SearchQuery("to bob"))
    }

    @Test("The store's commands take a topic, and identity and server may stand before them")
    func store() throws {
        #expect(try StoreExportCommand.parse(["chat.>", "--json"]).topic == "chat.>")
        #expect(try StoreForgetCommand.parse(["chat.qa", "--as", "bob"]).options.connection.user == "bob")
        #expect(throws: (any Error).self) { try StoreForgetCommand.parse([]) }
        #expect(throws: RelayError.self) { try StoreOptions.pattern("a..b") }
        #expect(ParleyCommand.rearranged(["--as", "bob", "store", "status"]) == ["store", "status", "--as", "bob"])
        #expect(ParleyCommand.rearranged(["--as", "bob", "search", "x"]) == ["search", "x", "--as", "bob"])
    }

    @Test("The store is the one of the user whom the options name; a token that is still to come names nobody")
    func place() throws {
        let folder = try TemporaryDirectory("store")
        let environment = ["XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path]
        let local = try ConnectionOptions.parse(["--as", "alice"]).plan(environment)
        #expect(try local.storeFile() == folder.path("parley/stores/alice@local.sqlite"))
        let file = "{ profiles: { default: { servers: ['nats://a.example:4222'], token_command: 'print-token' } } }"
        try folder.write(file, to: "config.json")
        let tokens = try ConnectionOptions.parse(["--config", folder.path("config.json")]).plan(environment)
        let failure = #expect(throws: CommandFailure.self) { try tokens.storeFile() }
        #expect(failure?.code == 78)
    }

    @Test(
        "What was found is shown as it stands in the text",
        arguments: [
            ("build", "The Builds fail", "Builds"), ("FAIL build", "the build failed", "build"),
            ("cafe", "Im Café sitzen", "Café"), ("café", "cafe\u{301}s", "cafe\u{301}s"),
            ("\"build fails\"", "a build -- fails", "build -- fails"), ("straße", "Die STRASSE, die Straße", "Straße"),
            ("foo-bar", "a foo barrel", "foo barrel"), ("京都", "東京都です", "京都"),
            ("from:bob build -x", "build x", "build"),
        ])
    func found(words: String, text: String, part: String) {
        #expect(match(words, text) == part)
    }

    @Test(
        "Nothing is shown as found where a word only goes on, stands in quotes and is longer, or there are only filters"
    )
    func notFound() {
        #expect(match("uild", "build") == nil)
        #expect(match("\"build\"", "builds") == nil)
        #expect(match("b", "build") == nil)
        #expect(match("from:bob", "bob") == nil)
        #expect(match("in:a -b", "b") == nil)
        #expect(match("build", "") == nil)
    }

    @Test("The figures of a store, for scripts and for people")
    func status() {
        var status = StoreStatus(path: "/x.sqlite")
        (status.bytes, status.messages, status.topics) = (12_345, 1, 2)
        (status.oldest, status.letters, status.outbox) = (Timestamp(milliseconds: 0), 3, 4)
        let object = StoreStatusCommand.object(status, path: "/x.sqlite")
        #expect(
            JSONText.text(.map(object))
                == #"{"path":"/x.sqlite","bytes":12345,"messages":1,"topics":2,"oldest":"1970-01-01T00:00:00.000Z","outbox":4}"#
        )
        #expect(
            StoreStatusCommand.lines(status, path: "/x.sqlite") == [
                "/x.sqlite, 12,345 bytes", "1 message of 2 topics, the oldest from 1970-01-01T00:00:00.000Z",
                "3 letters, 4 in the outbox",
            ])
    }
}
