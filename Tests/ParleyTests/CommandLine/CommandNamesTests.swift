import Foundation
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("A command's name, mistyped")
struct CommandNamesTests {
    private func mistake(_ line: String, topics: Set<String> = []) -> String? {
        let words = ParleyCommand.rearranged(line.split(separator: " ").map(String.init))
        return ParleyCommand.mistake(in: words) { topics.contains($0) }
    }

    @Test(
        "A word that is like a command is refused with the command that is meant",
        arguments: [
            ("chta", "parley chat?"), ("sned chat.lobby hi", "parley send?"), ("tial chat.qa --json", "parley tail?"),
            ("vk get a", "parley kv?"), ("kvv", "parley kv?"), ("histroy", "parley history?"),
            ("hsitory", "parley history?"), ("netwrok", "parley network?"), ("netwrk status", "parley network?"),
            ("Send chat.lobby hi", "parley send?"), ("--as alice otubox list", "parley outbox?"),
            ("--server=nats://x:1 serch x", "parley search?"), ("hlep", "parley help?"),
            ("chta --help", "parley chat?"),
            ("dcotor", "parley doctor?"), ("export a", "parley store export?"),
            (
                "lits",
                "parley inbox list, parley postbox list, parley outbox list, parley network user list, "
                    + "parley network key list or parley lab list?"
            ),
        ])
    func near(_ line: String, _ meant: String) {
        let words = mistake(line)
        #expect(words?.contains("Did you mean \(meant)") == true, "\(words ?? "no mistake")")
        #expect(words?.contains("parley chat ") == true)
    }

    @Test(
        "Anything else is a topic, as are patterns and several tokens, and whatever comes behind chat or --",
        arguments: [
            "lobby", "general", "random", "deploys", "builds", "dev", "bar", "net", "a", "日本", "chat.lobby", "tai.l",
            "*", ">", "chat chta", "chat lits", "-- chta", "--as chta lobby", "--as alice chat chta", "", "--as",
            "--suspend-after 5 chta", "tail chta", "--help", "help tail", String(repeating: "chat", count: 50),
        ])
    func topics(_ line: String) { #expect(mistake(line) == nil) }

    @Test("A topic that the user has is joined, whatever it is like")
    func known() {
        #expect(mistake("users", topics: ["users"]) == nil)
        #expect(mistake("users", topics: ["users.a"])?.contains("parley network user?") == true)
        #expect(mistake("users --as bob", topics: ["users"]) == nil)
    }

    @Test("Help about a word that is no command is refused as before, and the word moves no cursor")
    func help() {
        #expect(mistake("nonsense --help")?.contains("There is no command “nonsense”.") == true)
        #expect(mistake("--as alice nonsense -h") != nil)
        #expect(mistake("nonsense") == nil && mistake("chat.lobby --help") == nil)
        #expect(mistake("c\u{1B}hat")?.contains("\u{1B}") == false)
    }

    @Test("A look into a store finds joined topics and those of which something is kept, and makes nothing")
    func store() async throws {
        let folder = try TemporaryDirectory("topics")
        let path = folder.path("alice.sqlite")
        #expect(!LocalStore.hasTopic("lits", inFile: path))
        #expect(!FileManager.default.fileExists(atPath: path))
        let store = try LocalStore.open(path)
        try await store.commit([.join("lits"), .join("chat.>")])
        #expect(LocalStore.hasTopic("lits", inFile: path) && !LocalStore.hasTopic("chta", inFile: path))
        try await store.close()
        #expect(LocalStore.hasTopic("lits", inFile: path) && LocalStore.hasTopic("chat.>", inFile: path))
        try folder.write("this is no database at all", to: "bad.sqlite")
        #expect(!LocalStore.hasTopic("lits", inFile: folder.path("bad.sqlite")))
    }

    @Test("Topics and nothing else, which no parser is asked about, mean what a parser says they mean")
    func topicsAlone() throws {
        for words in [[], ["chat.lobby"], ["chat.lobby", "alerts.>"], ["lobby", "chat"], [""]] {
            #expect(ParleyCommand.topics(in: words) == words)
            let parsed = try #require(try ParleyCommand.parseAsRoot(words) as? ChatCommand)
            #expect(parsed.topics == words && !parsed.plain && parsed.suspendAfter == nil && parsed.limit.time == nil)
            let (flags, none) = (parsed.connection, NoConnectionFlags())
            #expect(flags.profile == none.profile && flags.server == none.server && flags.creds == none.creds)
            #expect(flags.user == none.user && flags.config == none.config && flags.proxy == none.proxy)
            #expect(flags.log == none.log)
            // What is new on the command line has to be new where no parser is asked, too.
            let counts = [Mirror(reflecting: parsed), Mirror(reflecting: flags), Mirror(reflecting: flags.target)]
            #expect(counts.map(\.children.count) == [5, 2, 6])
        }
        let others = ["chat", "help", "measure-screen", "-", "--version", "help send", "send a", "a --plain"]
        for line in others {
            let words = line.split(separator: " ").map(String.init)
            #expect(ParleyCommand.topics(in: words) == nil, "\(words)")
        }
    }
}
