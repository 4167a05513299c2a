import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("The key-value store")
    struct KeyValue {
        @Test(
            "B52: kv sets, compares, reads, lists and deletes keys as a script counts on",
            arguments: NATSServerProcess.binaries)
        func commands(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let put = try await network.objects("kv", "put", "room/1.color", "blue", "--as", "alice", "--json")
                #expect(put.count == 1)
                #expect(put[0].keys == ["key", "value", "revision"])
                #expect(put[0]["key"].string == "room/1.color" && put[0]["value"].string == "blue")
                #expect(put[0]["revision"].int == 1)
                let get = try await network.objects("kv", "get", "room/1.color", "--as", "bob", "--json")
                #expect(get[0].keys == ["key", "value", "revision"] && get[0]["revision"].int == 1)

                // JSON is JSON, unless it is to be text; null is a value.
                let null = try await network.parley("kv", "put", "null", "null", "--as", "alice")
                #expect(null.exitCode == 0 && null.output == "null  2\n", "\(null)")
                let piped = try await network.parley("kv", "put", "piped", "--as", "alice", input: "{\"a\": [1]}\n")
                #expect(piped.exitCode == 0, "\(piped)")
                let text = try await network.parley("kv", "put", "text", "7", "--text", "--as", "alice")
                #expect(text.exitCode == 0, "\(text)")
                for (key, json) in [("null", "null\n"), ("piped", "{\"a\":[1]}\n"), ("text", "\"7\"\n")] {
                    let result = try await network.parley("kv", "get", key, "--as", "bob")
                    #expect(result.exitCode == 0 && result.output == json, "\(result)")
                }

                let missing = try await network.parley("kv", "get", "nothing", "--as", "bob")
                #expect(missing.exitCode == 65 && missing.output.isEmpty, "\(missing)")
                #expect(missing.diagnostics.contains("nothing"), "\(missing)")
                let malformed = try await network.parley("kv", "put", "not a key", "1", "--as", "bob")
                #expect(malformed.exitCode == 65, "\(malformed)")

                let late = try await network.parley(
                    "kv", "put", "room/1.color", "red", "--revision", "0", "--as", "bob")
                #expect(late.exitCode == 65 && late.diagnostics.contains("revision 1"), "\(late)")
                let timely = try await network.objects(
                    "kv", "put", "room/1.color", "red", "--revision", "1", "--as", "bob", "--json")
                #expect(timely.first?["revision"].int == 5)

                let keys = try await network.parley("kv", "keys", "--as", "bob")
                #expect(keys.lines == ["null", "piped", "text", "room/1.color"], "\(keys)")
                let some = try await network.objects("kv", "keys", "room/1.*", "--as", "bob", "--json")
                #expect(some.count == 1 && some[0].keys == ["key", "value", "revision"])
                #expect(some[0]["value"].string == "red")

                let lateDelete = try await network.parley("kv", "delete", "text", "--revision", "1", "--as", "bob")
                #expect(lateDelete.exitCode == 65, "\(lateDelete)")
                let deleted = try await network.parley("kv", "delete", "text", "--as", "bob")
                #expect(deleted.exitCode == 0 && deleted.output.isEmpty, "\(deleted)")
                #expect(try await network.parley("kv", "get", "text", "--as", "bob").exitCode == 65)
            }
        }

        @Test("B52: kv watch prints what is there, then each change; a removed key has no value")
        func watch() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("kv", "put", "a.b", "1", "--as", "alice").status.isSuccess)
                let watching = try network.start("kv", "watch", "a.*", "--as", "bob", "--count", "3", "--json")
                #expect(try JSONLine(try await watching.nextLine())["value"].int == 1)
                #expect(try await network.parley("kv", "put", "a.b", "null", "--as", "alice").status.isSuccess)
                let null = try JSONLine(try await watching.nextLine())
                #expect(null.keys == ["key", "value", "revision"] && null["value"].isNull)
                #expect(try await network.parley("kv", "delete", "a.b", "--as", "alice").status.isSuccess)
                let removed = try JSONLine(try await watching.nextLine())
                #expect(removed.keys == ["key", "revision"] && removed["revision"].int == 3)
                #expect(removed["key"].string == "a.b")
            }
        }

        @Test("B52: kv history prints what is left of a key's past, and kv purge deletes it")
        func past() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("kv", "put", "a.b", "1", "--as", "alice").status.isSuccess)
                let past = try await network.objects("kv", "history", "a.b", "--as", "bob", "--json")
                #expect(past.count == 1 && past[0].keys == ["key", "value", "revision"])
                let purged = try await network.parley("kv", "purge", "a.b", "--as", "bob")
                #expect(purged.exitCode == 0 && purged.output.isEmpty, "\(purged)")
                let left = try await network.objects("kv", "history", "a.b", "--as", "alice", "--json")
                #expect(left.map(\.keys) == [["key", "revision"]])
                #expect(try await network.parley("kv", "get", "a.b", "--as", "alice").exitCode == 65)
            }
        }

        @Test(
            "B32 B52: a key that is set while the server is away, by a chat that is then killed, is set at its next start"
        )
        func waiting() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                let before = try #require(network.description)
                // A host that does not run cannot start the next server before the test has looked.
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                try await alice.waitFor("word of the outage") { $0.contains("↻ RECONNECTING") }
                try alice.type("/kv put room.color blue")
                try alice.press(.enter)
                try await alice.waitFor(text: "room.color waits")
                try await alice.waitFor(text: "⇅ 1")
                alice.signal(SIGKILL)
                #expect(try await alice.waitForExit() == .signalled(SIGKILL))
                kill(before.hostPid, SIGCONT)
                _ = try await network.connected("alice")
                try await eventually("the value") {
                    try await network.parley("kv", "get", "room.color", "--as", "bob").output == "\"blue\"\n"
                }
                let stored = try await network.objects("kv", "get", "room.color", "--as", "bob", "--json")
                #expect(stored.first?["revision"].int == 1)
            }
        }

        @Test("B56: /kv sets, reads, lists and deletes keys, one after the other, and answers each")
        func chat() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                for (command, answer) in [
                    ("/kv put room.color blue", "room.color is stored as revision 1."),
                    ("/kv get room.color", "room.color = \"blue\" (revision 1)"),
                    ("/kv keys", "1 key: room.color"),
                    ("/kv history room.color", "room.color: \"blue\" (revision 1)"),
                    ("/kv delete room.color", "room.color is deleted."),
                    ("/kv get room.color", "room.color has no value."),
                    ("/kv purge room.color", "room.color is deleted with its history."),
                    ("/kv watch room.*", "Watching room.*, 0 keys now."),
                ] {
                    try alice.type(command)
                    try alice.press(.enter)
                    try await alice.waitFor(text: answer)
                }
                #expect(try await network.parley("kv", "put", "room.size", "3", "--as", "bob").status.isSuccess)
                try await alice.waitFor(text: "room.size = 3 (revision 4)")
                try alice.type("/kv unwatch")
                try alice.press(.enter)
                try await alice.waitFor(text: "Keys are watched no more.")
                try alice.type("/kv get a..b")
                try alice.press(.enter)
                try await alice.waitFor(text: "A key has up to")
            }
        }

        @Test(
            "B59 A key or letter that the rights do not allow is refused at once, with the right that is missing",
            arguments: NATSServerProcess.binaries)
        func notPermitted(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                _ = try await network.started()
                for user in ["alice", "bob"] { _ = try await network.objects("network", "user", "add", user, "--json") }
                let token = try await network.parley(
                    "network", "token", "alice", "--publish", "chat.bot", "--kv", "read", "--letters", "no"
                ).lines[0]
                for (words, status, said) in [
                    (["kv", "put", "room.color", "blue"], 77, "Not permitted: storing a key."),
                    (["kv", "delete", "room.color"], 77, "Not permitted: deleting a key."),
                    (["kv", "get", "room.color"], 65, "does not exist"),
                    (["inbox", "post", "bob/personal", "hi"], 77, "Not permitted: sending letters"),
                    (["send", "chat.bot", "x"], 0, ""),
                    (["send", "chat.a", "x"], 77, "Not permitted: publishing to chat.a."),
                ] as [([String], Int32, String)] {
                    let result = try await network.run(words, environment: ["PARLEY_TOKEN": token])
                    let isSaid = said.isEmpty || result.diagnostics.contains(said)
                    #expect(result.exitCode == status && isSaid, "\(result)")
                }
                let alice = try network.terminal(["chat.bot"], environment: ["PARLEY_TOKEN": token], columns: 120)
                try await alice.waitFor("a connection") { $0.contains("● CONNECTED") }
                try alice.type("/kv put room.color blue")
                try alice.press(.enter)
                try await alice.waitFor(text: "room.color was not changed. Not permitted: changing the key room.color.")
            }
        }
    }
}
