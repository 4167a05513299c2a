import NATS
import NIOCore
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: permissions", .realProcesses)
struct PermissionTests {
    /// What alice may not publish to, whatever she hopes for.
    private func forbidden(hash: String) -> [String] {
        let own = [
            "net.API.STREAM.CREATE.PB_alice", "net.API.STREAM.UPDATE.PB_alice", "net.API.STREAM.DELETE.PB_alice",
        ]
        let bob = [
            "STREAM.INFO.PB_bob", "STREAM.MSG.GET.PB_bob", "DIRECT.GET.PB_bob",
            "DIRECT.GET.PB_bob.postbox.bob.personal",
            "STREAM.MSG.DELETE.PB_bob", "STREAM.PURGE.PB_bob", "STREAM.DELETE.PB_bob", "STREAM.UPDATE.PB_bob",
            "CONSUMER.CREATE.PB_bob", "CONSUMER.CREATE.PB_bob.c", "CONSUMER.CREATE.PB_bob.c.postbox.bob.personal",
            "CONSUMER.DURABLE.CREATE.PB_bob.c", "CONSUMER.MSG.NEXT.PB_bob.c", "CONSUMER.DELETE.PB_bob.c",
            "CONSUMER.INFO.PB_bob.c", "CONSUMER.NAMES.PB_bob", "STREAM.LIST",
        ]
        let shared = [
            "STREAM.INFO.local_stream", "STREAM.MSG.GET.local_stream", "DIRECT.GET.local_stream",
            "DIRECT.GET.local_stream.\(hash).secret.x",
            "CONSUMER.CREATE.local_stream", "CONSUMER.CREATE.local_stream.c",
            "CONSUMER.CREATE.local_stream.c.\(hash).secret.x", "CONSUMER.DURABLE.CREATE.local_stream.c",
            "STREAM.MSG.DELETE.local_stream", "STREAM.PURGE.local_stream", "STREAM.UPDATE.local_stream",
            "CONSUMER.NAMES.local_stream",
        ]
        let buckets = [
            "STREAM.INFO.KV_relay_postboxes", "DIRECT.GET.KV_relay_postboxes.$KV.relay_postboxes.bob",
            "STREAM.MSG.GET.KV_relay_sessions", "DIRECT.GET.KV_relay_sessions.$KV.relay_sessions.bob",
            "CONSUMER.CREATE.KV_relay_sessions.c.$KV.relay_sessions.bob", "STREAM.INFO.KV_relay_sessions",
            "STREAM.INFO.KV_relay_here", "STREAM.MSG.GET.KV_relay_here", "DIRECT.GET.KV_relay_here",
            "STREAM.PURGE.KV_relay_here", "CONSUMER.CREATE.KV_relay_here.c", "CONSUMER.NAMES.KV_relay_here",
            "CONSUMER.CREATE.KV_relay_here.c.$KV.relay_here.bob.d.secret.x",
            "STREAM.PURGE.KV_local", "STREAM.DELETE.KV_local", "STREAM.UPDATE.KV_local", "STREAM.MSG.DELETE.KV_local",
            "CONSUMER.LIST.KV_local",
        ]
        return own + (bob + shared + buckets).map { "net.API.\($0)" } + [
            "\(hash).secret.x", "relay.postbox.bob.list", "relay.streams.bob", "relay.control.bob", "_INBOX_bob.x",
            "_INBOX.x",
            "postbox.bob.personal.carol", "postbox.bob.personal.alice",
            "$KV.relay_sessions.bob", "$KV.relay_postboxes.alice", "$KV.relay_here.bob.d.chat.x",
            "$KV.relay_here.alice.d.secret.x", "postbox-none.bob", "$SYS.REQ.SERVER.PING",
            "$SYS.REQ.CLAIMS.LIST",
        ]
    }

