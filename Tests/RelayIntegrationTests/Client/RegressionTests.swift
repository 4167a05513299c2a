import Foundation
import NATS
import NIOCore
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Faults of the client that must not come back", .realProcesses)
struct ClientRegressionTests {
    @Test("B38 a stream that lost its newest messages is not delivered again from its beginning")
    func truncatedStream() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        // More than the identifiers that a cursor remembers.
        let count = 1_500
        for number in 1...count { try await client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
        try await eventually("an empty outbox") { client.queuedCount == 0 }
        try await fixture.server.stop()
        let store = fixture.server.directory.path("store")
        try FileManager.default.copyItem(atPath: store, toPath: store + ".old")
        try await fixture.server.restart()
        try await client.state(is: .connected)
        for number in count + 1...count + 3 {
            _ = try await client.send(
                topic: "chat.room", message: .int(Int64(number)), timeout: .seconds(60))
        }
        try await received.wait(for: "all messages") { events in
            events.contains { if case .message(let message) = $0 { message.text == "\(count + 3)" } else { false } }
        }
        try await fixture.server.stop()
        // As after a power cut that came before the disk had everything.
        try FileManager.default.removeItem(atPath: store)
        try FileManager.default.moveItem(atPath: store + ".old", toPath: store)
        try await fixture.server.restart()
        try await client.state(is: .connected)
        _ = try await client.send(topic: "chat.room", message: "after", timeout: .seconds(60))
        try await received.wait(for: "the newest") { events in
            events.contains { if case .message(let message) = $0 { message.text == "after" } else { false } }
        }
        #expect(await received.texts == (1...count + 3).map(String.init) + ["after"])
        await client.close()
    }

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

    @Test(
        "B38 B55 a hundred cuts and a hundred absences of a reader fit into a stream that takes five consumers",
        arguments: NATSServerProcess.binaries)
    func fewConsumers(binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary, maximumConsumers: 5)
        let client = try await fixture.client(reconnect: ReconnectPolicy(schedule: [.milliseconds(1)]))
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room", from: .all))
        func write(_ number: Int) async throws {
            try await client.enqueue(topic: "chat.room", message: .int(Int64(number)))
        }
        for round in 1...100 {
            // One message on each connection, one while there is none, one after an absence. A consumer that is left
            // behind stays for a minute, and the sixth would be refused for as long.
            try await write(3 * round - 2)
            try await eventually("message \(3 * round - 2)", deadline: .seconds(30)) {
                await received.texts.count == 3 * round - 2
            }
            try await #require(client.link?.connection?.core.channel).close().get()
            try await write(3 * round - 1)
            try await eventually("message \(3 * round - 1)", deadline: .seconds(30)) {
                await received.texts.count == 3 * round - 1
            }
            await client.lifecycleChanged(.stopping)
            try await write(3 * round)
            await client.lifecycleChanged(.foreground)
            try await eventually("message \(3 * round)", deadline: .seconds(30)) {
                await received.texts.count == 3 * round
            }
        }
        #expect(await received.texts == (1...300).map(String.init))
        try await fixture.withJetStream { jetStream in
            try await eventually("no consumer but the reader's") {
                try await jetStream.streamInfo("test_stream").state.consumers == 1
            }
        }
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
