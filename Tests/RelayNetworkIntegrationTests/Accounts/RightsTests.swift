import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// Each right of a key, and attempts to get around it, also by what a reply does.
@Suite("Rights of keys: no way around them", .realProcesses)
struct KeyRightsTests {
    private func key(
        _ network: TestNetwork, _ body: (inout RightsChange) -> Void
    ) async throws -> Credentials {
        var rights = RightsChange()
        body(&rights)
        return try await network.administrator.makeKey(of: "alice", rights: rights).credentials
    }

    /// Whether a request is answered with anything but a refusal.
    private func isAnswered(
        _ connection: NATSConnection, _ subject: String, _ body: String = "{}",
        within limit: Duration = .milliseconds(700)
    ) async -> Bool {
        do throws(NATSError) {
            let reply = try await connection.request(
                ByteBuffer(string: body), to: subject, timeout: limit)
            return reply.status != 503 && !String(decoding: reply.bytes, as: UTF8.self).contains("\"error\"")
        } catch {
            return false
        }
    }

    @Test("B59 a key does what it was given and nothing else, by reply subjects neither", arguments: TestServers.all)
    func walls(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            _ = try await network.administrator.add(user: "alice")
            let bob = try network.client(as: "bob")
            try await bob.connect(timeLimit: 60)
            let names = try NetworkIdentity.open(in: network.directory).names
            let (stream, bucket) = (NetworkNames.topicStream(of: names.namespace), "KV_\(names.namespace)")
            let api = UserPermissions.apiPrefix
            let owner = try await network.connectAsNetwork()
            let all = JetStream.patient(owner)
            func stored(_ stream: String) async throws -> UInt64 { try await all.streamInfo(stream).state.lastSequence }

            // Alice's own client makes her postbox, and a key and a letter that are there to be read.
            let alice = try network.client()
            try await alice.connect(timeLimit: 60)
            _ = try await alice.send(topic: "chat.room", message: "secret", timeout: .seconds(60))
            _ = try await alice.put(key: "color", value: "red")
            _ = try await bob.post(to: "alice", postbox: "personal", text: "for you", timeout: .seconds(60))
            let before = (
                try await stored(stream), try await stored(bucket), try await stored("PB_alice"),
                try await stored("PB_bob")
            )

            // Reads topics alone.
            let reader = try await network.connect(
                key(network) {
                    ($0.subscribe, $0.keyValue, $0.letters) = (["chat.>"], AccessRights.KeyValueAccess.none, false)
                })
            let targets = [
                "\(names.hash).chat.room", "$KV.\(names.namespace).color", "postbox.bob.personal",
                "postbox.bob.personal.alice", "$KV.\(SessionBucket.name).alice",
            ]
            for target in targets { _ = try? reader.publish(ByteBuffer(string: "attack"), to: target) }
            for target in targets {
                // The server's answer to each of these, written where the asker may not write.
                for question in [
                    "\(api).INFO", NetworkNames.namespace,
                    "\(api).CONSUMER.CREATE.\(stream).x.\(names.hash).chat.room",
                ] {
                    _ = try? reader.publish(ByteBuffer(string: "{}"), to: question, reply: target)
                }
                let push =
                    #"{"stream_name":"\#(stream)","config":{"name":"p","deliver_subject":"\#(target)","filter_subject":"\#(names.hash).chat.room","ack_policy":"none"}}"#
                _ = await isAnswered(reader, "\(api).CONSUMER.CREATE.\(stream).p.\(names.hash).chat.room", push)
            }
            for question in [
                "\(api).STREAM.INFO.PB_alice", "\(api).STREAM.MSG.GET.PB_alice", "\(api).DIRECT.GET.PB_alice",
                "\(api).STREAM.INFO.\(bucket)", "\(api).DIRECT.GET.\(bucket).$KV.\(names.namespace).color",
                "\(api).CONSUMER.CREATE.\(stream).y.\(names.hash).ops.x", NetworkNames.postboxes(of: "alice", "list"),
            ] {
                #expect(await !isAnswered(reader, question, #"{"seq":1}"#), "\(question)")
            }
            try await reader.flush()
            let page = try await network.jetStream(reader).page(
                of: stream, filter: "\(names.hash).chat.>", from: .all, limit: 10)
            #expect(page.messages.count == 1, "what it may, it does")

            // Writes to one topic alone.
            let writer = try await network.connect(
                key(network) {
                    ($0.publish, $0.keyValue, $0.letters) = (["chat.bot"], AccessRights.KeyValueAccess.none, false)
                })
            for question in [
                "\(api).STREAM.INFO.\(stream)", "\(api).STREAM.MSG.GET.\(stream)", "\(api).DIRECT.GET.\(stream)",
                "\(api).DIRECT.GET.\(stream).\(names.hash).chat.room",
                "\(api).CONSUMER.CREATE.\(stream).z.\(names.hash).chat.room", "\(api).CONSUMER.CREATE.\(stream)",
                "\(names.hash).chat.room",
            ] {
                #expect(await !isAnswered(writer, question, #"{"seq":1}"#), "\(question)")
            }
            _ = try? writer.publish(
                ByteBuffer(string: "bot"), to: "\(names.hash).chat.bot", reply: "\(names.hash).chat.room")
            try await writer.flush()
            try await eventually("its message is stored") { try await stored(stream) == before.0 + 1 }

            // Reads keys and writes none.
            let keys = try await network.connect(
                key(network) { ($0.subscribe, $0.publish, $0.keyValue, $0.letters) = ([], [], .read, false) })
            #expect(await isAnswered(keys, "\(api).STREAM.INFO.\(bucket)", within: .seconds(60)))
            #expect(await !isAnswered(keys, "$KV.\(names.namespace).color", "blue"))
            _ = try? keys.publish(
                ByteBuffer(string: "{}"), to: "\(api).STREAM.INFO.\(bucket)", reply: "$KV.\(names.namespace).color")
            try await keys.flush()

            #expect(try await stored(stream) == before.0 + 1)
            #expect(try await stored(bucket) == before.1)
            #expect(try await stored("PB_alice") == before.2)
            #expect(try await stored("PB_bob") == before.3)
            #expect(try await alice.get(key: "color")?.value == "red")
            for connection in [reader, writer, keys, owner] { await connection.close() }
            await alice.close()
            await bob.close()
        }
    }

    @Test(
        "B59 a client knows its rights beforehand, and what it is refused; acts on its user reach it",
        arguments: TestServers.all)
    func client(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            _ = try await network.administrator.add(user: "alice")
            let credentials = try await key(network) { ($0.subscribe, $0.keyValue) = (["chat.>"], .read) }
            let client = try network.client(credentials: RelayCredentials(credentials))
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            #expect(client.user == "alice")
            #expect(await client.accessRights == AccessRights(publish: [], subscribe: ["chat.>"], keyValue: .read))
            await #expect(throws: RelayError.notAuthorized("publishing to chat.room")) {
                try await client.send(topic: "chat.room", message: "no", timeout: .seconds(60))
            }
            await #expect(throws: RelayError.notAuthorized("storing a key")) {
                try await client.put(key: "color", value: "blue")
            }
            #expect(try await client.get(key: "color") == nil)
            // What a right is missing for is named, and not the subject on which the server was asked.
            await #expect(throws: RelayError.notAuthorized("reading ops.x")) {
                try await client.history(topic: "ops.x", start: Timestamp(milliseconds: 0))
            }
            var news = try await client.messages(topic: "ops.x").makeAsyncIterator()
            #expect(try await news.next() == .interrupted(.notAuthorized("reading ops.x"), passes: false))
            let narrower = try await key(network) {
                ($0.publish, $0.keyValue, $0.letters) = (["chat.bot"], AccessRights.KeyValueAccess.none, false)
            }
            let writer = try network.client(credentials: RelayCredentials(narrower))
            try await writer.connect(timeLimit: 60)
            await #expect(throws: RelayError.notAuthorized("listing the letters")) {
                try await writer.listMessages(limit: 25)
            }
            await #expect(throws: RelayError.notAuthorized("deleting letters")) {
                try await writer.deleteMessage(withMessageId: "AAAA")
            }
            await #expect(throws: RelayError.notAuthorized("using postboxes")) { try await writer.listPostboxes() }
            await #expect(throws: RelayError.notAuthorized("reading a key")) { try await writer.get(key: "color") }
            var keys = try await writer.watch(key: "color").makeAsyncIterator()
            #expect(try await keys.next() == .interrupted(.notAuthorized("watching keys"), passes: false))
            await writer.close()
            // A letter of a narrower key has the user for its sender.
            let bob = try network.client(as: "bob")
            try await bob.connect(timeLimit: 60)
            _ = try await client.post(to: "bob", postbox: "personal", text: "from alice", timeout: .seconds(60))
            #expect(try await bob.listMessages(limit: 25).items.contains { $0.from == "alice" })
            await bob.close()
            #expect(try await network.administrator.users(named: "alice").first?.devices?.count == 1)
            try await network.administrator.kick(user: "alice", reason: "tea")
            #expect(try await journal.end().reason == .kicked(by: "root", reason: "tea"))
            try await network.administrator.ban(user: "alice", reason: "spam")
            await #expect(throws: RelayError.connection(.banned("spam"))) { try await client.connect(timeLimit: 60) }
            try await network.administrator.unban(user: "alice")
            try await client.connect(timeLimit: 60)
            await client.close()
        }
    }
}
