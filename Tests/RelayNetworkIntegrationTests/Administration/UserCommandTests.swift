import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// `parley network user` as a script meets it.
@Suite("Administrator: the commands", .realProcesses)
struct UserCommandTests {
    private struct Line: Decodable, Hashable {
        var user: String
        var action: String
    }

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

    @Test("A running network acts at once", arguments: TestServers.all)
    func online(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try await HeardClient("alice", on: network)
            let kicked = try await user(folder, "kick", "alice", "--reason", "tea time")
            #expect(kicked.exitCode == 0 && kicked.lines == ["kicked alice, 1 connection"], "\(kicked)")
            let why = try await client.message(for: "alice", on: network)
            #expect(why == ControlMessage(kind: .kicked, reason: "tea time"))
            await client.connection.close()
            let again = try await HeardClient("alice", on: network)
            let object = try await user(folder, "kick", "alice", "--json")
            #expect(object.lines == [#"{"user":"alice","action":"kick"}"#], "\(object)")
            #expect(try await again.message(for: "alice", on: network) == ControlMessage(kind: .kicked))
            await again.connection.close()
            let alice = try network.directory.credentials(for: "alice")
            #expect(try await user(folder, "ban", "alice").exitCode == 0)
            #expect(try await !network.admits(alice))
            #expect(try await user(folder, "unban", "alice").exitCode == 0)
            #expect(try await network.admits(alice))
        }
    }

    @Test("B17 tail and inbox watch end with the reason when their user is kicked", arguments: TestServers.all)
    func following(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            let sender = try network.client(as: "sender")
            try await sender.connect(timeLimit: 60)
            for (index, command) in [["tail", "chat.room"], ["inbox", "watch"]].enumerated() {
                let name = "user\(index)"
                let program = try TestSupport.ChildProcess(
                    try BuiltProduct.url("parley").path, ["--as", name] + command,
                    environment: ["XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path + "/config"])
                defer { program.close() }
                // Who is not there yet hears nothing, and is kept from coming by an act that is repeated.
                try await eventually("\(command) follows") {
                    try sender.enqueue(topic: "chat.room", message: "hello")
                    try sender.enqueueLetter(to: name, postbox: "personal", text: "hello")
                    return program.output.contains("hello") || program.exitStatus != nil
                }
                try await network.administrator.kick(user: name)
                let result = try await program.waitForExit()
                #expect(result.exitCode == 77, "\(result)")
                #expect(result.diagnostics.contains("Disconnected by"), "\(result)")
            }
            await sender.close()
        }
    }

    @Test("A user who is kept out learns it at once, before any network is started")
    func refusal() async throws {
        let folder = try TemporaryFolder()
        for (action, word) in [("ban", "banned"), ("deactivate", "deactivated")] {
            #expect(try await user(folder, "add", action).exitCode == 0)
            #expect(try await user(folder, action, action, "--reason", "spam").exitCode == 0)
            for arguments in [["send", "a", "text", "--as", action], ["network", "user", "add", action]] {
                let refused = try await run(folder, arguments)
                #expect(refused.exitCode == 77, "\(refused)")
                #expect(refused.diagnostics.contains("\(word): spam"), "\(refused)")
            }
        }
        #expect(try await !folder.network.status().running)
    }
}
