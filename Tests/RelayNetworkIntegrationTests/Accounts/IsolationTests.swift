import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// What users cannot do to each other, tried on real servers.
@Suite("Accounts: isolation", .realProcesses)
struct IsolationTests {
    @Test(
        "An answer never goes where its asker may not publish", arguments: TestServers.all, IsolationScene.grants)
    func borrowedHands(server: String, grant: String) async throws {
        try await IsolationScene.run(server, grant: grant) { scene in
            let place = try await scene.letterInBobsHands()
            let before = try await scene.possessions()
            let (alice, hash) = (scene.alice, scene.hash)
            let own = scene.network.jetStream(alice)
            let targets = scene.targets + [place]
            // Each pull finds a message, and each deletion one to delete.
            let first = try await own.page(of: "PB_alice", from: .all, limit: 1).messages[0].sequence
            for _ in 0..<4 * (targets.count + 1) {
                _ = try await own.publish(ByteBuffer(string: "{}"), to: "postbox.alice.personal")
                _ = try await own.publish(ByteBuffer(string: "to be pulled"), to: "\(hash).chat.a")
            }
            try await own.createConsumer(ConsumerConfiguration(name: "pull", isDurable: true), in: "PB_alice")
            try await own.createConsumer(
                ConsumerConfiguration(name: "chat", filter: "\(hash).chat.>", isDurable: true), in: "local_stream")
            // Whatever answers: direct gets, the leader's get, a stream's acknowledgement, infos, both services, pulls,
            // and a letter. Under both prefixes.
            var deleted = first
            func asked() -> [(subject: String, body: String)] {
                var asked: [(subject: String, body: String)] = []
                let batch = #"{"batch":1,"no_wait":true}"#
                for (prefix, name) in [("net.API", "again"), ("$JS.API", "once-more")] {
                    deleted += 1
                    let consumer = #"{"stream_name":"PB_alice","config":{"name":"\#(name)","ack_policy":"none"}}"#
                    asked += [
                        ("\(prefix).DIRECT.GET.PB_alice", #"{"seq":\#(first)}"#),
                        ("\(prefix).DIRECT.GET.PB_alice", #"{"seq":1,"next_by_subj":">","batch":3}"#),
                        ("\(prefix).STREAM.MSG.GET.PB_alice", #"{"seq":\#(first)}"#),
                        ("\(prefix).STREAM.INFO.PB_alice", ""), ("\(prefix).INFO", ""),
                        ("\(prefix).CONSUMER.MSG.NEXT.PB_alice.pull", batch),
                        ("\(prefix).CONSUMER.MSG.NEXT.local_stream.chat", batch),
                        ("\(prefix).CONSUMER.INFO.PB_alice.pull", ""),
                        ("\(prefix).CONSUMER.CREATE.PB_alice.\(name)", consumer),
                        ("\(prefix).STREAM.MSG.DELETE.PB_alice", #"{"seq":\#(deleted)}"#),
                    ]
                }
                asked += [
                    ("postbox.alice.personal", "{}"), ("\(hash).chat.a", "x"), ("$KV.local.key", "x"),
                    ("accounts.user.get_namespace", "{}"), ("relay.postbox.alice.list", ""),
                    ("relay.recipient.bob.personal", ""), ("relay.postbox.alice.enable", #"{"name":"personal"}"#),
                ]
                return asked
            }
            // She is given all of it, so that nothing comes to nothing because it was refused.
            for (subject, body) in asked() {
                #expect(try await scene.isGranted(body, to: subject), "\(subject)")
            }
            for target in targets {
                for (subject, body) in asked() {
                    try alice.publish(ByteBuffer(string: body), to: subject, reply: target)
                }
                // Requests of one user that wait are few; more would be refused.
                _ = try await alice.request(ByteBuffer(), to: "relay.postbox.alice.list", timeout: .seconds(60))
            }
            try await scene.settle()
            #expect(try await scene.possessions() == before)
            #expect(try await scene.bobHoldsLetter())
        }
    }

    @Test("Acknowledgements reach no other user's consumers", arguments: TestServers.all)
    func acknowledgements(server: String) async throws {
        try await IsolationScene.run(server) { scene in
            let place = try await scene.letterInBobsHands()
            for body in ["+ACK", "+TERM", "-NAK", "+NXT"] {
                try scene.alice.publish(ByteBuffer(string: body), to: place)
            }
            try await scene.settle()
            #expect(try await scene.bobHoldsLetter())
        }
    }

    @Test(
        "The answer to an own acknowledgement goes nowhere else either", arguments: TestServers.all,
        IsolationScene.grants)
    func answeredAcknowledgements(server: String, grant: String) async throws {
        try await IsolationScene.run(server, grant: grant) { scene in
            let place = try await scene.letterInBobsHands()
            let before = try await scene.possessions()
            let (alice, hash) = (scene.alice, scene.hash)
            let own = scene.network.jetStream(alice)
            let targets = scene.targets + [place]
            // "+NXT" asks for a further message, and one is there each time.
            for _ in 0..<6 * targets.count {
                _ = try await own.publish(ByteBuffer(string: "{}"), to: "postbox.alice.personal")
                _ = try await own.publish(ByteBuffer(string: "{}"), to: "\(hash).chat.a")
            }
            for (stream, filter) in [("PB_alice", nil), ("local_stream", "\(hash).chat.>")] {
                try await own.createConsumer(
                    ConsumerConfiguration(name: "own", filter: filter, isDurable: true), in: stream)
                let answered = try await scene.pull(from: "own", in: stream, alice)
                #expect(try await scene.isGranted("+ACK", to: answered), "\(stream)")
                for target in targets {
                    for body in ["+ACK", "+NXT", #"+NXT {"batch":1,"no_wait":true}"#] {
                        let acknowledged = try await scene.pull(from: "own", in: stream, alice)
                        try alice.publish(ByteBuffer(string: body), to: acknowledged, reply: target)
                    }
                }
            }
            try await scene.settle()
            #expect(try await scene.possessions() == before)
            #expect(try await scene.bobHoldsLetter())
        }
    }

    @Test(
        "Push consumers to every kind of delivery subject change nothing of anybody's", arguments: TestServers.all,
        IsolationScene.grants)
    func pushConsumers(server: String, grant: String) async throws {
        try await IsolationScene.run(server, grant: grant) { scene in
            let client = try scene.network.client(as: "bob")
            try await client.connect(timeLimit: 60)
            let before = try await scene.possessions()
            let (alice, hash) = (scene.alice, scene.hash)
            let own = scene.network.jetStream(alice)
            _ = try await own.publish(ByteBuffer(string: #"{"name":"personal"}"#), to: "\(hash).chat.push")
            let stored = try await JetStream.patient(scene.keeper).streamInfo("local_stream").state.messages
            let kinds =
                scene.targets + [
                    "_R_.abc.def", "_INBOX_~keeping.x", "_INBOX_~answering.x", "relay.recipient.bob.personal",
                    "accounts.user.get_namespace", "\(hash).chat.push", "$KV.local.key", "$SYS.REQ.CLAIMS.UPDATE",
                    "$JS.ACK.PB_bob.x.1.1.1.1.0", "$JS.EVENT.ADVISORY.API", "$JS.API.CONSUMER.DELETE.PB_bob.x",
                    "postbox.alice.work",
                ]
            #expect(kinds.count >= 20)
            var made: Set<String> = []
            for (number, target) in kinds.enumerated() {
                for (policy, wait) in [("none", ""), ("explicit", #","ack_wait":1000000000"#)] {
                    for (stream, filter) in [("local_stream", "\(hash).chat.push"), ("PB_alice", nil)] {
                        let name = "push\(number)\(policy)"
                        let filtered = filter.map { #""filter_subject":"\#($0)","# } ?? ""
                        let body = """
                            {"stream_name":"\(stream)","config":{"name":"\(name)","deliver_subject":"\(target)",\
                            \(filtered)"deliver_policy":"all","ack_policy":"\(policy)"\(wait),"mem_storage":true}}
                            """
                        let end = filter.map { "." + $0 } ?? ""
                        let answer = try? await alice.request(
                            ByteBuffer(string: body), to: "net.API.CONSUMER.CREATE.\(stream).\(name)\(end)")
                        if answer?.text.replacing(" ", with: "").contains(#""deliver_subject":"\#(target)""#) == true {
                            made.insert(target)
                        }
                    }
                }
            }
            // The server refuses some by itself, such as those that a stream's own subjects take.
            let refused = kinds.filter { !made.contains($0) }
            #expect(refused.count < kinds.count / 2, "\(refused)")
            try await scene.settle()
            let after = try await scene.possessions()
            #expect(after == before)
            #expect(try await JetStream.patient(scene.keeper).streamInfo("local_stream").state.messages == stored)
            // The host has them deleted, too.
            try await eventually("no push consumer is left") {
                for stream in ["local_stream", "PB_alice"] {
                    let left = try await JetStream.patient(scene.keeper).consumers(in: stream)
                    if left.contains(where: { $0.deliverSubject != nil }) { return false }
                }
                return true
            }
            let later = try await scene.possessions()
            #expect(later == before)
            // What was pushed to where the administrator speaks is nobody's word.
            #expect(client.status.state == .connected)
            await client.close()
        }
    }

    @Test("Letters are pushed to no inbox, which others might hear", arguments: TestServers.all)
    func pushedLetters(server: String) async throws {
        try await IsolationScene.run(server) { scene in
            // Who is granted every topic hears what is pushed to any inbox.
            let carol = try await scene.network.connect(as: "carol")
            let ear = try carol.subscribe(to: "_INBOX.>")
            try await carol.flush()
            let inbox = try scene.bob.subscribe(to: "_INBOX.bobs")
            try await scene.bob.flush()
            let body = """
                {"stream_name":"PB_bob","config":{"name":"push","deliver_subject":"_INBOX.bobs",\
                "deliver_policy":"new","ack_policy":"none"}}
                """
            let made = try await scene.bob.ask(body, to: "net.API.CONSUMER.CREATE.PB_bob.push")
            #expect(made.text.contains(#""deliver_subject":"_INBOX.bobs""#), "\(made.text)")
            try await eventually("no push consumer is left") {
                let left = try await JetStream.patient(scene.keeper).consumers(in: "PB_bob")
                return left.allSatisfy { $0.deliverSubject == nil }
            }
            _ = try await scene.network.jetStream(scene.alice).publish(
                ByteBuffer(string: #"{"message":"for bob alone"}"#), to: "postbox.bob.personal")
            try await scene.settle()
            try await carol.flush()
            for subscription in [ear, inbox] {
                subscription.unsubscribe()
                var iterator = subscription.makeAsyncIterator()
                while let message = try? await iterator.next() {
                    #expect(!message.text.contains("for bob alone"), "\(message.subject)")
                }
            }
            await carol.close()
        }
    }

    @Test(
        "Alice's acts against bob, and her ears for what is his, come to nothing", arguments: TestServers.all,
        IsolationScene.grants)
    func actsAndEars(server: String, grant: String) async throws {
        try await IsolationScene.run(server, grant: grant) { scene in
            let before = try await scene.possessions()
            let (alice, hash) = (scene.alice, scene.hash)
            // She subscribes in her own account to all that she is let, and more.
            var ears: [NATSSubscription] = []
            for subject in [
                "_INBOX.>", "_INBOX_alice.>", "\(hash).chat.>", "relay.control.alice", "\(hash).secret.x",
                "relay.control.bob", "postbox.bob.personal.*", "_R_.>", ">",
            ] {
                ears.append(try alice.subscribe(to: subject))
            }
            try await alice.flush()
            var acts = [
                ("net.API.STREAM.PURGE.PB_bob", ""), ("net.API.STREAM.DELETE.PB_bob", ""),
                ("net.API.STREAM.MSG.DELETE.PB_bob", #"{"seq":1}"#), ("net.API.STREAM.MSG.GET.PB_bob", #"{"seq":1}"#),
                ("net.API.DIRECT.GET.PB_bob", #"{"seq":1}"#),
                ("net.API.CONSUMER.CREATE.PB_bob.x", #"{"stream_name":"PB_bob","config":{"name":"x"}}"#),
                ("relay.postbox.bob.disable", #"{"name":"personal"}"#),
                ("$KV.relay_sessions.bob", "mine"), ("$KV.relay_postboxes.bob", "{}"),
                ("postbox.bob.personal.bob", "as bob"), ("relay.control.bob", "{}"),
            ]
            if !scene.grantsEverything { acts.append(("\(hash).secret.x", "x")) }
            for (subject, body) in acts {
                let answer = try? await alice.request(
                    ByteBuffer(string: body), to: subject, timeout: .milliseconds(500))
                #expect(answer.map { $0.text.contains("\"error\"") } ?? true, "\(subject): \(answer?.text ?? "")")
            }
            // Bob lives on meanwhile.
            _ = try await scene.network.jetStream(scene.bob).publish(
                ByteBuffer(string: "bob's secret"), to: "\(hash).secret.x")
            _ = try await scene.bob.ask(to: "relay.postbox.bob.list")
            var after = before
            if !scene.grantsEverything { after.secrets += 1 }
            try await scene.settle()
            #expect(try await scene.possessions() == after)
            for ear in ears {
                ear.unsubscribe()
                var iterator = ear.makeAsyncIterator()
                while let message = try? await iterator.next() {
                    #expect(!message.text.contains("secret") && !message.text.contains("bob"), "\(message.subject)")
                }
            }
        }
    }

    @Test(
        "A letter's sender is whom the server saw, and a list of all keys cannot be erased by the owner of one",
        arguments: TestServers.all)
    func forgeries(server: String) async throws {
        try await IsolationScene.run(server) { scene in
            let forged = #"{"id":"f","createdAt":1,"from":"carol","message":"believe me"}"#
            _ = try await scene.network.jetStream(scene.alice).publish(
                ByteBuffer(string: forged), to: "postbox.bob.personal")
            let client = try scene.network.client(as: "bob")
            try await client.connect(timeLimit: 60)
            let letters = try await client.listMessages(limit: 10).items
            #expect(letters.map(\.from) == ["~parley", "alice"])
            #expect(letters.last?.message == "believe me")
            await client.close()

            let bucket = try KeyValueBucket("local", scene.network.jetStream(scene.bob))
            try await bucket.put(ByteBuffer(string: "kept"), for: "bobs")
            for (subject, connection) in [
                ("$KV.local.alices", scene.alice), ("$KV.relay_sessions.alice", scene.alice),
            ] {
                for rollup in ["all", "sub"] {
                    await #expect(throws: NATSError.self) {
                        try await scene.network.jetStream(connection).publish(
                            ByteBuffer(string: "x"), to: subject, headers: ["Nats-Rollup": rollup])
                    }
                }
            }
            #expect(try await bucket.get("bobs").map { String(buffer: $0.value) } == "kept")
            let sessions = try KeyValueBucket(SessionBucket.name, scene.network.jetStream(scene.bob))
            #expect(try await sessions.get("bob") != nil)
            // Deleting with the history still works.
            try await bucket.purge("bobs")
            #expect(try await bucket.get("bobs") == nil)
        }
    }

    @Test("The names of topics are unknown to whom they were not granted", arguments: TestServers.all)
    func topicNames(server: String) async throws {
        try await IsolationScene.run(server) { scene in
            for prefix in ["net.API", "$JS.API"] {
                for body in ["", #"{"subjects_filter":">"}"#] {
                    let answer = try? await scene.alice.request(
                        ByteBuffer(string: body), to: "\(prefix).STREAM.INFO.local_stream", timeout: .seconds(1))
                    #expect(answer?.text.contains("secret") != true)
                }
            }
            // Reading goes on without: from the beginning, the newest, and across a reconnection.
            let client = try scene.network.client(as: "alice")
            try await client.connect(timeLimit: 60)
            for number in 1...3 {
                _ = try await client.send(topic: "chat.a", message: .string("\(number)"), timeout: .seconds(60))
            }
            let newest = try await client.history(topic: "chat.a", before: nil, limit: 2)
            #expect(newest.map(\.text) == ["2", "3"] && !newest.isComplete)
            var events = try await client.messages(topic: "chat.a", from: .recent(2)).makeAsyncIterator()
            var seen: [String] = []
            while seen.count < 2, let event = try await events.next() {
                if case .message(let message) = event { seen.append(message.text) }
            }
            #expect(seen == ["2", "3"])
            await client.close()
        }
    }

    @Test("The longest names with the longest grants sign in and work", arguments: TestServers.all)
    func longNames(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let name = String(repeating: "n", count: 63) + "="
            let topics = (0..<40).map { "\(String(repeating: "t", count: 60))\($0).>" }
            _ = try await NetworkAdministrator(directory: network.directory).add(
                user: name, rights: RightsChange(topics: topics))
            let client = try network.client(as: name)
            try await client.connect(timeLimit: 60)
            let topic = topics[39].replacing(">", with: "x")
            #expect(
                try await client.send(topic: topic, message: .string("hi"), timeout: .seconds(60)).sequence == 1)
            #expect(try await client.history(topic: topic, start: Timestamp(milliseconds: 0)).map(\.text) == ["hi"])
            #expect(try await client.postboxes().map(\.name) == ["personal"])
            await client.close()
        }
    }
}
