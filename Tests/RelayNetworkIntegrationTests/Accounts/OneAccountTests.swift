import NATS
import NIOCore
import TestSupport
import Testing

@testable import RelayNetwork

/// The attacks of ``IsolationTests`` from inside the network's own account, by an alice with the permissions that every
/// user had while all shared it: they do their harm, so that what shows none over there shows something.
@Suite("Accounts: none", .realProcesses)
struct OneAccountTests {
    /// What the attacks are after.
    private enum Harm: CaseIterable {
        case register, session, secrets, letters

        /// Where an answer does it.
        func target(_ hash: String) -> String {
            switch self {
            case .register: "$KV.relay_postboxes.bob"
            case .session: "$KV.relay_sessions.bob"
            case .secrets: "\(hash).secret.x"
            case .letters: "$JS.API.STREAM.PURGE.PB_bob"
            }
        }

        func isDone(_ scene: IsolationScene, since before: Possessions) async throws -> Bool {
            let now = try await scene.possessions()
            switch self {
            case .letters: return now.letters < before.letters
            case .register: return now.register != before.register
            case .session: return now.session != before.session
            case .secrets: return now.secrets > before.secrets
            }
        }
    }

    /// The versions of a server that do a harm.
    private enum Versions {
        case all, before210, from210, none

        func contain(_ server: ServerInfo) -> Bool {
            switch self {
            case .all: true
            case .before210: !server.isAtLeast(2, 10)
            case .from210: server.isAtLeast(2, 10)
            case .none: false
            }
        }
    }

    /// Something that answers wherever it is asked to, and which servers' answers write and purge there: a newer server
    /// purges only where the request is empty or a request's JSON, and 2.9 sends a pull's status only where it is
    /// heard.
    private struct Answerer {
        var name: String
        var subject: String
        var body = ""
        var writes = Versions.all
        var purges: Versions

        static let all = [
            Answerer(
                name: "a direct get", subject: "$JS.API.DIRECT.GET.PB_alice",
                body: #"{"last_by_subj":"postbox.alice.personal.alice"}"#, purges: .all),
            Answerer(
                name: "the leader's get", subject: "$JS.API.STREAM.MSG.GET.PB_alice",
                body: #"{"last_by_subj":"postbox.alice.personal.alice"}"#, purges: .none),
            Answerer(
                name: "a pull", subject: "$JS.API.CONSUMER.MSG.NEXT.local_stream.none",
                body: #"{"batch":5,"no_wait":true}"#, writes: .from210, purges: .from210),
            Answerer(
                name: "a letter's acknowledgement", subject: "postbox.alice.personal.alice", body: "{}",
                purges: .before210),
            Answerer(name: "a service", subject: "service.any", purges: .before210),
        ]

        func harms(_ server: ServerInfo) -> [Harm] {
            (writes.contain(server) ? [.register, .session, .secrets] : []) + (purges.contain(server) ? [.letters] : [])
        }
    }

    private static func permissions(_ hash: String) -> Permissions {
        func reading(_ stream: String) -> [String] {
            [
                "STREAM.INFO.\(stream)", "STREAM.MSG.GET.\(stream)", "DIRECT.GET.\(stream)", "DIRECT.GET.\(stream).>",
                "CONSUMER.CREATE.\(stream)", "CONSUMER.CREATE.\(stream).>", "CONSUMER.MSG.NEXT.\(stream).>",
                "CONSUMER.INFO.\(stream).*", "CONSUMER.DELETE.\(stream).*", "STREAM.MSG.DELETE.\(stream)",
            ].map { "$JS.API.\($0)" } + ["$JS.ACK.\(stream).>"]
        }
        return Permissions(
            pub: SubjectRules(
                allow: reading("PB_alice") + [
                    "\(hash).chat.>", "postbox.alice.>", "relay.postbox.alice.*", "service.any",
                    "$JS.API.CONSUMER.MSG.NEXT.local_stream.*",
                ]),
            sub: SubjectRules(allow: ["_INBOX_alice.>", "relay.control.alice"]))
    }

    @Test("What comes to nothing between accounts does its harm inside one", arguments: TestServers.all)
    func answers(server: String) async throws {
        try await IsolationScene.run(server) { scene in
            let hash = scene.hash
            let alice = try await scene.network.connect(
                NetworkIdentity.open(in: scene.network.directory).issuer.issue(
                    name: "alice", permissions: Self.permissions(hash)))
            let network = JetStream.patient(scene.keeper)
            // A service of the network that has all rights and answers wherever it is asked to.
            let service = try scene.keeper.subscribe(to: "service.*")
            let answering = Task { [keeper = scene.keeper] in
                for try await request in service {
                    if let reply = request.reply { try keeper.publish(ByteBuffer(string: #"{"ok":true}"#), to: reply) }
                }
            }
            try await network.createConsumer(
                ConsumerConfiguration(name: "none", filter: "\(hash).chat.none", isDurable: true), in: "local_stream")
            _ = try await network.publish(ByteBuffer(string: "{}"), to: "postbox.alice.personal.alice")
            @Sendable func attack(_ answerer: Answerer, _ harm: Harm) async throws {
                for (subject, body) in [
                    ("postbox.bob.personal.carol", "{}"), ("$KV.relay_postboxes.bob", "bob's"),
                    ("$KV.relay_sessions.bob", "bob's"),
                ] {
                    _ = try await network.publish(ByteBuffer(string: body), to: subject)
                }
                let before = try await scene.possessions()
                try alice.publish(
                    ByteBuffer(string: answerer.body), to: answerer.subject, reply: harm.target(hash))
                try await eventually("\(answerer.name) does its harm: \(harm)") {
                    try await harm.isDone(scene, since: before)
                }
            }
            for answerer in Answerer.all {
                for harm in answerer.harms(scene.keeper.info) {
                    try await attack(answerer, harm)
                }
            }
            // What a push consumer reads goes where its maker says, to any listener there.
            let controls = try scene.keeper.subscribe(to: "relay.control.bob")
            try await scene.keeper.flush()
            let first = try #require(try await network.page(of: "PB_alice", from: .all, limit: 1).messages.first)
            let heard = TestSupport.Collected()
            let listening = Task { for try await message in controls { heard.add(message.text) } }
            // A server makes some such consumers as bound and drops them after five seconds without a message, about
            // one in a hundred on a busy machine, so an attacker tries again.
            for attempt in 1...10 where heard.all.isEmpty {
                let made = try await alice.request(
                    ByteBuffer(
                        string: """
                            {"stream_name":"PB_alice","config":{"name":"push\(attempt)",\
                            "deliver_subject":"relay.control.bob","deliver_policy":"all","ack_policy":"none",\
                            "mem_storage":true}}
                            """), to: "$JS.API.CONSUMER.CREATE.PB_alice.push\(attempt)")
                try #require(!made.text.contains("error"), "\(made.text)")
                try? await eventually("what the consumer reads", deadline: .seconds(6)) { !heard.all.isEmpty }
            }
            #expect(heard.all.first == String(buffer: first.payload))
            listening.cancel()
            answering.cancel()
            await alice.close()
        }
    }
}
