import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Commands: what options take, and what postboxes are called")
struct OptionsTests {
    private static func postbox(
        _ id: String, name: String? = nil, title: String? = nil, isEnabled: Bool = true
    ) -> Postbox {
        Postbox(id: id, name: name ?? id, title: title, sudoId: "sudo", isEnabled: isEnabled, createdAt: Desk.wall)
    }

    @Test("A range that ends at the limit that nobody gave says how to get the rest")
    func endOfHistory() throws {
        let plain = try HistoryCommand.parse(["chat.lobby", "--start", "all"])
        #expect(plain.rest(left: 1) == nil && plain.rest(left: 0)?.contains("--limit") == true)
        let limited = try HistoryCommand.parse(["chat.lobby", "--start", "all", "--limit", "5"])
        #expect(limited.rest(left: 0) == nil)
    }

    @Test(
        "A number out of its range is wrong usage in every command",
        arguments: [
            ["history", "a", "--start", "all", "--limit", "0"], ["history", "a", "--start", "all", "--limit", "-1"],
            ["history", "a", "--start", "all", "--limit", "10001"], ["search", "x", "--limit", "0"],
            ["search", "x", "--limit", "1001"], ["tail", "a", "--count", "0"], ["kv", "watch", "--count", "0"],
            ["send", "a", "b", "--timeout", "0"], ["send", "a", "b", "--timeout", "1e30"],
            ["send", "a", "b", "--timeout", "nan"], ["outbox", "send", "--timeout", "0"],
        ])
    func ranges(_ words: [String]) {
        do {
            _ = try ParleyCommand.parseAsRoot(words)
            Issue.record("\(words) was taken")
        } catch {
            #expect(ParleyCommand.exitCode(for: error).rawValue == CommandStatus.usage.rawValue)
        }
    }

    @Test("The ends of a range are in it")
    func ends() throws {
        for limit in ["1", "10000"] { _ = try HistoryCommand.parse(["a", "--start", "all", "--limit", limit]) }
        for limit in ["1", "100"] { _ = try InboxListCommand.parse(["--limit", limit]) }
        _ = try InboxListCommand.parse([])
    }

    @Test("A topic that is none is bad data, in the chat as everywhere")
    func topics() throws {
        let chat = try ChatCommand.parse(["a..b"])
        #expect { try chat.run() } throws: { CommandFailure(of: $0)?.code == .badData }
    }

