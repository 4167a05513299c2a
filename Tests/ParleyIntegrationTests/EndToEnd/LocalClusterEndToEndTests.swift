import Foundation
import Platform
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A cluster on this machine", .realClusters)
    struct LocalClusters {
        @Test(
            "B57 B59 B60 It is started, used and invited to, a ban is told at each login; what is killed comes back, and after all of it was killed or stopped all is there",
            arguments: NATSServerProcess.binaries)
        func life(_ binary: NATSServerBinary) async throws {
            try await LocalClusterFixture.run(binary) { box in
                var texts: [String] = []
                func write(_ text: String) async throws {
                    texts.append(text)
                    let sent = try await box.parley(
                        "owner", "send", "chat.lobby", text, "--timeout", "60", "--profile", "cluster")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                func history() async throws -> [String] {
                    try await box.objects(
                        "owner", "history", "chat.lobby", "--start", "all", "--json", "--profile", "cluster"
                    ).map { $0["text"].string }
                }
                func start() async throws -> JSONLine {
                    let lines = try await box.objects(
                        "owner", "network", "cluster", "start", "--user", "alice", "--json")
                    return try #require(lines.first)
                }
                func waitForAll() async throws {
                    try await eventually("three whole servers", deadline: .seconds(60)) {
                        let status = try await box.objects("owner", "network", "cluster", "status", "--json")
                        return status.first?["whole"].bool == true
                    }
                }

                #expect(try await box.parley("owner", "network", "cluster", "status").output == "not running\n")
                let first = try await start()
                #expect(first["running"].bool == true && first["servers"].array.count == 3, "\(first)")
                let addresses = first["addresses"].array.map(\.string)
                #expect(addresses.count == 3 && addresses.allSatisfy { $0.hasPrefix("nats://127.0.0.1:") }, "\(first)")
                let again = try await box.parley("owner", "network", "cluster", "start", "--user", "alice")
                #expect(again.exitCode == 0 && again.diagnostics.contains("runs already"), "\(again)")
                try expectPrivate(box.network)
                try await write("begin")

                // Whoever started it administers it.
                let file = box.folder.path("bob.invitation")
                _ = try await box.objects(
                    "owner", "network", "invite", "bob", "--network", "cluster", "--out", file, "--json")
                _ = try await box.objects("bob", "join", file, "--profile", "theirs", "--json")
                let letter = try await box.parley(
                    "bob", "inbox", "post", "alice/personal", "a letter", "--profile", "theirs")
                #expect(letter.exitCode == 0, "\(letter)")
                let banned = try await box.parley(
                    "owner", "network", "user", "ban", "bob", "--network", "cluster", "--reason", "too much noise")
                #expect(banned.exitCode == 0, "\(banned)")
                for _ in 0..<2 {
                    let refused = try await box.parley(
                        "bob", "send", "chat.lobby", "no", "--timeout", "60", "--profile", "theirs")
                    #expect(refused.exitCode == 77, "\(refused)")
                    #expect(refused.diagnostics.contains("This user is banned (too much noise)."), "\(refused)")
                }
                let lifted = try await box.parley("owner", "network", "user", "unban", "bob", "--network", "cluster")
                #expect(lifted.exitCode == 0, "\(lifted)")
                let answer = try await box.parley(
                    "bob", "inbox", "post", "alice/personal", "back again", "--profile", "theirs")
                #expect(answer.exitCode == 0, "\(answer)")

                // A key with fewer rights does the same on each of the servers, and is revoked on all of them at once.
                let narrow = box.folder.path("narrow.creds")
                let key = try await box.objects(
                    "owner", "network", "key", "new", "alice", "--network", "cluster", "--out", narrow, "--subscribe",
                    "chat.>", "--kv", "none", "--letters", "no", "--json")
                let urls = try box.processes()["servers"].array.compactMap { $0["port"].int }.map {
                    "nats://127.0.0.1:\($0)"
                }
                #expect(urls.count == 3)
                func reads(at url: String) async throws -> ChildProcess.Result {
                    try await box.parley(
                        "owner", "history", "chat.lobby", "--start", "all", "--server", url, "--creds", narrow)
                }
                for url in urls {
                    let read = try await reads(at: url)
                    #expect(read.exitCode == 0 && read.output.contains("alice: begin"), "\(read)")
                    let refused = try await box.parley(
                        "owner", "send", "chat.lobby", "no", "--timeout", "60", "--server", url, "--creds", narrow)
                    #expect(refused.exitCode == 77, "\(refused)")
                    #expect(refused.diagnostics.contains("Not permitted: publishing to chat.lobby."), "\(refused)")
                }
                let id = try #require(key.first?["key"].string)
                let revoked = try await box.parley(
                    "owner", "network", "key", "revoke", "alice", id, "--network", "cluster")
                #expect(revoked.exitCode == 0, "\(revoked)")
                for url in urls { #expect(try await reads(at: url).exitCode == 77, "\(url)") }

                // One of the servers.
                let victim = try #require(box.serverIDs().first)
                kill(victim, SIGKILL)
                try await write("without one")
                try await waitForAll()
                #expect(try !box.serverIDs().contains(victim))

                // Who looks after them: nothing of it outlives that, and all begins again.
                let left = try box.serverIDs()
                kill(try box.hostID(), SIGKILL)
                try await eventually("the end of what the host has started") {
                    !left.contains(where: PrivateNetworkFixture.isRunning)
                }
                #expect(try await box.parley("owner", "network", "cluster", "status").output == "not running\n")
                #expect(try await start()["running"].bool == true)
                #expect(try await history() == texts)
                try await write("after the host")

                // All at once, as when the power fails.
                for process in try [box.hostID()] + box.serverIDs() { kill(process, SIGKILL) }
                _ = try await start()
                #expect(try await history() == texts)
                try await write("after all")

                let running = try [box.hostID()] + box.serverIDs()
                let stopped = try await box.parley("owner", "network", "cluster", "stop")
                #expect(stopped.exitCode == 0 && stopped.output == "stopped\n", "\(stopped)")
                #expect(!running.contains(where: PrivateNetworkFixture.isRunning))
                #expect(try await box.parley("owner", "network", "cluster", "stop").output == "not running\n")
                _ = try await start()
                #expect(try await history() == texts)
                let letters = try await box.objects("owner", "inbox", "list", "--all", "--json", "--profile", "cluster")
                // The first is the network's own, which bids welcome.
                let all = letters.flatMap { $0["items"].array.map { $0["message"].string } }
                #expect(all.count == 3 && all.suffix(2) == ["a letter", "back again"], "\(all)")
            }
        }

        @Test(
            "Stopping holds against whoever waits for the start, which the status tells of; a start without a name makes no user"
        )
        func stoppedEarly() async throws {
            try await LocalClusterFixture.run { box in
                async let starting = box.parley("owner", "network", "cluster", "start", "--user", "alice")
                try await eventually("the start, in the status", deadline: .seconds(60)) {
                    try await box.parley("owner", "network", "cluster", "status").output.hasPrefix("starting: ")
                }
                #expect(try await box.parley("owner", "network", "cluster", "stop").output == "stopped\n")
                let started = try await starting
                #expect(started.exitCode == 69 && started.diagnostics.contains("It was stopped"), "\(started)")
                #expect(try await box.parley("owner", "network", "cluster", "status").output == "not running\n")

                let first = try await box.parley("owner", "network", "cluster", "start", "--user", "alice")
                #expect(first.exitCode == 0, "\(first)")
                let again = try await box.parley("owner", "network", "cluster", "start")
                #expect(again.exitCode == 0, "\(again)")
                let users = try await box.objects("owner", "network", "user", "list", "--network", "cluster", "--json")
                #expect(users.map { $0["user"].string } == ["alice"], "\(users)")
            }
        }

        @Test("A cluster that was stopped on a full disk stores again when it is started with room")
        func roomMeanwhile() async throws {
            try await LocalClusterFixture.run { box in
                func start() async throws {
                    let started = try await box.parley("owner", "network", "cluster", "start", "--user", "alice")
                    #expect(started.exitCode == 0, "\(started)")
                }
                func isStored() async throws -> Bool {
                    try await box.parley(
                        "owner", "send", "chat.lobby", "is there room?", "--timeout", "10", "--profile", "cluster"
                    ).exitCode == 0
                }
                try await start()
                try await eventually("a message is stored") { try await isStored() }
                do {
                    let full = try NetworkDirectory(path: box.network).fillDisk()
                    try await eventually("the disk counts as full") { try await !isStored() }
                    let stopped = try await box.parley("owner", "network", "cluster", "stop")
                    #expect(stopped.exitCode == 0, "\(stopped)")
                    withExtendedLifetime(full) {}
                }
                try await start()
                try await eventually("there is room again") { try await isStored() }
            }
        }

        @Test("A profile of the same name that is for something else stays, and it is said how to do without")
        func otherProfile() async throws {
            try await LocalClusterFixture.run { box in
                let file = box.folder.path("parley.json5")
                let text = "{ profiles: { cluster: { servers: ['nats://127.0.0.1:1'] } } }\n"
                try TestOperatorCluster.write(text, to: file)
                let started = try await box.parley(
                    "owner", "network", "cluster", "start", "--user", "alice", "--config", file)
                #expect(started.exitCode == 73, "\(started)")
                #expect(started.diagnostics.contains("--creds \(box.network)/users/alice.creds"), "\(started)")
                #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
                // The cluster runs nevertheless.
                #expect(started.output.contains("3 of 3 servers answer"), "\(started)")
            }
        }

        @Test(
            "Where somebody else has taken a port meanwhile it takes another, and the profile follows, also to another user"
        )
        func takenPort() async throws {
            try await LocalClusterFixture.run { box in
                func start(_ user: String) async throws {
                    let started = try await box.parley("owner", "network", "cluster", "start", "--user", user, "--json")
                    #expect(started.exitCode == 0, "\(started)")
                    // Nobody could publish yet to a stream without one.
                    let streams = try JSONLine(started.output)["streams"].array
                    #expect(!streams.isEmpty && streams.allSatisfy { !$0["leader"].string.isEmpty }, "\(started)")
                }
                func send(_ text: String) async throws {
                    let sent = try await box.parley(
                        "owner", "send", "chat.lobby", text, "--timeout", "60", "--profile", "cluster")
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                try await start("alice")
                try await send("before")
                #expect(try await box.parley("owner", "network", "cluster", "stop").exitCode == 0)
                let other = try LoopbackSocket.listening()
                defer { other.close() }
                // As if the first server had had the port that is taken now.
                let port = try #require(box.processes()["servers"].array.first?["port"].int)
                let file = box.network + "/processes.json"
                let text = try String(contentsOfFile: file, encoding: .utf8)
                try TestOperatorCluster.write(
                    text.replacingOccurrences(of: "\"port\" : \(port)", with: "\"port\" : \(other.port)"), to: file)
                #expect(try box.processes()["servers"].array.first?["port"].int == other.port)
                try await start("bob")
                #expect(try box.processes()["servers"].array.allSatisfy { $0["port"].int != other.port })
                try await send("after")
                let lines = try await box.objects(
                    "owner", "history", "chat.lobby", "--start", "all", "--json", "--profile", "cluster")
                #expect(lines.map { $0["text"].string } == ["before", "after"])
                #expect(lines.map { $0["from"].string } == ["alice", "bob"])
            }
        }

        @Test("A network on other servers keeps its folder")
        func otherNetwork() async throws {
            try await LocalClusterFixture.run { box in
                try FileManager.default.createDirectory(atPath: box.network, withIntermediateDirectories: true)
                let file = box.network + "/cluster.json"
                let theirs = #"{"servers":["nats://127.0.0.1:1"],"placement":{"replicas":3,"tags":[]}}"#
                try TestOperatorCluster.write(theirs, to: file)
                let started = try await box.parley("owner", "network", "cluster", "start", "--user", "alice")
                #expect(
                    started.exitCode == 64 && started.diagnostics.contains("network on other servers"), "\(started)")
                #expect(try String(contentsOfFile: file, encoding: .utf8) == theirs)
            }
        }

        /// Nobody else can look into the folder, and read a file of it.
        private func expectPrivate(_ folder: String) throws {
            func mode(_ path: String) throws -> Int {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                return ((attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0o777) & 0o777
            }
            #expect(try mode(folder) == 0o700)
            for file in [
                "keys/operator.nk", "keys/administrator.creds", "services.json", "servers/1/server.conf",
                "processes.json", "users/alice.creds", "host.log",
            ] {
                #expect(try mode("\(folder)/\(file)") == 0o600, "\(file)")
            }
        }
    }
}
