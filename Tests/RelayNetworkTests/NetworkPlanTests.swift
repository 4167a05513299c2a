import NATS
import Relay
import Testing

@testable import RelayNetwork

@Suite("Plan: what a network consists of, and what a server has of it")
struct NetworkPlanTests {
    private let plan = NetworkPlan(names: .init(namespace: "N", hash: "H"), settings: NetworkSettings())

    /// A server's description of a stream.
    private func description(_ config: MessageMap, messages: Int64 = 0, bytes: Int64 = 0) -> MessageValue {
        ["config": .map(config), "state": ["messages": .int(messages), "bytes": .int(bytes)]]
    }

    /// The stream of topics as a server has it that made it by the plan.
    private var topics: MessageMap {
        [
            "name": "N_stream", "subjects": ["H.>"], "max_msgs": -1, "max_bytes": 1_073_741_824,
            "max_msg_size": 1_048_576, "max_age": 0, "duplicate_window": 120_000_000_000, "num_replicas": 1,
            "discard": "old", "unknown": ["a": 1],
        ]
    }

    @Test("A network is one stream of topics and four buckets; its users have a stream each")
    func streams() throws {
        #expect(
            plan.streams.map(\.name) == [
                "N_stream", "KV_N", "KV_relay_postboxes", "KV_relay_sessions", "KV_relay_here",
            ])
        // JetStream hands what is pushed to literal subjects, so there are none.
        for stream in plan.streams {
            let subjects = stream.subjects ?? []
            let haveWildcards = subjects.allSatisfy { $0.contains("*") || $0.hasSuffix(">") }
            #expect(!subjects.isEmpty && haveWildcards, "\(stream.name)")
        }
        // With rollups the owner of one key could erase all others.
        #expect(plan.buckets.allSatisfy { $0.allowsRollup == false && $0.deniesDelete == true })
        let letters = try plan.letters(of: UserName("alice"), in: PostboxRegister(sudoId: "s", at: 1))
        #expect(letters.name == "PB_alice" && letters.subjects == ["postbox.alice.personal.*"])
        #expect(letters.discard == .new && letters.maximumMessages == 100_000)
        // Where nothing is said, a server of 2.15 allows a stream a thousand.
        #expect(plan.streams.allSatisfy { $0.maximumConsumers == 20_000 } && letters.maximumConsumers == 1_000)
    }

    @Test("A stream that is not there is missing; one that is as planned has no difference")
    func same() {
        let missing = StreamDifference(plan.topics, from: nil)
        #expect(missing.isMissing && missing.changes.isEmpty && missing.settings(losing: [.messages, .copies]) == nil)
        let same = StreamDifference(plan.topics, from: description(topics, messages: 7, bytes: 70))
        #expect(!same.isMissing && same.changes.isEmpty && same.settings(losing: []) == nil)
    }

    @Test("What an administrator changed by hand is shown, and mended without touching anything else")
    func mended() {
        var changed = topics
        changed["max_bytes"] = -1
        changed["subjects"] = ["H.>", "mine"]
        changed["discard"] = "new"
        let difference = StreamDifference(plan.topics, from: description(changed))
        #expect(
            difference.changes.map { "\($0)" } == [
                #"subjects ["H.>","mine"] → ["H.>"]"#, "max_bytes -1 → 1073741824",
            ])
        var expected = topics
        expected["discard"] = "new"
        #expect(difference.settings(losing: []) == expected)
    }

    @Test("Messages that are stored are lost only where that was allowed")
    func messages() throws {
        var changed = topics
        changed["max_bytes"] = -1
        let full = StreamDifference(plan.topics, from: description(changed, messages: 9, bytes: 2_000_000_000))
        #expect(full.changes.map(\.loss) == [.messages] && full.settings(losing: [.copies]) == nil)
        #expect(full.settings(losing: [.messages]) == topics)
        var settings = NetworkSettings()
        settings.topics.maximumAge = 60
        let young = NetworkPlan(names: plan.names, settings: settings).topics
        let shorter = StreamDifference(young, from: description(topics, messages: 1))
        // The window for repetitions follows the age, and so stays with it.
        #expect(shorter.changes.map(\.key) == ["max_age", "duplicate_window"])
        #expect(shorter.settings(losing: []) == nil)
        let made = try #require(shorter.settings(losing: [.messages]))
        #expect(made["max_age"] == 60_000_000_000 && made["duplicate_window"] == 60_000_000_000)
        // An empty stream has nothing to lose, and a longer life loses nothing.
        #expect(StreamDifference(young, from: description(topics)).made(losing: []).count == 2)
        var older = topics
        older["max_age"] = 30_000_000_000
        older["duplicate_window"] = 30_000_000_000
        let longer = StreamDifference(young, from: description(older, messages: 1))
        #expect(longer.made(losing: []).map(\.key) == ["max_age"])
    }

    @Test("Copies are added, and never taken away unasked")
    func copies() {
        var three = topics
        three["num_replicas"] = 3
        let fewer = StreamDifference(plan.topics, from: description(three))
        #expect(fewer.changes.map(\.loss) == [.copies] && fewer.settings(losing: [.messages]) == nil)
        #expect(fewer.settings(losing: [.copies]) == topics)
        var wanted = plan.topics
        wanted.replicas = 3
        #expect(StreamDifference(wanted, from: description(topics)).settings(losing: []) == three)
    }
}