    @Test("Several profiles are for the chat, each once, and what says otherwise who to be does not go with them")
    func severalProfiles() throws {
        let two = ["--profile", "home", "--profile", "work"]
        let flags = try ConnectionOptions.parse(two + ["--config", "c.json"])
        let each = try flags.each([:])
        #expect(each.map(\.profile) == ["home", "work"] && each.allSatisfy { $0.config == "c.json" })
        #expect(throws: CommandFailure.self) { try flags.plan([:]) }
        let refused: [([String], [String: String], String)] = [
            (["--profile", "home"], [:], "--profile home is there twice"),
            (["--server", "nats://x"], [:], "--server belongs to no profile"),
            (["--creds", "f"], [:], "--creds belongs"), (["--as", "alice"], [:], "--as belongs"),
            ([], ["PARLEY_API_KEY": "k"], "PARLEY_API_KEY belongs"),
            ([], ["PARLEY_TOKEN": "t"], "PARLEY_TOKEN belongs"),
        ]
        for (more, environment, words) in refused {
            let failure = #expect(throws: CommandFailure.self) {
                try ConnectionOptions.parse(two + more).each(environment)
            }
            #expect(failure?.code == .usage && failure?.text.contains(words) == true, "\(more)")
        }
    }

    @Test("A server's address that is none is wrong usage in a flag, and a bad configuration in a profile")
    func addresses() throws {
        let folder = try TemporaryDirectory("config")
        try folder.write("{ profiles: { default: { servers: ['http://x'] } } }", to: "config.json")
        for (words, code) in [
            (["--server", "http://x"], CommandStatus.usage),
            (["--config", folder.path("config.json")], CommandStatus.badConfiguration),
        ] {
            let failure = #expect(throws: CommandFailure.self) {
                try ConnectionOptions.parse(words).plan(["XDG_CONFIG_HOME": folder.path])
            }
            #expect(failure?.code == code && failure?.text.contains("nats://") == true)
        }
    }

    @Test("A postbox is found by its identifier or its name, and a mistyped one names those that there are")
    func postboxes() throws {
        let known = [Self.postbox("p2", name: "work"), Self.postbox("personal"), Self.postbox("work", name: "other")]
        #expect(try InboxSelection.id(of: "personal", among: known) == "personal")
        #expect(try InboxSelection.id(of: "work", among: known) == "work")
        #expect(try InboxSelection.id(of: "other", among: known) == "work")
        #expect(try InboxSelection.id(of: nil, among: known) == nil)
        // Where nobody can tell, the network's answer counts.
        #expect(try InboxSelection.id(of: "wrok", among: nil) == "wrok")
        let failure = #expect(throws: CommandFailure.self) { try InboxSelection.id(of: "wrok", among: known) }
        #expect(failure?.code == 65)
        #expect(failure?.text == "There is no postbox “wrok”. These are: other, personal, work.")
        let none = #expect(throws: CommandFailure.self) { try InboxSelection.id(of: "wrok", among: []) }
        #expect(none?.text.contains("parley postbox create") == true)
    }

    @Test(
        "A text of several lines goes on below, indented, and moves no cursor",
        arguments: [
            ("plain", "plain"), ("", ""), ("one\ntwo\r\nthree", "one\n    two\n    three"), ("end\n", "end\n    "),
            ("日本\n2026-11-20T00:00:00.000Z  chat.a  eve: me", "日本\n    2026-11-20T00:00:00.000Z  chat.a  eve: me"),
        ])
    func indented(_ text: String, _ shown: String) {
        #expect(Output.indented(text) == shown)
        #expect(!Output.indented(text + "\u{1B}[2J\n\u{9B}2J").contains { "\u{1B}\u{9B}\r".contains($0) })
    }

    @Test("A postbox that was deleted is said to be, others whether they are enabled, and what each is called besides")
    func postboxLines() {
        #expect(Self.postbox("work").line() == "work  enabled")
        #expect(Self.postbox("work", isEnabled: false).line() == "work  disabled")
        #expect(Self.postbox("work", isEnabled: false).line("deleted") == "work  deleted")
        #expect(!Self.postbox("wo\u{1B}rk").line().contains("\u{1B}"))
        #expect(Self.postbox("work", title: "Old orders").line() == "work  enabled  Old orders")
        #expect(Self.postbox("work", title: "work").line() == "work  enabled")
        #expect(!Self.postbox("work", title: "a\u{1B}b").line().contains("\u{1B}"))
    }

    @Test(
        "Where a proxy of the lab listens is a port, or an address of this machine in numbers with a port",
        arguments: [
            ("4333", "127.0.0.1", 4_333), ("0", "127.0.0.1", 0), ("127.0.0.1:4333", "127.0.0.1", 4_333),
            ("localhost:4333", "127.0.0.1", 4_333), ("0.0.0.0:4333", "0.0.0.0", 4_333), ("[::1]:4333", "::1", 4_333),
            ("[::]:0", "::", 0),
        ])
    func proxyPlace(_ text: String, _ host: String, _ port: Int) {
        let place = LabProxyCommand.place(text)
        #expect(place?.host == host && place?.port == port)
    }

    @Test(
        "What is no place to listen at is refused",
        arguments: [
            "", ":", "4333:", ":4333", "127.0.0.1:", "127.0.0.1:65536", "::1:4333", "[x]:1", "a b", "127.0.0.1:-1",
        ])
    func noProxyPlace(_ text: String) { #expect(LabProxyCommand.place(text) == nil) }

    @Test("Only this machine reaches loopback")
    func loopback() {
        #expect(["127.0.0.1", "127.0.0.2", "::1"].allSatisfy(LabProxyCommand.isLoopback))
        #expect(!["0.0.0.0", "::", "192.168.0.2"].contains(where: LabProxyCommand.isLoopback))
    }

    @Test("B59 Rights are named for each direction or for both, and never for one twice")
    func rights() throws {
        let change = try RightsOptions.parse(
            ["--publish", "chat.a", "chat.b", "--subscribe", "chat.>", "--kv", "read", "--letters", "yes"]
        ).change
        #expect(change.publish == ["chat.a", "chat.b"] && change.subscribe == ["chat.>"])
        #expect(change.keyValue == .read && change.letters == true)
        let both = try RightsOptions.parse(["--topics", "chat.>"]).change
        #expect(both.publish == ["chat.>"] && both.subscribe == ["chat.>"] && both.keyValue == nil)
        #expect(try RightsOptions.parse(["--topics", ""]).change.publish == [])
        #expect(try RightsOptions.parse([]).change.isEmpty)
        for wrong in [
            ["--topics", "a", "--publish", "b"], ["--topics", "a", "--subscribe", "b"], ["--kv", "all"],
            ["--letters", "perhaps"],
        ] {
            #expect(throws: (any Error).self) { try RightsOptions.parse(wrong) }
        }
    }
}
