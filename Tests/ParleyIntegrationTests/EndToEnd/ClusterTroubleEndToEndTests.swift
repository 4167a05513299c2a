import Foundation
import NIOConcurrencyHelpers
import RelayFaults
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A network on a cluster in trouble", .realClusters)
    struct ClusterTroubles {
        /// A network of three servers, with Alice and Bob on it, and what was written there.
        private final class Scene: Sendable {
            let network: ClusterFixture
            private let written = NIOLockedValueBox<(lines: [String], letters: [String])>(([], []))

            init(_ network: ClusterFixture) { self.network = network }

            /// Provisions, serves and has both join.
            func begin() async throws {
                let made = try await network.provision("--replicas", "3")
                #expect(made.exitCode == 0, "\(made)")
                _ = try await network.serve("one")
                try await network.join("alice")
                try await network.join("bob")
                // Bob's first postbox is made when he first comes.
                try await eventually("Bob's postbox") {
                    try await self.network.parley("bob", "postbox", "list", "--profile", "team").exitCode == 0
                }
            }

            /// Alice writes lines, all of which are acknowledged.
            func write(_ count: Int, _ what: String, servers: [Int] = []) async throws {
                let new = (0..<count).map { "\(what) \($0)" }
                written.withLockedValue { $0.lines += new }
                let sent = try await network.parley(
                    "alice",
                    ["send", "chat.lobby", "--lines", "--timeout", "60", "--profile", "team"] + choice(servers),
                    input: new.map { $0 + "\n" }.joined())
                #expect(sent.exitCode == 0, "\(what): \(sent)")
            }

            /// Alice sends Bob a letter, as often as it takes, under one identifier.
            func letter(_ text: String, servers: [Int] = []) async throws {
                written.withLockedValue { $0.letters.append(text) }
                try await eventually("the letter \(text)", deadline: .seconds(90)) {
                    let sent = try await self.network.parley(
                        "alice",
                        ["inbox", "post", "bob/personal", text, "--id", text, "--profile", "team"]
                            + self.choice(servers))
                    return sent.exitCode == 0
                }
            }

            /// Tries to send a line where it cannot be stored.
            func tryToWrite(_ text: String, servers: [Int] = []) async throws -> ChildProcess.Result {
                try await network.parley(
                    "alice",
                    ["send", "chat.lobby", text, "--id", text, "--timeout", "4", "--profile", "team"]
                        + choice(servers))
            }

            /// Sends it again under the same identifier, which stores it once.
            func writeAgain(_ text: String) async throws {
                written.withLockedValue { $0.lines.append(text) }
                let sent = try await network.parley(
                    "alice",
                    ["send", "chat.lobby", text, "--id", text, "--timeout", "60", "--profile", "team"])
                #expect(sent.exitCode == 0, "\(sent)")
            }

            /// Everything is there, once and in order.
            func expectAll() async throws {
                let (lines, letters) = written.withLockedValue { $0 }
                let history = try await read("history", "chat.lobby", "--start", "all")
                #expect(history.map { $0["text"].string } == lines)
                let all = try await read("inbox", "list", "--all").flatMap {
                    $0["items"].array.map { $0["message"].string }
                }
                #expect(all.filter { $0.hasPrefix("letter") } == letters)
            }

            /// What Bob reads. While another server takes over, that it can be tried again is an answer too.
            private func read(_ words: String...) async throws -> [JSONLine] {
                var last: ChildProcess.Result?
                try await eventually("an answer to \(words)", deadline: .seconds(90)) {
                    let result = try await self.network.parley("bob", words + ["--json", "--profile", "team"])
                    #expect([0, 69, 75].contains(result.exitCode), "\(result)")
                    last = result
                    return result.exitCode == 0
                }
                return try (last?.lines ?? []).map { try JSONLine($0) }
            }

            /// Returns when every server has everything again.
            func waitForAll() async throws {
                _ = try await network.cluster.wholeStreams(atLeast: 8)
            }

            private func choice(_ servers: [Int]) -> [String] {
                servers.flatMap { ["--server", network.cluster.servers[$0].url] }
            }
        }

        @Test(
            "B30, B38: Servers of different versions carry one network, whichever of them ends",
            .enabled(if: NATSServerProcess.binaries.count > 1, "needs two versions"))
        func mixed() async throws {
            let (old, new) = (NATSServerProcess.binaries[0], NATSServerProcess.newestBinary)
            try await ClusterFixture.run([old, new, old]) { network in
                let scene = Scene(network)
                try await scene.begin()
                try await scene.write(10, "begin")
                try await scene.letter("letter-0")
                let put = try await network.parley("alice", "kv", "put", "notes.key", "value", "--profile", "team")
                #expect(put.exitCode == 0, "\(put)")
                for (index, server) in network.cluster.servers.enumerated() {
                    try await server.kill9()
                    try await scene.write(10, "without \(index)")
                    try await scene.letter("letter-without-\(index)")
                    try await server.restart()
                    try await scene.waitForAll()
                }
                try await scene.expectAll()
                let got = try await network.parley("bob", "kv", "get", "notes.key", "--profile", "team")
                #expect(got.exitCode == 0 && got.output == "\"value\"\n", "\(got)")
                #expect(try JSONLine(await network.provision().output)["unchanged"].bool == true)
            }
        }

        @Test(
            "B30, B38: What is cut off from the others stores nothing and says so, the others go on, and afterwards all is there once",
            arguments: NATSServerProcess.binaries)
        func cut(_ binary: NATSServerBinary) async throws {
            let links = RouteLinks()
            try await ClusterFixture.run([binary, binary, binary], link: links.link) { network in
                let scene = Scene(network)
                try await scene.begin()
                try await scene.write(10, "begin")
                try await scene.letter("letter-0")
                try await scene.waitForAll()

                // One of three, which may have led every stream.
                try await links.isolate(2)
                let alone = try await scene.tryToWrite("cut-off", servers: [2])
                #expect([69, 75].contains(alone.exitCode) && !alone.diagnostics.isEmpty, "\(alone)")
                try await scene.write(10, "by two", servers: [0, 1])
                try await scene.letter("letter-by-two", servers: [0, 1])
                try await eventually("a status that tells of it", deadline: .seconds(60)) {
                    let status = try await network.objects("admin", "network", "status", "--network", "team", "--json")
                    return status.first?["whole"].bool == false
                }
                try await links.join()
                try await scene.waitForAll()
                try await scene.writeAgain("cut-off")

                // Each by itself: nowhere is a majority.
                for index in 0..<3 { try await links.isolate(index) }
                let nowhere = try await scene.tryToWrite("nowhere")
                #expect([69, 75].contains(nowhere.exitCode) && !nowhere.diagnostics.isEmpty, "\(nowhere)")
                try await links.join()
                try await scene.waitForAll()
                try await scene.writeAgain("nowhere")
                try await scene.write(10, "end")
                try await scene.expectAll()
            }
            await links.close()
        }

        @Test(
            "B30, B38: A server whose disk is lost has everything again from the others, and then carries it",
            arguments: NATSServerProcess.binaries)
        func disk(_ binary: NATSServerBinary) async throws {
            try await ClusterFixture.run([binary, binary, binary]) { network in
                let scene = Scene(network)
                try await scene.begin()
                try await scene.write(20, "begin")
                try await scene.letter("letter-0")
                let servers = network.cluster.servers
                try await servers[0].stop()
                for folder in ["store", "accounts"] {
                    try FileManager.default.removeItem(atPath: servers[0].directory.path(folder))
                }
                try await scene.write(10, "meanwhile")
                try await servers[0].restart()
                try await scene.waitForAll()
                // What it has now is half of what is left, and whole.
                try await servers[1].kill9()
                try await scene.write(10, "after")
                try await scene.letter("letter-after")
                try await scene.expectAll()
                try await servers[1].restart()
                try await scene.waitForAll()
                try await scene.expectAll()
            }
        }

        @Test(
            "The status tells servers, leaders, copies, services and who is connected, and what it cannot reach",
            arguments: NATSServerProcess.binaries)
        func status(_ binary: NATSServerBinary) async throws {
            try await ClusterFixture.run([binary, binary, binary]) { network in
                let scene = Scene(network)
                try await scene.begin()
                try await scene.write(5, "begin")
                func status() async throws -> JSONLine {
                    let lines = try await network.objects(
                        "admin", "network", "status", "--network", "team", "--json")
                    return try #require(lines.first)
                }
                // Two people on different servers, one of them twice.
                let servers = network.cluster.servers
                for (name, index) in [("alice", 0), ("alice", 1), ("bob", 2)] {
                    let watch = try network.start(
                        name, "watch", "--json", "--profile", "team", "--server", servers[index].url)
                    try await watch.waitFor("a connection") { output, _ in output.contains("\"connected\"") }
                }
                try await scene.waitForAll()
                var now = try await status()
                // Whoever answers late is not in the report.
                try await eventually("both users, and all that answers") {
                    now = try await status()
                    return now["users"].int == 2 && now["clients"].int == 3 && now["whole"].bool == true
                        && now["services"].array.count == 1
                }
                #expect(now["servers"].array.map { $0["name"].string } == ["s1", "s2", "s3"])
                #expect(now["servers"].array.allSatisfy { ($0["connections"].int ?? 0) > 0 }, "\(now)")
                let topics = try #require(now["streams"].array.first)
                #expect(topics["name"].string == "team_stream" && topics["messages"].int == 5)
                #expect(topics["copies"].array.count == 2 && (topics["limit"].int ?? 0) > 0)
                #expect(now["postboxes"]["streams"].int == 2, "\(now)")
                try await eventually("the same in words") {
                    let text = try await network.parley("admin", "network", "status", "--network", "team")
                    return text.output.contains("team: 3 of 3 servers answer, 2 users connected by 3 connections")
                }

                // One that does not answer any more, though it is there.
                try await servers[2].pause()
                let stalled = try await network.parley("admin", "network", "status", "--network", "team")
                servers[2].resume()
                #expect(
                    stalled.exitCode == 0 && stalled.diagnostics.contains("\(servers[2].url) is not reached"),
                    "\(stalled)")
                #expect(stalled.output.contains("2 of 3 servers answer"), "\(stalled)")

                // One that is left alone leads nothing.
                try await servers[1].kill9()
                try await servers[2].kill9()
                try await eventually("no leader", deadline: .seconds(60)) {
                    let alone = try await network.parley("admin", "network", "status", "--network", "team", "--json")
                    let line = try JSONLine(alone.output)
                    return line["whole"].bool == false
                        && (line["streams"].isNull || line["streams"].array.allSatisfy { $0["leader"].isNull })
                }
                try await servers[0].kill9()
                let gone = try await network.parley("admin", "network", "status", "--network", "team")
                #expect(gone.exitCode == 69 && !gone.diagnostics.isEmpty, "\(gone)")
            }
        }
    }
}

/// The links between servers of a cluster, each of which can be cut.
private final class RouteLinks: Sendable {
    private struct Link {
        var ends: Set<Int>
        var proxy: FaultProxy
    }

    private let links = NIOLockedValueBox<[Link]>([])

    /// Puts a link between two servers.
    /// - Returns: the port by which the first reaches the second.
    @Sendable func link(from: Int, to: Int, port: Int) async throws -> Int {
        let proxy = try await FaultProxy.start(target: .init(host: "127.0.0.1", port: port), seed: 1)
        links.withLockedValue { $0.append(Link(ends: [from, to], proxy: proxy)) }
        return proxy.address.port
    }

    /// Cuts a server off from all others.
    func isolate(_ server: Int) async throws {
        for link in links.withLockedValue(\.self) where link.ends.contains(server) {
            try await link.proxy.set(.refuse)
            await link.proxy.cut()
        }
    }

    /// Mends all links.
    func join() async throws {
        for link in links.withLockedValue(\.self) { try await link.proxy.set(.passThrough) }
    }

    func close() async {
        for link in links.withLockedValue(\.self) { await link.proxy.close() }
    }
}
