import NATS
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

/// What a subscription to letters says of the connection, and what it does without one.
@Suite("Client: subscriptions to letters through outages, over a network in memory", .realProcesses)
struct LetterSubscriptionClientTests {
    private let network: MemoryNetwork

    init() throws { network = try MemoryNetwork() }

    private static let entry =
        #"{"id":"personal","name":"personal","sudoId":"alice-1","isEnabled":true,"createdAt":42}"#

    private func subscribe(
        _ client: RelayClient, _ heard: Collected
    ) async throws -> SubscriptionToken {
        let token = try await client.subscribeToMessageCreated { status in
            heard.add(status.name)
        } resultHandler: { result in
            if case .success(let message) = result { heard.add(message.message) }
        }
        try await eventually("the live subscription") { heard.all == ["initialized", "connecting", "connected"] }
        return token
    }

    @Test("B42 a reader that was slow hears of an outage as soon as it reads, and not with the next connection")
    func slowReader() async throws {
        let client = try await network.connected()
        let events = try await client.postboxMessages()
        let channel = events.stream.channel
        var iterator = events.makeAsyncIterator()
        while let event = try await iterator.next(), event != .status(.connected) {}
        // More than the client takes in for its reader.
        for number in 1...4_000 { try network.postLetter("\(number)") }
        try await eventually("what its reader has not taken is full") { channel.isFull }
        network.server.refuseDials(with: .connectionRefused("memory"))
        network.server.disconnectAll()
        try await eventually("the outage") { client.status.state != .connected }
        let heard = Collected()
        let reading = Task {
            for try await event in events { if case .status(let status) = event { heard.add(status.name) } }
        }
        try await eventually("the outage is heard of") { heard.all == ["connecting"] }
        network.server.refuseDials(with: nil)
        try await network.letTimePass("the way back") { heard.all.last == "connected" }
        await client.close()
        try await reading.value
    }

    @Test(
        "B21 B42 letters of the time in the background come on return, once and in order, before it is called connected",
        arguments: [false, true])
    func inBackground(isStopped: Bool) async throws {
        let client = try await network.connected(network.configuration(lifecycle: .immediate))
        let heard = Collected()
        let token = try await subscribe(client, heard)
        try network.postLetter("before")
        try await eventually("the letter before") { heard.all.last == "before" }
        for round in 1...2 {
            if isStopped {
                await client.lifecycleChanged(.stopping)
            } else {
                await client.setAppStateActive(false)
                try await network.letTimePass("the rest") { client.status.state == .suspended }
            }
            // A connection that is let go has a last word to say first.
            try await eventually("the end of the connection") { network.server.connections == 0 }
            try await eventually("the subscription to say so") { heard.all.last == "disconnected" }
            for number in 1...3 { try network.postLetter("\(round), \(number)") }
            await client.setAppStateActive(true)
            try await eventually("the live subscription") { heard.all.last == "connected" }
        }
        try network.postLetter("behind")
        try await eventually("the letter behind") { heard.all.last == "behind" }
        let meanwhile = (1...2).flatMap { round in
            ["disconnected", "connecting"] + (1...3).map { "\(round), \($0)" } + ["connected"]
        }
        let expected: [String] = ["before"] + meanwhile + ["behind"]
        #expect(Array(heard.all.suffix(expected.count)) == expected)
        withExtendedLifetime(token) {}
        await client.close()
    }

    @Test(
        "B42 by the seed's policy an outage or the background ends the subscription, and the caller subscribes again",
        arguments: [true, false])
    func seedPolicy(isOutage: Bool) async throws {
        var configuration = network.configuration(lifecycle: .immediate)
        configuration.subscriptions = .seed
        let client = try await network.connected(configuration)
        let heard = Collected()
        let token = try await subscribe(client, heard)
        if isOutage {
            network.server.disconnectAll()
        } else {
            await client.setAppStateActive(false)
            try await network.letTimePass("the rest") { client.status.state == .suspended }
        }
        try await eventually("the end") { heard.all.last == "disconnected" }
        if !isOutage { await client.setAppStateActive(true) }
        try await network.letTimePass("the connection") { client.status.state == .connected }
        try network.postLetter("unheard")
        let again = Collected()
        let second = try await subscribe(client, again)
        try network.postLetter("heard")
        try await eventually("the letter") { again.all.last == "heard" }
        #expect(heard.all == ["initialized", "connecting", "connected", "disconnected"])
        withExtendedLifetime((token, second)) {}
        await client.close()
    }

