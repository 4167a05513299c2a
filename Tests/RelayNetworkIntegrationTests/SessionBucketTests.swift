import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: the bucket of sessions", .realProcesses)
struct SessionBucketTests {
    private func settings(_ connection: NATSConnection) async throws -> StreamConfiguration {
        try await JetStream.patient(connection).streamInfo("KV_relay_sessions").configuration
    }

    @Test(
        "A network's sessions live for 90 seconds; an older one gets that and keeps what its administrator set",
        arguments: TestServers.all)
    func renewed(server: String) async throws {
        let folder = try TemporaryFolder()
        _ = try NetworkIdentity.open(in: folder.network)
        try await TestNetwork.run(server: server, in: folder) { network in
            let service = try await network.connectAsNetwork()
            let jetStream = JetStream.patient(service)
            let made = try await settings(service)
            #expect(made.maximumAge == 90_000_000_000 && made.duplicateWindow == 90_000_000_000)
            #expect(made.maximumMessagesPerSubject == 1)
            #expect(made.allowsDirectAccess == true && made.allowsRollup == false && made.deniesDelete == true)
            // As an older host made it, and with an administrator's own settings.
            try await jetStream.deleteStream("KV_relay_sessions")
            try await KeyValueBucket(SessionBucket.name, jetStream).create(history: 1)
            var changed = try await settings(service)
            #expect(changed.maximumAge == 0)
            changed.description = "mine"
            changed.maximumBytes = 1 << 30
            try await jetStream.updateStream(changed)
            _ = try await KeyValueBucket(SessionBucket.name, jetStream).put(ByteBuffer(string: "s"), for: "alice")
            await service.close()
        }
        for _ in 0..<2 {
            try await TestNetwork.run(server: server, in: folder) { network in
                let service = try await network.connectAsNetwork()
                let found = try await settings(service)
                #expect(found.maximumAge == 90_000_000_000 && found.duplicateWindow == 90_000_000_000)
                #expect(found.description == "mine" && found.allowsRollup == false)
                #expect(found.maximumMessagesPerSubject == 1 && found.deniesDelete == true)
                await service.close()
            }
        }
    }

    @Test("B18: no user reaches another user's session key", arguments: TestServers.all)
    func foreignKey(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let bob = try await network.connect(as: "bob")
            let own = try KeyValueBucket(SessionBucket.name, network.jetStream(bob))
            let revision = try await own.create(ByteBuffer(string: "secret"), for: "bob")
            let alice = try await network.connect(as: "alice")
            let subject = "$KV.relay_sessions.bob"
            let stream = "KV_relay_sessions"
            for standard in [
                subject, "$JS.API.DIRECT.GET.\(stream).\(subject)", "$JS.API.DIRECT.GET.\(stream)",
                "$JS.API.STREAM.MSG.GET.\(stream)", "$JS.API.STREAM.INFO.\(stream)",
                "$JS.API.STREAM.PURGE.\(stream)", "$JS.API.STREAM.MSG.DELETE.\(stream)",
                "$JS.API.STREAM.UPDATE.\(stream)", "$JS.API.CONSUMER.CREATE.\(stream)",
                "$JS.API.CONSUMER.CREATE.\(stream).c", "$JS.API.CONSUMER.CREATE.\(stream).c.\(subject)",
                "$JS.API.CONSUMER.DURABLE.CREATE.\(stream).c", "$JS.API.CONSUMER.NAMES.\(stream)",
                "$JS.API.CONSUMER.LIST.\(stream)",
            ] {
                let forbidden = standard.replacing("$JS.API.", with: "net.API.")
                await #expect(throws: NATSError.publishNotPermitted(subject: forbidden), "\(forbidden)") {
                    _ = try await alice.request(ByteBuffer(), to: forbidden)
                }
            }
            // A watch of the own key cannot be turned to another by the request's body.
            for filter in [#""filter_subject":"\#(subject)""#, #""filter_subjects":["\#(subject)"]"#] {
                let body =
                    #"{"stream_name":"\#(stream)","config":{"name":"c","ack_policy":"none","deliver_policy":"all",\#(filter)}}"#
                let reply = try await alice.ask(
                    body, to: "net.API.CONSUMER.CREATE.\(stream).c.$KV.relay_sessions.alice")
                #expect(reply.text.contains("\"error\""), "\(reply.text)")
            }
            #expect(try await own.get("bob")?.revision == revision)
            await alice.close()
            await bob.close()
        }
    }
}
