import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A network on a cluster", .realClusters)
    struct ClusterNetworks {
        @Test(
            "B58 Services, servers and every stream's leader are killed in turn: nothing is lost or doubled, what cannot go on says so",
            arguments: NATSServerProcess.binaries)
        func killed(_ binary: NATSServerBinary) async throws {
            try await ClusterFixture.run([binary, binary, binary]) { network in
                let first = try await network.provision("--replicas", "3")
                #expect(first.exitCode == 0, "\(first)")
                let again = try await network.provision()
                #expect(try again.exitCode == 0 && JSONLine(again.output)["unchanged"].bool == true, "\(again)")
                let one = try await network.serve("one")
                let two = try await network.serve("two")
                try await network.join("alice")
                try await network.join("bob")

                let bob = try network.start("bob", "tail", "chat.lobby", "--json", "--profile", "team")
                var texts: [String] = []
                var letters: [String] = []
                func write(_ count: Int, _ what: String) async throws {
                    let new = (0..<count).map { "\(what) \($0)" }
                    texts += new
                    let sent = try await network.cluster.tended {
                        try await network.parley(
                            "alice", "send", "chat.lobby", "--lines", "--timeout", "60", "--profile", "team",
                            input: new.map { $0 + "\n" }.joined())
                    }
                    #expect(sent.exitCode == 0, "\(sent)")
                }
                func letter(_ text: String) async throws {
                    letters.append(text)
                    try await eventually("the letter \(text)", deadline: .seconds(90)) {
                        let sent = try await network.parley(
                            "alice", "inbox", "post", "bob/personal", text, "--id", text, "--profile", "team")
                        // While a stream has no leader the command may say so, and how to go on.
                        #expect(sent.exitCode == 0 || sent.diagnostics.contains("with the same --id"), "\(sent)")
                        return sent.exitCode == 0
                    }
                }
                func makesPostbox(_ name: String) async throws {
                    try await eventually("the postbox \(name)", deadline: .seconds(60)) {
                        let made = try await network.parley("bob", "postbox", "create", name, "--profile", "team")
                        return made.exitCode == 0 || made.diagnostics.contains("already")
                    }
                }
                // Bob's first postbox is made when he first comes.
                try await makesPostbox("work")
                try await write(20, "begin")
                try await letter("letter-1")

                // One of the services.
                one.process.signal(SIGKILL)
                try await one.process.waitForExit()
                try await makesPostbox("after-one")
                try await letter("letter-2")

                // A server, and then the leader of each stream.
                var killed = 0
                func kill(_ name: String) async throws {
                    killed += 1
                    let server = try #require(
                        network.cluster.servers.enumerated().first { "s\($0.offset + 1)" == name })
                    try await server.element.kill9()
                    try await write(20, "without \(name), \(killed)")
                    try await letter("letter-without-\(killed)")
                    try await server.element.restart()
                    _ = try await network.cluster.wholeStreams(atLeast: 8)
                }
                try await kill("s1")
                // Those whose leader was not killed yet.
                var left = try await network.cluster.wholeStreams(atLeast: 8)
                while !left.isEmpty {
                    let leaders = try await network.leaders(of: left)
                    let counts = Dictionary(grouping: leaders.values) { $0 }.mapValues(\.count)
                    let victim = try #require(counts.max { $0.value < $1.value }?.key)
                    left.subtract(leaders.filter { $0.value == victim }.keys)
                    try await kill(victim)
                }
                try await makesPostbox("after-servers")
                #expect(try await network.http(two.port, "/ready") == 200)

                // All of the services: what needs none of them goes on, and what does says so.
                two.process.signal(SIGKILL)
                try await two.process.waitForExit()
                try await write(20, "without services")
                try await letter("letter-without-services")
                let refused = try await network.parley("bob", "postbox", "create", "later", "--profile", "team")
                // Servers before 2.10 do not say that nobody answers.
                let words = [69: "no postbox service answers", 75: "the postbox service was not answered in time"]
                let code = try #require(refused.exitCode.map { Int($0) })
                #expect(words[code].map { refused.diagnostics.contains($0) } == true, "\(refused)")
                // Also for somebody who comes only now.
                let history = try await network.objects(
                    "bob", "history", "chat.lobby", "--start", "all", "--json", "--profile", "team")
                #expect(history.map { $0["text"].string } == texts)
                // They come back by themselves, and whoever waited need do nothing.
                let three = try await network.serve("three")
                try await makesPostbox("later")
                try await write(5, "end")

                var heard: [String] = []
                while heard.count < texts.count {
                    let line = try JSONLine(try await bob.nextLine())
                    if line.keys.contains("text") { heard.append(line["text"].string) }
                }
                #expect(heard == texts)
                let all = try await network.objects(
                    "bob", "inbox", "list", "--all", "--json", "--profile", "team"
                ).flatMap { $0["items"].array.map { $0["message"].string } }
                #expect(all.filter { $0.hasPrefix("letter") } == letters)
                let figures = try await network.said(at: "/metrics", three.port).body
                #expect(figures.contains("parley_requests_total{network=\"team\""), "\(figures)")

                // The administrator's own process hands out tokens to an app's server.
                let secret = String(repeating: "s", count: 32)
                try TestOperatorCluster.write(secret + "\n", to: network.folder.path("secret"))
                let open = try await network.parley("admin", "network", "serve", "team", "--http", "0.0.0.0:0")
                #expect(open.exitCode == 64 && open.diagnostics.contains("--tls-cert"), "\(open)")
                let door = try network.start(
                    "admin", "network", "serve", "team", "--http", "127.0.0.1:0", "--http-secret",
                    network.folder.path("secret"))
                let port = try await network.port(of: door)
                let order = #"{"user":"carol","lifetime":600}"#
                #expect(try await network.said(at: "/tokens", port, method: "POST", body: order).status == 401)
                let answer = try await network.said(
                    at: "/tokens", port, method: "POST", headers: ["Authorization: Bearer \(secret)"], body: order)
                let token = try JSONLine(answer.body)
                #expect(answer.status == 201 && token["user"].string == "carol", "\(answer)")
                let url = network.cluster.servers[0].url
                func send() async throws -> ChildProcess.Result {
                    try await ChildProcess.run(
                        try BuiltProduct.url("parley").path,
                        ["send", "chat.lobby", "by a token", "--timeout", "60", "--server", url],
                        environment: network.machine("carol").merging(["PARLEY_TOKEN": token["token"].string]) { $1 })
                }
                let sent = try await send()
                #expect(sent.exitCode == 0, "\(sent)")
                // Another one has the secret from its environment.
                let other = try network.start(
                    "admin", "network", "serve", "team", "--http", "127.0.0.1:0",
                    environment: ["PARLEY_HTTP_SECRET": secret])
                let otherPort = try await network.port(of: other)
                let place = "/tokens/" + token["key"].string
                #expect(try await network.said(at: place, otherPort, method: "DELETE").status == 401)
                let ended = try await network.said(
                    at: place, otherPort, method: "DELETE", headers: ["Authorization: Bearer \(secret)"])
                #expect(ended.status == 200, "\(ended)")
                #expect(try await send().exitCode == 77)
                for process in [door, other] {
                    process.signal(SIGTERM)
                    try await process.waitForExit()
                }

                three.process.signal(SIGTERM)
                #expect(try await three.process.waitForExit().exitCode == 0)
                #expect(try JSONLine(await network.provision().output)["unchanged"].bool == true)
            }
        }
    }
}
