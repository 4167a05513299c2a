import Foundation
import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

@Suite("Connections over a real server", .realProcesses)
struct ConnectionTests {
    @Test(
        "The reply inbox, the administrator's subject and presence are used again when they are permitted again",
        arguments: NATSServerProcess.binaries)
    func deniedAndPermitted(binary: NATSServerBinary) async throws {
        func configuration(denying subjects: String, publishing subject: String = "nothing") -> String {
            let permissions = "{ publish: { deny: \"\(subject)\" }, subscribe: { deny: [\(subjects)] } }"
            return """
                no_auth_user: a
                authorization { users: [ { user: a, password: b, permissions: \(permissions) } ] }
                """
        }
        let open = configuration(denying: "nothing")
        let presence = "$KV.\(PresenceEntry.bucket).>"
        let server = try await NATSServerProcess.start(binary, configuration: open)
        let fixture = ClientFixture(server: server)
        try await fixture.withJetStream { jetStream in
            _ = try await jetStream.createStream(StreamConfiguration(name: "test_stream", subjects: ["h4sh.>"]))
            _ = try await jetStream.createStream(
                StreamConfiguration(name: PresenceEntry.stream, subjects: [presence]))
        }
        try server.reload(configuration: configuration(denying: "nothing", publishing: presence))
        var own = try fixture.configuration()
        own.presence.renewal = .milliseconds(500)
        let client = RelayClient(configuration: own)
        await client.setLimits(publish: .seconds(60))
        try await client.connect(timeLimit: 60)
        try await client.appear(in: ["chat.room"])
        // Before the server has read its configuration it still takes them.
        try await eventually("presence fails") { await client.isPresenceAvailable == false }
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        try server.reload(
            configuration: configuration(denying: #""_INBOX.>", "relay.control.>""#, publishing: presence))
        try await eventually("the topic fails") { client.status.failingSubscriptions == ["chat.room"] }
        await #expect {
            try await client.send(topic: "chat.room", message: "denied", timeout: .seconds(60))
        } throws: { error in
            if case .notAuthorized? = error as? RelayError { true } else { false }
        }
        try server.reload(configuration: open)
        try await eventually("a message is stored") {
            (try? await client.send(topic: "chat.room", message: "permitted", timeout: .seconds(60))) != nil
        }
        try await eventually("the topic is back") { client.status.failingSubscriptions.isEmpty }
        try await received.wait(for: "the message") { events in
            events.contains { if case .message(let message) = $0 { message.text == "permitted" } else { false } }
        }
        try await eventually("presence is back") { await client.isPresenceAvailable == true }
        #expect(client.status.state == .connected && client.status.recoveries == 0)
        let kick = try JSONEncoder().encode(
            ControlMessage.Facts(ControlMessage(kind: .kicked, administrator: "root")))
        try await fixture.withJetStream { jetStream in
            try await eventually("the administrator's word is heard") {
                try jetStream.connection.publish(Array(kick), to: ControlMessage.subject(for: ClientFixture.user))
                try await jetStream.connection.flush()
                return client.status.state == .disconnected
            }
        }
        #expect(client.status.reason == .kicked(by: "root", reason: nil) && client.status.recoveries == 0)
        await client.close()
    }

    @Test("B20 B29 publishes without an answer have a frozen server noticed, and outlast it")
    func frozenWhilePublishing() async throws {
        let fixture = try await ClientFixture.start()
        var configuration = try fixture.configuration()
        configuration.pongTimeout = .seconds(1)
        let client = RelayClient(configuration: configuration)
        try await client.connect(timeLimit: 60)
        try await fixture.server.pause()
        let pending = try await client.enqueue(topic: "chat.room", message: "patience")
        try await client.state(is: .reconnecting)
        fixture.server.resume()
        #expect(try await pending.receipt(within: .seconds(60)).sequence == 1)
        await client.close()
    }
}