    @Test("A new user's subscription finds the postbox that the network makes for it")
    func newUsersSubscription() async throws {
        network.server.deleteStream("PB_alice")
        network.server.service("relay.postbox.alice.list") { _ in
            try? network.createPostbox()
            return Array(#"{"postboxes":[\#(Self.entry)]}"#.utf8)
        }
        let client = try await network.connected()
        let heard = Collected()
        let token = try await subscribe(client, heard)
        withExtendedLifetime(token) {}
        network.server.deleteStream("PB_alice")
        let id = PostboxMessageID(incarnation: 1, sequence: 1).text
        await #expect(throws: RelayError.notFound(id)) { try await client.postboxMessage(withMessageId: id) }
        network.server.deleteStream("PB_alice")
        await #expect(throws: RelayError.notFound(id)) { try await client.deleteMessage(withMessageId: id) }
        await client.close()
    }

    @Test(
        "B42 the last unsubscribe lets the connection go after a while, and a new subscription or a letter takes it back"
    )
    func idle() async throws {
        var configuration = network.configuration()
        configuration.idleTimeout = .seconds(50)
        let client = try await network.connected(configuration)
        var heard = Collected()
        var token = try await subscribe(client, heard)
        token.cancel()
        try await network.letTimePass("the rest") { client.status.state == .suspended }
        #expect(client.status.reason == nil)
        try await eventually("the end of the connection") { network.server.connections == 0 }
        heard = Collected()
        token = try await subscribe(client, heard)
        try await client.state(is: .connected)
        token.cancel()
        try await network.letTimePass("the next rest") { client.status.state == .suspended }
        try await client.enqueueLetter(to: "alice", postbox: "personal", text: "wake up", id: "letter-1")
        try await eventually("the letter") { network.server.messages(in: "PB_alice").count == 1 }
        try await network.letTimePass("the rest after the letter") { client.status.state == .suspended }
        #expect(try await client.listMessages().items.map(\.message) == ["wake up"])
        await client.close()
    }

    @Test("B28 B42 letters are followed for a view, too")
    func onScreen() async throws {
        let client = try await network.connected()
        let letters = try await client.postboxMessages(onScreenOnly: true)
        let heard = Gathered(letters)
        try await eventually("the subscription") { !network.server.consumers(of: "PB_alice").isEmpty }
        letters.setOnScreen(false)
        try await eventually("the wait for the view") { network.time.waits == [.seconds(30)] }
        network.time.advance(by: .seconds(30))
        try await eventually("the release") { network.server.consumers(of: "PB_alice").isEmpty }
        try network.postLetter("meanwhile")
        letters.setOnScreen(true)
        try await heard.wait(for: "the letter") { events in
            events.contains { if case .message(let letter) = $0 { letter.message == "meanwhile" } else { false } }
        }
        await client.close()
    }

    @Test("B42 B43 an outage is told, and that the subscription works again once what came meanwhile was delivered")
    func outage() async throws {
        let client = try await network.connected()
        let heard = Collected()
        let token = try await subscribe(client, heard)
        network.server.refuseDials(with: .connectionRefused("memory"))
        network.server.disconnectAll()
        try await eventually("the outage") { heard.all.last == "connecting" }
        try network.postLetter("missed")
        network.server.refuseDials(with: nil)
        try await network.letTimePass("the subscription") { heard.all.last == "connected" }
        #expect(heard.all.dropFirst(3) == ["connecting", "missed", "connected"])
        withExtendedLifetime(token) {}
        await client.close()
        try await eventually("the end") { heard.all.last == "disconnected" }
        #expect(heard.all.count { $0 == "disconnected" } == 1)
    }

    @Test("B42 a rest in the background is told as disconnected, and the way back as connecting")
    func suspension() async throws {
        let client = try await network.connected()
        let heard = Collected()
        let token = try await subscribe(client, heard)
        await client.setReachable(false)
        try await eventually("the rest") { heard.all.last == "disconnected" }
        await client.setReachable(true)
        try await eventually("the return") { heard.all.suffix(3) == ["disconnected", "connecting", "connected"] }
        withExtendedLifetime(token) {}
        await client.close()
    }

    @Test("B42 the end of a session by the administrator is an error with its reason")
    func kicked() async throws {
        let client = try await network.connected()
        let statuses = NIOLockedValueBox<[PlatformSubscriptionStatus]>([])
        let token = try await client.subscribeToMessageCreated { status in
            statuses.withLockedValue { $0.append(status) }
        } resultHandler: { _ in
        }
        try await eventually("the live subscription") { statuses.withLockedValue { $0.last } == .connected }
        let ban = Array(#"{"kind":"banned","reason":"spam"}"#.utf8)
        network.server.publish(ControlMessage.subject(for: MemoryNetwork.user), ban)
        try await eventually("the reason") {
            statuses.withLockedValue { $0.last } == .error(.connection(.banned("spam")))
        }
        withExtendedLifetime(token) {}
        await client.close()
    }
}