    @Test("Alice cannot ask for what is Bob's or was not granted", arguments: TestServers.all)
    func publishing(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let bob = try await network.connect(as: "bob")
            _ = try await bob.request(ByteBuffer(), to: "relay.postbox.bob.list", timeout: .seconds(60))
            let alice = try await network.connect(as: "alice", topics: ["chat.>"])
            for subject in forbidden(hash: network.description.hash) {
                await #expect(throws: NATSError.publishNotPermitted(subject: subject), "\(subject)") {
                    _ = try await alice.request(ByteBuffer(), to: subject, timeout: .seconds(60))
                }
            }
            // Under the usual prefix there is no more to be had: what is answered at all is an error, and the last
            // question comes after all others.
            let inbox = alice.newInbox()
            let answers = try alice.subscribe(to: inbox)
            for subject in forbidden(hash: network.description.hash) where subject.hasPrefix("net.API.") {
                try alice.publish([], to: subject.replacing("net.API.", with: "$JS.API."), reply: inbox)
            }
            try await alice.flush()
            try alice.publish([], to: "$JS.API.INFO", reply: inbox)
            var iterator = answers.makeAsyncIterator()
            while let answer = try await iterator.next(), !answer.text.contains("account_info_response") {
                let isRefusal = answer.bytes.isEmpty || answer.text.contains("\"error\"")
                #expect(isRefusal, "\(answer.text)")
            }
            #expect(try await network.jetStream(bob).streamInfo("PB_bob").state.messages == 1)
            await alice.close()
            await bob.close()
        }
    }

    @Test("A refused expectation tells sequences and an identifier, as Accounts.md has it", arguments: TestServers.all)
    func probing(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let hash = network.description.hash
            let (bob, alice) = (
                try await network.connect(as: "bob"), try await network.connect(as: "alice", topics: ["chat.x"])
            )
            _ = try await bob.request(ByteBuffer(), to: "relay.postbox.bob.list", timeout: .seconds(60))
            let streams = [
                (own: "\(hash).chat.x", other: "\(hash).secret.x"),
                (own: "$KV.relay_here.alice.d.chat.x", other: "$KV.relay_here.bob.d.secret.x"),
                (own: "$KV.relay_sessions.alice", other: "$KV.relay_sessions.bob"),
            ]
            for (own, other) in streams {
                let place = try await network.jetStream(bob).publish(
                    ByteBuffer(string: "a secret"), to: other, headers: ["Nats-Msg-Id": "bob's"])
                func refusal(_ headers: NATSHeaders) async throws -> String {
                    let error = await #expect(throws: NATSError.self) {
                        try await network.jetStream(alice).publish(ByteBuffer(string: "x"), to: own, headers: headers)
                    }
                    guard case .jetStream(let failure) = error else { throw TestFailure("\(own): \(error as Any)") }
                    return failure.text
                }
                for (filter, last) in [(other, place.sequence), (other + ".none", 0)] {
                    let told = alice.info.isAtLeast(2, 11) ? last : 0
                    let text = try await refusal([
                        "Nats-Expected-Last-Subject-Sequence": "999",
                        "Nats-Expected-Last-Subject-Sequence-Subject": filter,
                    ])
                    #expect(text == "wrong last sequence: \(told)", "\(filter)")
                }
                let sequence = try await refusal(["Nats-Expected-Last-Sequence": "999"])
                #expect(sequence == "wrong last sequence: \(place.sequence)")
                #expect(try await refusal(["Nats-Expected-Last-Msg-Id": "x"]) == "wrong last msg ID: bob's")
            }
            for connection in [alice, bob] { await connection.close() }
        }
    }

    @Test("Alice cannot listen to what is Bob's or was not granted", arguments: TestServers.all)
    func subscribing(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "alice", topics: ["chat.>"])
            let hash = network.description.hash
            for subject in [
                ">", "*", "*.>", "_INBOX_bob.>", "_INBOX_bob.x", "_INBOX_*.>", "*.x", "postbox.>",
                "postbox.bob.personal", "postbox.alice.personal", "relay.>", "relay.control.bob", "relay.control.*",
                "relay.postbox.bob.list", "accounts.user.get_namespace", "$JS.>", "$JS.API.>", "$KV.>", "\(hash).>",
                "\(hash).secret.x", "\(hash).*.x", "$SYS.>",
            ] {
                let subscription = try alice.subscribe(to: subject)
                await #expect(throws: NATSError.subscribeNotPermitted(subject: subject), "\(subject)") {
                    for try await _ in subscription {}
                }
            }
            await alice.close()
        }
    }

    @Test("Alice can do what is hers: topics granted, postbox, key-value", arguments: TestServers.all)
    func granted(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let hash = network.description.hash
            let bob = try await network.connect(as: "bob")
            _ = try await bob.request(ByteBuffer(), to: "relay.postbox.bob.list", timeout: .seconds(60))
            for topic in ["chat.a", "secret.x", "chat.b.c"] {
                _ = try await network.jetStream(bob).publish(ByteBuffer(string: topic), to: "\(hash).\(topic)")
            }
            // With every topic granted, the stream can be read in every way.
            let whole = network.jetStream(bob)
            for filter in [nil, "\(hash).>"] {
                let page = try await whole.page(of: "local_stream", filter: filter, from: .all, limit: 9)
                #expect(page.messages.count == 3)
            }
            #expect(try await whole.message(in: "local_stream", sequence: 2).sequence == 2)
            let alice = try await network.connect(as: "alice", topics: ["chat.>"])
            let own = network.jetStream(alice)
            _ = try await own.accountInfo()
            let page = try await own.page(of: "local_stream", filter: "\(hash).chat.>", from: .all, limit: 10)
            #expect(page.messages.map { String(buffer: $0.payload) } == ["chat.a", "chat.b.c"])
            #expect(
                try await own.page(of: "local_stream", filter: "\(hash).chat.a", from: .all, limit: 9).messages.count
                    == 1)
            #expect(try await own.lastMessageDirect(in: "local_stream", subject: "\(hash).chat.a")?.sequence == 1)
            #expect(try await own.publish(ByteBuffer(string: "hi"), to: "\(hash).chat.a").sequence == 4)

            // A consumer made for a granted topic cannot be turned to another by the request's body.
            let body =
                #"{"stream_name":"local_stream","config":{"name":"c","ack_policy":"none","deliver_policy":"all","filter_subject":"\#(hash).secret.x"}}"#
            let reply = try await alice.ask(
                body, to: "net.API.CONSUMER.CREATE.local_stream.c.\(hash).chat.a")
            #expect(reply.text.contains("10131"))
            let wide =
                #"{"stream_name":"local_stream","config":{"name":"d","ack_policy":"none","deliver_policy":"all","filter_subjects":["\#(hash).>"]}}"#
            let refused = try await alice.ask(
                wide, to: "net.API.CONSUMER.CREATE.local_stream.d.\(hash).chat.a")
            #expect(refused.text.contains("\"error\""))

            _ = try await alice.request(ByteBuffer(), to: "relay.postbox.alice.list", timeout: .seconds(60))
            #expect(try await own.publish(ByteBuffer(string: "x"), to: "postbox.bob.personal").sequence == 2)
            #expect(try await own.publish(ByteBuffer(string: "y"), to: "postbox.alice.personal").sequence == 2)
            #expect(try await own.message(in: "PB_alice", sequence: 2).sequence == 2)
            try await own.deleteMessage(in: "PB_alice", sequence: 2)
            #expect(try await own.page(of: "PB_alice", from: .all, limit: 9).messages.count == 1)
            // As many answers as are asked for come through the import, where the server gives batches.
            for text in ["1", "2", "3"] {
                _ = try await own.publish(ByteBuffer(string: text), to: "postbox.alice.personal")
            }
            var direct = own
            direct.readsBatches = true
            let batch = try await direct.batch(of: "PB_alice", from: 1, limit: 9, bytes: 1 << 20)
            #expect(batch?.messages.count == (alice.info.isAtLeast(2, 11) ? 4 : nil))
            #expect(batch?.pending ?? 0 == 0)
            var letters = try own.orderedMessages(in: "PB_alice", filter: nil, from: .all).makeAsyncIterator()
            #expect(try await letters.next()?.sequence == 1)

            let bucket = try KeyValueBucket(network.description.namespace, own)
            try await bucket.put(ByteBuffer(string: "v"), for: "k/1")
            #expect(try await bucket.keys() == ["k/1"])
            try await bucket.purge("k/1")
            #expect(try await bucket.get("k/1") == nil)

            let control = try alice.subscribe(to: "relay.control.alice")
            try await alice.flush()
            control.unsubscribe()
            #expect(alice.isOpen)
            await alice.close()
            await bob.close()
        }
    }
}
