import Dispatch
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import NATS

@Suite("Requests", .realProcesses, .sharedServers)
struct RequestTests {
    /// Answers every request on a subject until the connection is closed.
    private func respond(_ connection: NATSConnection, on subject: String) throws -> Task<Void, any Error> {
        let subscription = try connection.subscribe(to: subject)
        return Task {
            for try await message in subscription {
                if let reply = message.reply { try connection.publish(message.payload, to: reply, headers: ["A": "1"]) }
            }
        }
    }

    @Test("1,000 at once over one inbox get each its own answer", arguments: NATSServerProcess.binaries)
    func concurrent(binary: NATSServerBinary) async throws {
        let responder = try await SharedServers.connect(binary)
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let answering = try respond(responder, on: subject)
        try await responder.flush()
        try await withThrowingTaskGroup { group in
            for index in 0..<1_000 {
                group.addTask {
                    let answer = try await connection.request(
                        ByteBuffer(string: "\(index)"), to: subject, timeout: .seconds(120))
                    return answer.text == "\(index)" && answer.headers["A"] == "1"
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(connection.core.requests.isEmpty)
        await responder.close()
        try await answering.value
        await connection.close()
    }

    @Test(
        "no answer in time is a time-out, and a late answer goes to no request", arguments: NATSServerProcess.binaries)
    func timeout(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let silent = try connection.subscribe(to: subject)
        await #expect(throws: NATSError.timeout("a request to \(subject)")) {
            try await connection.request(ByteBuffer(string: "?"), to: subject, timeout: .milliseconds(20))
        }
        let reply = try #require(try await silent.first(1)[0].reply)
        try connection.publish(Array("late".utf8), to: reply)
        try await connection.flush()
        #expect(connection.core.requests.isEmpty)
        // The clock starts anew for the next one.
        await #expect(throws: NATSError.timeout("a request to \(subject)")) {
            try await connection.request(ByteBuffer(string: "?"), to: subject, timeout: .milliseconds(20))
        }
        await connection.close()
    }

    @Test("every request has an end, however many begin while the last one of others ends")
    func requestDeadlines() async throws {
        let connection = try await SharedServers.connect(NATSServerProcess.anyBinary)
        let subject = SharedServers.unique()
        let silent = try connection.subscribe(to: subject)
        try await connection.flush()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<40 {
                        await #expect(throws: NATSError.self) {
                            _ = try await connection.request(
                                ByteBuffer(), to: subject, timeout: .milliseconds(1 + (number * 7 + round) % 60))
                        }
                    }
                }
            }
            group.addTask {
                try await Task.sleep(for: .seconds(600))
                throw TestFailure("a request has no end")
            }
            for _ in 0..<8 { try await group.next() }
            group.cancelAll()
        }
        withExtendedLifetime(silent) {}
        await connection.close()
    }

    @Test("an answer that came while the event loop was held up beyond the time is no time-out")
    func overslept() async throws {
        // A loop of its own, since it is held up.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let limit = Duration.seconds(5)
        let subject = "q"
        // All of this is done on the peer's thread, which waits for no turn among the tests.
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("PUB \(subject) "), link.waitFor("\r\n") else { return }
            let request = link.received.split(separator: "\r\n").last { $0.hasPrefix("PUB \(subject) ") }
            guard let reply = request?.split(separator: " ").dropFirst(2).first else { return }
            let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            loop.execute {
                begun.signal()
                goOn.wait()
            }
            begun.wait()
            link.send("MSG \(reply) 1 7\r\nin time\r\n")
            // The time passes while nothing is read.
            Thread.sleep(forTimeInterval: 6)
            goOn.signal()
            link.waitForEnd()
        }
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero), group: group)
        let answer = try await connection.request(ByteBuffer(), to: subject, timeout: limit)
        #expect(answer.text == "in time")
        await connection.close()
        try await group.shutdownGracefully()
    }

    @Test("a connection that has ended asks nothing of its event loop, which may have ended too")
    func endedLoop() async throws {
        let other = try await SharedServers.connect(NATSServerProcess.anyBinary)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connection = try await NATSConnection.connect(to: other.address, group: group)
        await connection.close()
        await other.close()
        try await group.shutdownGracefully()
        connection.probe()
        connection.closeNow()
        #expect(connection.core.channel == nil)
    }

    @Test("a cancelled request is forgotten", arguments: NATSServerProcess.binaries)
    func cancelled(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let silent = try connection.subscribe(to: subject)
        let task = Task { try await connection.request(ByteBuffer(), to: subject, timeout: .seconds(60)) }
        _ = try await silent.first(1)
        task.cancel()
        await #expect(throws: NATSError.cancelled) { try await task.value }
        #expect(connection.core.requests.isEmpty)
        for round in 0..<100 {
            let task = Task {
                if round % 2 == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                return try await connection.request(ByteBuffer(), to: subject, timeout: .seconds(60))
            }
            for _ in 0..<round % 7 { await Task.yield() }
            task.cancel()
            await #expect(throws: NATSError.cancelled) { try await task.value }
        }
        #expect(connection.core.requests.isEmpty)
        await connection.close()
    }

    @Test("answers go to the chosen prefix", arguments: NATSServerProcess.binaries)
    func inboxPrefix(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary, ConnectOptions(inboxPrefix: "_MY.own"))
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        async let answer = connection.request(ByteBuffer(string: "?"), to: subject, timeout: .seconds(120))
        let reply = try #require(try await subscription.first(1)[0].reply)
        #expect(reply.hasPrefix("_MY.own."))
        try connection.publish(Array("!".utf8), to: reply)
        #expect(try await answer.text == "!")
        #expect(connection.newInbox().hasPrefix("_MY.own."))
        let wrong = try SharedServers.server(binary)
        await #expect(throws: NATSError.invalidSubject("a.*")) {
            try await wrong.connect(ConnectOptions(inboxPrefix: "a.*"))
        }
        await connection.close()
    }

    @Test("a request that cannot be sent fails before it is one")
    func unsendable() async throws {
        let connection = try await SharedServers.connect(NATSServerProcess.anyBinary)
        await #expect(throws: NATSError.invalidSubject("a b")) {
            try await connection.request(ByteBuffer(), to: "a b")
        }
        await #expect(throws: NATSError.invalidSubject("a.*")) {
            try await connection.request(ByteBuffer(), to: "a.*")
        }
        await #expect(throws: NATSError.self) {
            try await connection.request(ByteBuffer(repeating: 0, count: (1 << 20) + 1), to: "a")
        }
        #expect(connection.core.requests.isEmpty)
        await connection.close()
    }
}
