import NATS
import NIOConcurrencyHelpers
import NIOCore
import Relay
import TestSupport

@testable import RelayNetwork

/// What bob has, as the network's own account sees it.
struct Possessions: Equatable {
    var letters: UInt64
    var register: String?
    var session: String?
    var secrets: UInt64
    var controls: Int
    var consumers: Int
    var here: UInt64
}

/// Alice, granted chat.> or what a test says, and bob, granted all, with a letter, a session, a secret topic and an ear
/// for his control messages.
struct IsolationScene: Sendable {
    /// What alice is granted where that makes a difference: a part of the topics, or all of them, with which deliveries
    /// of consumers that push are imported too.
    static let grants = ["chat.>", ">"]

    let network: TestNetwork
    let keeper: NATSConnection
    let alice: NATSConnection
    let bob: NATSConnection
    /// What alice is granted.
    let grant: String
    /// What bob hears of the administrator, proved to come from there.
    let heard = TestSupport.Collected()
    var hash: String { network.description.hash }
    /// Whether alice may write to bob's secret topic herself.
    var grantsEverything: Bool { grant == ">" }

    static func run(
        _ server: String, grant: String = grants[0], _ body: @Sendable (IsolationScene) async throws -> Void
    ) async throws {
        try await TestNetwork.run(server: server) { network in
            let scene = IsolationScene(
                network: network, keeper: try await network.connectAsNetwork(),
                alice: try await network.connect(as: "alice", topics: [grant]),
                bob: try await network.connect(as: "bob"), grant: grant)
            for connection in [scene.alice, scene.bob] {
                _ = try await connection.ask(to: NamespaceService.subject)
            }
            _ = try await network.jetStream(scene.bob).publish(
                ByteBuffer(string: "secret"), to: "\(scene.hash).secret.x")
            // A letter that is a whole request to JetStream.
            _ = try await network.jetStream(scene.alice).publish(
                ByteBuffer(string: "{}"), to: "postbox.alice.personal")
            let sessions = try KeyValueBucket(SessionBucket.name, network.jetStream(scene.bob))
            try await sessions.create(ByteBuffer(string: "bob's"), for: "bob")
            let ear = try scene.bob.subscribe(to: "relay.control.bob")
            try await scene.bob.flush()
            let issuer = try NetworkIdentity.open(in: network.directory).signingKey.publicKey.text
            let listener = Task { [heard = scene.heard] in
                // A push consumer can deliver here until the host has deleted it. Clients take in what is signed alone.
                for try await message in ear {
                    let words = try? ControlMessage.verified(
                        message.bytes, for: "bob", trusting: [issuer], at: NetworkAdministrator.now)
                    if words != nil { heard.add(message.text) }
                }
            }
            try await body(scene)
            listener.cancel()
            for connection in [scene.alice, scene.bob, scene.keeper] { await connection.close() }
        }
    }

    /// Bob's secrets are not counted where alice may add to them.
    func possessions() async throws -> Possessions {
        let jetStream = JetStream.patient(keeper)
        let topics = try await jetStream.streamInfo("local_stream", subjectsFilter: "\(hash).secret.>")
        let secrets = topics.state.subjects?.values.reduce(0, +) ?? 0
        return Possessions(
            letters: try await jetStream.streamInfo("PB_bob").state.messages,
            register: await value(in: NetworkPlan.postboxes), session: await value(in: SessionBucket.name),
            secrets: grantsEverything ? 0 : secrets, controls: heard.all.count,
            consumers: try await jetStream.consumers(in: "PB_bob").count,
            here: try await jetStream.streamInfo(PresenceBucket.stream).state.messages)
    }

    /// Bob's value in a bucket, or why it cannot be read: an answer that was stored there may read as a refusal.
    private func value(in bucket: String) async -> String? {
        do {
            let entry = try await KeyValueBucket(bucket, JetStream.patient(keeper)).get("bob")
            return entry.map { String(buffer: $0.value) }
        } catch {
            return "\(error)"
        }
    }

    /// Returns when what alice has sent was worked on, whatever came of it.
    func settle() async throws {
        try await alice.flush()
        // While much of what she asked still waits, more is refused.
        try await eventually("the services have worked on what alice asked", deadline: .seconds(60)) {
            let names = try? await alice.request(ByteBuffer(), to: NamespaceService.subject)
            let list = try? await alice.request(ByteBuffer(), to: "relay.postbox.alice.list")
            return names != nil && list?.text.contains("personal") == true
        }
        try await keeper.flush()
        try await bob.flush()
    }

    /// Has bob read a letter without acknowledging it.
    /// - Returns: where its acknowledgement goes.
    func letterInBobsHands() async throws -> String {
        try await network.jetStream(bob).createConsumer(
            ConsumerConfiguration(name: "bobs", acknowledgement: .explicit, isDurable: true), in: "PB_bob")
        return try await pull(from: "bobs", in: "PB_bob", bob)
    }

    /// Whether bob still holds that letter, and it alone.
    func bobHoldsLetter() async throws -> Bool {
        let consumer = try await keeper.ask(to: "$JS.API.CONSUMER.INFO.PB_bob.bobs")
        return consumer.text.replacing(" ", with: "").contains(#""num_ack_pending":1,"#)
    }

    /// Takes one message from a consumer.
    /// - Returns: where its acknowledgement goes.
    func pull(from consumer: String, in stream: String, _ connection: NATSConnection) async throws -> String {
        let message = try await answer(
            #"{"batch":1,"expires":20000000000}"#, to: "net.API.CONSUMER.MSG.NEXT.\(stream).\(consumer)", connection)
        guard let place = message.reply, place.hasPrefix("$JS.ACK.\(stream).\(consumer).") else {
            throw TestFailure("\(consumer) gave no message: \(message.statusText ?? message.text)")
        }
        return place
    }

    /// Whether alice is given what she asks for when the answer comes to herself.
    func isGranted(_ body: String, to subject: String) async throws -> Bool {
        let answer = try await answer(body, to: subject, alice)
        return answer.status == nil && !answer.text.contains(#""error""#)
    }

    /// The first answer to a request. What a pull brings keeps its own subject, so that an inbox has to wait for it.
    private func answer(
        _ body: String, to subject: String, _ connection: NATSConnection
    ) async throws -> NATSMessage {
        let inbox = connection.newInbox()
        let answers = try connection.subscribe(to: inbox)
        defer { answers.unsubscribe() }
        let first = NIOLockedValueBox<NATSMessage?>(nil)
        let listener = Task {
            var iterator = answers.makeAsyncIterator()
            let message = try await iterator.next()
            first.withLockedValue { $0 = message }
        }
        defer { listener.cancel() }
        try connection.publish(ByteBuffer(string: body), to: subject, reply: inbox)
        try await eventually("an answer from \(subject)", deadline: .seconds(60)) {
            first.withLockedValue { $0 != nil }
        }
        guard let message = first.withLockedValue({ $0 }) else { throw TestFailure("no answer from \(subject)") }
        return message
    }

    /// Where answers would do harm.
    var targets: [String] {
        [
            "$JS.API.STREAM.PURGE.PB_bob", "net.API.STREAM.PURGE.PB_bob", "$JS.API.STREAM.DELETE.PB_bob",
            "$JS.API.STREAM.MSG.DELETE.PB_bob", "$KV.relay_postboxes.bob", "$KV.relay_sessions.bob",
            "\(hash).secret.x", "relay.control.bob", "postbox.bob.personal", "postbox.bob.personal.alice",
            "postbox.bob.personal.carol", "relay.postbox.bob.disable", "$KV.relay_here.bob.d.chat.x",
        ]
    }
}
