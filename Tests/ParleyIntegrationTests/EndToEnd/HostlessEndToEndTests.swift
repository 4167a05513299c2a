import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A network whose host is away")
    struct Hostless {
        @Test(
            "B51 Letters are listed, counted and come at once where no host tells the postboxes",
            arguments: NATSServerProcess.binaries)
        func letters(_ binary: NATSServerBinary) async throws {
            let network = try await PlainNetwork(binary)
            try await network.storeLetters(["letter 1", "letter 2"], to: "alice")

            let alice = try PseudoTerminal(
                try BuiltProduct.url("parley").path, ["chat", "chat.lobby", "--config", network.configuration],
                environment: network.environment)
            defer { alice.close() }
            try await alice.waitFor("both letters to be counted") { $0.contains("● CONNECTED") && $0.contains("✉ 2") }
            try alice.press(.f(3))
            try await alice.waitFor("both letters") { $0.contains("letter 1") && $0.contains("letter 2") }
            // Not before the subscription is there: what comes earlier would be in the next list alone.
            try await eventually("the letter that comes") {
                try await network.storeLetters(["letter 3"], to: "alice")
                return alice.screen.contains("letter 3")
            }
            try alice.press(.ctrl("q"))
            #expect(try await alice.waitForExit() == .exited(0))

            let list = try await network.parley(["inbox", "list", "--limit", "2", "--json"])
            #expect(list.exitCode == 0, "\(list)")
            let items = try JSONLine(list.output)["items"].array
            #expect(items.map { $0["message"].string } == ["letter 1", "letter 2"])
            #expect(items.map { $0["sudoId"].string } == ["alice", "alice"])

            let watch = try network.start(["inbox", "watch", "--count", "1", "--json"])
            defer { watch.close() }
            var status = ""
            while status != "connected" { status = try JSONLine(try await watch.nextLine())["status"].string }
            try await network.storeLetters(["letter 4"], to: "alice")
            #expect(try JSONLine(try await watch.nextLine())["message"].string == "letter 4")
            #expect(try await watch.waitForExit(deadline: .seconds(60)).exitCode == 0)

            let postboxes = try await network.parley(["postbox", "list"])
            #expect(postboxes.exitCode == 69 && postboxes.output.isEmpty, "\(postboxes)")
            #expect(postboxes.diagnostics.contains("no postbox service"), "\(postboxes)")
        }

        @Test("B51 Letters are followed on the same connection as soon as there is a postbox")
        func lateLetters() async throws {
            let network = try await PlainNetwork(NATSServerProcess.anyBinary)
            let alice = try PseudoTerminal(
                try BuiltProduct.url("parley").path, ["chat", "chat.lobby", "--config", network.configuration],
                environment: network.environment)
            defer { alice.close() }
            try await alice.waitFor("the connection") { $0.contains("● CONNECTED") }
            try alice.type("/log")
            try alice.press(.enter)
            try await alice.waitFor("the letters to be refused") { $0.contains("The postbox does not exist") }
            try await network.storeLetters(["letter 1"], to: "alice")
            try await alice.waitFor("the letter to be counted") { $0.contains("● CONNECTED") && $0.contains("✉ 1") }
            try alice.press(.ctrl("q"))
            #expect(try await alice.waitForExit() == .exited(0))
        }

        @Test("B51 A persona's letters are found by the postboxes kept here, and deleted by the network's word alone")
        func persona() async throws {
            let network = try await PlainNetwork(NATSServerProcess.anyBinary)
            try await network.storeLetters(["letter 1"], to: "alice")
            let unknown = try await network.parley(["inbox", "list", "--all", "--sudo-id", "the-seller", "--json"])
            #expect(unknown.exitCode == 69 && unknown.output.isEmpty, "\(unknown)")

            // The chat makes the file in which this machine keeps what the network has told.
            let alice = try PseudoTerminal(
                try BuiltProduct.url("parley").path, ["chat", "chat.lobby", "--config", network.configuration],
                environment: network.environment)
            defer { alice.close() }
            try await alice.waitFor("the letter to be counted") { $0.contains("● CONNECTED") && $0.contains("✉ 1") }
            try alice.press(.ctrl("q"))
            #expect(try await alice.waitForExit() == .exited(0))
            let told = Timestamp(milliseconds: 1_700_000_000_000)
            let postbox = Relay.Postbox(
                id: "personal", name: "personal", sudoId: "the-seller", isEnabled: true, createdAt: told)
            let status = try await network.parley(["store", "status", "--json"])
            let store = try LocalStore.open(try JSONLine(status.output)["path"].string)
            try await store.commit([.postboxesListed(KeptPostboxes(items: [postbox], asOf: told))])
            try await store.close()

            let list = try await network.parley(["inbox", "list", "--all", "--sudo-id", "the-seller", "--json"])
            #expect(list.exitCode == 0, "\(list)")
            #expect(list.diagnostics.contains("stored here, as of 2023-11-14T22:13:20"), "\(list)")
            let items = try JSONLine(list.output)["items"].array
            #expect(items.map { $0["message"].string } == ["letter 1"])
            #expect(items.map { $0["sudoId"].string } == ["the-seller"])
            let watch = try network.start(["inbox", "watch", "--sudo-id", "the-seller", "--count", "1", "--json"])
            defer { watch.close() }
            var event = ""
            while event != "connected" { event = try JSONLine(try await watch.nextLine())["status"].string }
            try await network.storeLetters(["letter 2"], to: "alice")
            let heard = try JSONLine(try await watch.nextLine())
            #expect(heard["message"].string == "letter 2" && heard["sudoId"].string == "the-seller")
            #expect(try await watch.waitForExit(deadline: .seconds(60)).exitCode == 0)

            for refused in [
                ["inbox", "list", "--sudo-id", "nobody"],
                ["inbox", "delete", "--all", "--yes", "--sudo-id", "the-seller"],
            ] {
                let result = try await network.parley(refused)
                #expect(result.exitCode == 69 && result.output.isEmpty, "\(result)")
                #expect(result.diagnostics.contains("no postbox service"), "\(result)")
            }
            let left = try await network.parley(["inbox", "list", "--all", "--json"])
            #expect(try JSONLine(left.output)["items"].array.count == 2, "\(left)")
        }
    }
}
