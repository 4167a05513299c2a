import Foundation
import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// `parley network user` as a script meets it.
@Suite("Administrator: the commands", .realProcesses)
struct UserCommandTests {
    /// Runs `parley network user` on the network of a folder.
    private func user(_ folder: TemporaryFolder, _ arguments: String...) async throws -> TestSupport.ChildProcess.Result
    {
        try await run(folder, ["network", "user"] + arguments)
    }

    private func run(_ folder: TemporaryFolder, _ arguments: [String]) async throws -> TestSupport.ChildProcess.Result {
        try await TestSupport.ChildProcess.run(
            try BuiltProduct.url("parley").path, arguments,
            environment: ["XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path + "/config"])
    }

    @Test("Acts need no running network, say what they did, and refuse with the documented statuses")
    func offline() async throws {
        let folder = try TemporaryFolder()
        #expect(try await user(folder, "add", "alice").exitCode == 0)
        for (action, sentence) in [
            ("ban", "banned alice"), ("unban", "unbanned alice"), ("deactivate", "deactivated alice"),
            ("activate", "activated alice"),
        ] {
            let spoken = try await user(folder, action, "alice")
            #expect(spoken.exitCode == 0 && spoken.lines == [sentence], "\(spoken)")
            let object = try await user(folder, action, "alice", "--json")
            #expect(object.lines == [#"{"user":"alice","action":"\#(action)"}"#], "\(object)")
        }
        let nobody = try await user(folder, "ban", "nobody")
        #expect(nobody.exitCode == 65 && nobody.lines.isEmpty)
        #expect(nobody.diagnostics.contains("no user \"nobody\""))
        #expect(try await user(folder, "ban", "a.b").exitCode == 65)
        #expect(try await user(folder, "ban", "alice", "--reason", "two\nlines").exitCode == 65)
        #expect(try await user(folder, "ban").exitCode == 64)
        let absent = try await user(folder, "kick", "alice")
        #expect(absent.exitCode == 0 && absent.diagnostics.contains("alice is not connected"))
    }

    @Test("Users are listed and shown, granted topics and given an end, and all blocked, while nothing runs")
    func offlineRights() async throws {
        let folder = try TemporaryFolder()
        #expect(try await user(folder, "add", "alice", "--topics", "chat.>", "ops.a").exitCode == 0)
        #expect(try await user(folder, "add", "bob").exitCode == 0)
        #expect(try await user(folder, "ban", "bob").exitCode == 0)
        #expect(try await user(folder, "list").lines == ["alice  active  chat.> ops.a", "bob    banned  >"])
        let objects = try await user(folder, "list", "--json").lines
        #expect(
            objects.first
                == #"{"user":"alice","standing":"active","topics":["chat.>","ops.a"],"expires":null,"devices":null,"#
                + #""rights":{"publish":["chat.>","ops.a"],"subscribe":["chat.>","ops.a"],"kv":"write","letters":true}}"#,
            "\(objects)")

        let granted = try await user(folder, "grant", "alice", "--topics", "chat.>")
        #expect(granted.exitCode == 0 && granted.lines == ["alice may use chat.>"], "\(granted)")
        #expect(try await user(folder, "grant", "alice", "--topics", "chat.*").exitCode == 65)
        let ends = try await user(folder, "expire", "alice", "2100-01-01", "--reason", "moving out")
        #expect(
            ends.exitCode == 0 && ends.lines == ["alice may use the network until 2100-01-01T00:00:00.000Z"],
            "\(ends)")
        #expect(
            try await user(folder, "show", "alice").lines == [
                "alice  active", "rights   chat.>", "expires  2100-01-01T00:00:00.000Z",
                "devices  the network does not run",
            ])
        let never = try await user(folder, "expire", "alice", "never", "--json")
        #expect(never.lines == [#"{"user":"alice","action":"expire"}"#], "\(never)")
        #expect(try await user(folder, "show", "alice").lines.contains("expires  never"))
        #expect(try await user(folder, "expire", "alice", "now").exitCode == 0)
        #expect(try await user(folder, "show", "alice").lines.first == "alice  expired")
        #expect(try await user(folder, "add", "alice").exitCode == 77)
        #expect(try await run(folder, ["network", "token", "alice"]).exitCode == 77)
        #expect(try await user(folder, "expire", "alice", "soon").exitCode == 64)
        for action in [["show", "nobody"], ["grant", "nobody", "--topics", ">"], ["expire", "nobody", "never"]] {
            #expect(try await run(folder, ["network", "user"] + action).exitCode == 65, "\(action)")
        }

