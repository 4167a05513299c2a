import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// Messages of others under a user's identifiers and name.
@Suite("Network: whose a message is", .realProcesses)
struct MessageKeyNetworkTests {
    @Test(
        "B64 B65: another's message under an identifier suppresses none, and one under another's name is not theirs",
        arguments: TestServers.all)
    func others(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let administrator = NetworkAdministrator(directory: network.directory)
            let alice = try network.client()
            try await alice.connect(timeLimit: 60)
            // Another key of alice's, with fewer rights.
            var rights = RightsChange(topics: ["chat.>"])
            rights.keyValue = AccessRights.KeyValueAccess.none
            let narrow = try await administrator.makeKey(of: "alice", rights: rights)
            let device = try network.client(credentials: RelayCredentials(narrow.credentials))
            try await device.connect(timeLimit: 60)
            let carol = try await network.connect(as: "carol")
            let jetStream = network.jetStream(carol)
            // Her postbox is made with her first question.
            _ = try await carol.ask(to: "relay.postbox.carol.list")
            let hash = network.description.hash
            func forged(_ id: String, _ text: String) -> ByteBuffer {
                let line = ChatLine(username: "alice", text: text, timestamp: nil)
                return ByteBuffer(
                    bytes: Envelope(
                        clientID: "alice", id: id, room: "chat.ops", message: line.value,
                        start: Timestamp(milliseconds: 1_763_719_262_345)
                    ).encoded())
            }
            var events = try await alice.messages(topic: "chat.>", from: .new).makeAsyncIterator()
            #expect(try await events.next() == .live)

            // Before alice uses the identifier.
            _ = try await jetStream.publish(
                forged("deploy-x", "guessed"), to: "\(hash).chat.ops", messageID: "deploy-x")
            _ = try await jetStream.publish(
                ByteBuffer(string: "hers"), to: "postbox.carol.personal", messageID: "letter-x")
            let first = try await alice.enqueueLine(topic: "chat.ops", text: "hello", id: "deploy-x", mayBeStored: true)
                .receipt(within: .seconds(60))
            #expect(!first.isDuplicate)
            let letter = try await alice.post(
                to: "carol", postbox: "personal", text: "dear", id: "letter-x", timeout: .seconds(60))
            #expect(!letter.isDuplicate)

            // A second try, from another device of hers and with another key.
            let again = try await device.enqueueLine(topic: "chat.ops", text: "hello", id: "deploy-x")
                .receipt(within: .seconds(60))
            #expect(again.isDuplicate && again.sequence == first.sequence)
            let twice = try await device.post(
                to: "carol", postbox: "personal", text: "dear", id: "letter-x", timeout: .seconds(60))
            #expect(twice.isDuplicate && twice.sequence == letter.sequence)
            _ = try await device.enqueueLine(topic: "chat.ops", text: "from there").receipt(within: .seconds(60))

            // What alice has sent is on the stream for all to read.
            let stored = try await jetStream.message(in: "local_stream", sequence: first.sequence)
            let header = try #require(stored.headers["Nats-Msg-Id"])
            #expect(header != "deploy-x" && stored.subject == "\(hash).chat.ops")
            let copy = try await jetStream.publish(
                forged("deploy-x", "copied"), to: "\(hash).chat.other", messageID: header)
            #expect(copy.isDuplicate)
            _ = try await jetStream.publish(forged("deploy-x", "again"), to: "\(hash).chat.ops")

            var seen: [String] = []
            while seen.count < 4, let event = try await events.next() {
                if case .message(let message) = event { seen.append("\(message.text) \(message.isOwn)") }
            }
            #expect(seen == ["guessed false", "hello true", "from there true", "again false"])
            let history = try await alice.history(topic: "chat.>", start: Timestamp(milliseconds: 0))
            #expect(history.messages.map { "\($0.text) \($0.isOwn)" } == seen)
            for client in [alice, device] { await client.close() }
            await carol.close()
        }
    }
}
