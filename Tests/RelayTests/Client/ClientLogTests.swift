import InMemoryLogging
import Logging
import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: what it logs, over a network in memory")
struct ClientLogTests {
    @Test("An outage is in the log from the loss to the recovery, and no text or password is")
    func outage() async throws {
        let network = try MemoryNetwork()
        let handler = InMemoryLogHandler()
        var configuration = network.configuration()
        configuration.servers = .fixed([try ServerAddress(parsing: "nats://alice:sesame@memory")])
        configuration.logger = logger(handler)
        let client = try await network.connected(configuration)
        _ = try await client.publish(topic: "chat.room", message: "the text")
        network.server.disconnectAll()
        try await network.attemptNow(client)
        try await eventually("the recovery") { client.status.recoveries == 1 && client.status.state == .connected }
        await client.close()

        let states = handler.entries.filter { $0.level == .debug }.compactMap { $0.metadata["state"] }
        #expect(
            states.map { "\($0)" }.reduced() == [
                "connecting", "connected", "reconnecting", "connected", "disconnected",
            ])
        let texts = handler.entries.map { "\($0.message) \($0.metadata)" }
        #expect(texts.filter { $0.hasPrefix("Connected ") }.count == 2)
        #expect(texts.contains { $0.hasPrefix("The connection has ended ") })
        #expect(!texts.contains { $0.contains("the text") || $0.contains("sesame") })
        #expect(handler.entries.allSatisfy { $0.level <= .debug })
    }

    @Test("What waits through an outage and what is given up is in the log by its identifier, without its text")
    func outbox() async throws {
        let network = try MemoryNetwork()
        let handler = InMemoryLogHandler()
        var configuration = network.configuration()
        configuration.logger = logger(handler)
        let client = try await network.connected(configuration)
        network.server.disconnectAll()
        try await eventually("the first loss") { client.status.state != .connected }
        let waiting = try await client.enqueue(topic: "chat.room", message: "the text", id: "waiting")
        try await network.attemptNow(client)
        _ = try await waiting.receipt(within: .seconds(60))
        try await eventually("the recovery") { client.status.state == .connected }
        network.server.disconnectAll()
        try await eventually("the second loss") { client.status.state != .connected }
        _ = try await client.enqueue(topic: "chat.room", message: "the text", id: "given-up")
        await client.close()

        let texts = handler.entries.map { "\($0.message) \($0.metadata)" }
        #expect(texts.contains { $0.hasPrefix("Sending the messages that waited ") })
        let lost = texts.filter { $0.hasPrefix("A message was not sent ") }
        #expect(lost.count == 1 && lost[0].contains("given-up"))
        #expect(!texts.contains { $0.contains("the text") })
    }

    private func logger(_ handler: InMemoryLogHandler) -> Logger {
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        return logger
    }
}

extension [String] {
    /// Each run of equal ones as one.
    fileprivate func reduced() -> [String] {
        reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}