        let blocked = try await run(folder, ["network", "block"])
        #expect(blocked.exitCode == 0 && blocked.lines.first?.hasPrefix("blocked: nobody can connect") == true)
        #expect(folder.network.isBlocked)
        let open = try await run(folder, ["network", "unblock"])
        #expect(open.exitCode == 0 && open.lines == ["open"] && !folder.network.isBlocked, "\(open)")
    }

    @Test("B17 whoever is connected reads why a grant, an end or all changed, and is shown", arguments: TestServers.all)
    func onlineRights(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client { $0.clientID = "laptop" }
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            #expect(try await user(folder, "list").lines == ["alice  active  >  1 connected"])
            #expect(
                try await user(folder, "show", "alice").lines == [
                    "alice  active", "rights   >", "expires  never", "device   laptop from 127.0.0.1",
                ])
            let acts = [
                (["grant", "alice", "--topics", "chat.>", "--reason", "tidying up"], "tidying up"),
                (
                    ["expire", "alice", "2100-01-01", "--reason", "moving out"],
                    "until 2100-01-01T00:00:00.000Z: moving out"
                ),
            ]
            for (number, (arguments, words)) in acts.enumerated() {
                let act = try await run(folder, ["network", "user"] + arguments)
                #expect(act.exitCode == 0, "\(act)")
                try await journal.status(words) { $0.reason == .permissionsChanged(words) }
                try await journal.status("the connection after \(words)") {
                    $0.state == .connected && $0.recoveries == number + 1
                }
            }
            let blocked = try await run(folder, ["network", "block", "--reason", "closed for today"])
            #expect(blocked.exitCode == 0, "\(blocked)")
            #expect(try await journal.end().reason == .appBlocked("closed for today"))
            #expect(try await run(folder, ["network", "unblock"]).lines == ["open"])
            try await client.connect(timeLimit: 60)
            let kicked = try await user(folder, "kick", "alice", "--reason", "tea time")
            #expect(kicked.exitCode == 0 && kicked.lines == ["kicked alice, 1 connection"], "\(kicked)")
            try await journal.status("the kick") { $0.reason == .kicked(by: nil, reason: "tea time") }
            try await client.connect(timeLimit: 60)
            let object = try await user(folder, "kick", "alice", "--json")
            #expect(object.lines == [#"{"user":"alice","action":"kick"}"#], "\(object)")
            await client.close()
        }
    }

    @Test("B17 tail and inbox watch end with the reason when their user is kicked", arguments: TestServers.all)
    func following(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            let sender = try network.client(as: "sender")
            try await sender.connect(timeLimit: 60)
            for (index, command) in [["tail", "chat.room"], ["inbox", "watch", "--json"]].enumerated() {
                let name = "user\(index)"
                let program = try TestSupport.ChildProcess(
                    try BuiltProduct.url("parley").path, ["--as", name] + command,
                    environment: ["XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path + "/config"])
                defer { program.close() }
                // Who is not there yet hears nothing, and is kept from coming by an act that is repeated.
                try await eventually("\(command) follows") {
                    try await sender.enqueue(topic: "chat.room", message: "hello")
                    try await sender.enqueueLetter(to: name, postbox: "personal", text: "hello")
                    return program.output.contains("hello") || program.exitStatus != nil
                }
                try await network.administrator.kick(user: name)
                let result = try await program.waitForExit()
                #expect(result.exitCode == 77, "\(result)")
                #expect(result.diagnostics.contains("Disconnected by"), "\(result)")
                if command.contains("--json") {
                    let last = try #require(result.lines.last)
                    #expect(last.hasPrefix(#"{"event":"status","status":"error","reason":"Disconnected by"#), "\(last)")
                }
            }
            await sender.close()
        }
    }

    private struct Key: Decodable {
        var user: String
        var key: String
        var kind: String?
        var created: String?
        var expires: String?
        var rights: AccessRights?
        var lastSeen: String?
        var revoked: String?
        var file: String?
        var action: String?
    }

    @Test("B57 a list of keys says of each when it was made, until when it holds, what it may do, and of its use")
    func keyList() async throws {
        let folder = try TemporaryFolder()
        #expect(try await user(folder, "add", "alice", "--out", folder.path("first")).exitCode == 0)
        let new = ["network", "key", "new", "alice", "--out"]
        for (file, more) in [
            ("narrow", ["--expires", "30d", "--subscribe", "chat.>", "--kv", "none", "--letters", "no"]),
            ("both", ["--topics", "chat.>", "ops.a", "--kv", "read"]),
        ] {
            let made = try await run(folder, new + [folder.path(file)] + more)
            #expect(made.exitCode == 0, "\(made)")
        }
        let list = ["network", "key", "list", "alice"]
        let id = try #require(try await run(folder, list).lines.last?.split(separator: " ").first.map(String.init))
        #expect(try await run(folder, ["network", "key", "revoke", "alice", id]).exitCode == 0)

        let result = try await run(folder, list + ["--json"])
        let keys = try result.lines.map { try JSONDecoder().decode(Key.self, from: Data($0.utf8)) }
        try #require(keys.count == 3, "\(result)")
        #expect(keys.map(\.user) == ["alice", "alice", "alice"] && keys.map(\.kind) == ["file", "file", "file"])
        let narrow = AccessRights(publish: [], subscribe: ["chat.>"], keyValue: .none, letters: false)
        let topics = ["chat.>", "ops.a"]
        let both = AccessRights(publish: topics, subscribe: topics, keyValue: .read)
        #expect(keys.map(\.rights) == [AccessRights.all, narrow, both])
        #expect(keys[0].expires == nil && keys[2].expires == nil)
        // Each is read off the clock by itself.
        let made = try #require(keys[1].created.flatMap { Timestamp(iso8601: $0) })
        let end = try #require(keys[1].expires.flatMap { Timestamp(iso8601: $0) })
        #expect(abs(end.milliseconds - made.milliseconds - 30 * 86_400_000) < 300_000, "\(result)")
        #expect(keys.map { $0.revoked != nil } == [false, false, true] && keys[2].key == id)
        #expect(keys.allSatisfy { $0.lastSeen == nil }, "no server runs")

        let rows = try await run(folder, list).lines.map { line in
            line.split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        try #require(rows.count == 4, "\(rows)")
        #expect(rows[0] == ["KEY", "KIND", "MADE", "UNTIL", "RIGHTS", "LAST SEEN"])
        let ends = ["without end", keys[1].expires ?? "", "revoked \(keys[2].revoked ?? "")"]
        let rights = [">", "write nothing, read chat.>, no keys, no letters", "chat.> ops.a, read keys"]
        for (index, row) in rows.dropFirst().enumerated() {
            let key = keys[index]
            #expect(row == [key.key, "file", key.created ?? "", ends[index], rights[index], "-"])
        }
    }

    @Test("B57 keys are made, listed and revoked, and whoever uses one that is revoked is told")
    func keys() async throws {
        let folder = try TemporaryFolder()
        @Sendable func key(_ arguments: String...) async throws -> TestSupport.ChildProcess.Result {
            try await run(folder, ["network", "key"] + arguments)
        }
        @Sendable func keys(_ result: TestSupport.ChildProcess.Result) throws -> [Key] {
            try result.lines.map { try JSONDecoder().decode(Key.self, from: Data($0.utf8)) }
        }
        try await TestNetwork.run(server: NATSServerProcess.anyBinary.path, in: folder) { network in
            let (lost, kept) = (folder.path + "/lost.creds", folder.path + "/kept.creds")
            #expect(try await user(folder, "add", "alice", "--out", lost).exitCode == 0)
            let made = try keys(try await key("new", "alice", "--out", kept, "--expires", "30d", "--json"))
            #expect(made.map(\.file) == [kept] && made.map(\.user) == ["alice"], "\(made)")
            #expect(try await key("new", "alice", "--out", folder.path + "/none/x.creds").exitCode == 73)
            var listed = try keys(try await key("list", "alice", "--json"))
            #expect(listed.map(\.kind) == ["file", "file", "file"] && listed[1].key == made[0].key)
            #expect(listed.map { $0.revoked != nil } == [false, false, true], "whose file could not be written")
            let table = try await key("list", "alice").lines
            #expect(table.first?.hasPrefix("KEY       KIND  MADE") == true, "\(table)")
            #expect(table.dropFirst().map { $0.prefix(8) } == listed.map { $0.key.prefix(8) })

            let server = ["--server", network.description.url, "--creds"]
            let program = try TestSupport.ChildProcess(
                try BuiltProduct.url("parley").path, ["tail", "chat.room"] + server + [lost],
                environment: ["XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path + "/config"])
            defer { program.close() }
            try await eventually("the first key is seen") {
                listed = try keys(try await key("list", "alice", "--json"))
                return listed[0].lastSeen != nil
            }
            #expect(listed[1].lastSeen == nil)
            try await eventually("the first key is connected") {
                let rows = try await key("list", "alice").lines.dropFirst()
                return rows.first?.hasSuffix("  connected") == true && rows.dropFirst().first?.hasSuffix("  -") == true
            }
            let unknown = try await key("revoke", "alice", "0")
            #expect(unknown.exitCode == 65 && unknown.diagnostics.contains("parley network key list alice"))
            #expect(try await key("revoke", "alice").exitCode == 64)
            let id = listed[0].key
            let revoked = try await key("revoke", "alice", id, "--reason", "lost laptop")
            #expect(revoked.lines == ["\(id) of alice is revoked for ever"], "\(revoked)")
            let told = try await program.waitForExit()
            #expect(told.exitCode == 77 && told.diagnostics.contains("were revoked (lost laptop)"), "\(told)")
            #expect(try await run(folder, ["send", "a", "text", "--timeout", "60"] + server + [lost]).exitCode == 77)
            #expect(try await run(folder, ["send", "a", "text", "--timeout", "60"] + server + [kept]).exitCode == 0)
            #expect(try await key("revoke", "alice", id).lines == ["\(id) of alice was revoked already"])

            let own = ["send", "a", "text", "--timeout", "60", "--as", "alice"]
            #expect(try await run(folder, own).exitCode == 0)
            let all = try keys(try await key("revoke", "alice", "--all", "--json"))
            #expect(all.count == 2 && all.allSatisfy { $0.action == "revoked" }, "\(all)")
            #expect(try await run(folder, ["send", "a", "text", "--timeout", "60"] + server + [kept]).exitCode == 77)
            for _ in 0..<2 {
                let refused = try await run(folder, own)
                #expect(refused.exitCode == 77 && refused.diagnostics.contains("`parley network key new alice`"))
            }
            let none = try await key("revoke", "alice", "--all")
            #expect(none.exitCode == 0 && none.diagnostics.contains("no key that holds"))
            #expect(try await key("new", "alice").exitCode == 0)
            #expect(try await run(folder, own).exitCode == 0)
        }
    }
}
