import Dispatch
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Loss of a connection", .longWaits)
struct LossTests {
    @Test(
        "an answer that came while this side found no time to read it is none that is missing",
        arguments: NATSServerProcess.binaries)
    func busyLoop(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary)
        let connection = try await server.connect()
        let loop = connection.core.eventLoop
        for _ in 0..<3 {
            let events = connection.events
            connection.probe(within: .milliseconds(200))
            // Behind the ping's way to the socket, and before the loop reads again; until the answer is there.
            @Sendable func behind(_ steps: Int) {
                loop.execute {
                    guard steps == 0 else { return behind(steps - 1) }
                    Thread.sleep(forTimeInterval: 0.35)
                    for _ in 0..<6_000 where connection.core.channel.map({ SocketQueues.hasUnread($0) }) == false {
                        Thread.sleep(forTimeInterval: 0.01)
                    }
                }
            }
            behind(4)
            var answered = false
            for await event in events {
                if case .roundTrip = event { answered = true }
                if answered || event == .closed(.staleConnection) { break }
            }
            #expect(answered)
        }
        await connection.close()
        server.close()
    }

    @Test("a killed server ends everything that waits, with the reason", arguments: NATSServerProcess.binaries)
    func killed(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary)
        let connection = try await server.connect()
        let events = connection.events
        let subscription = try connection.subscribe(to: "a")
        let waiting = try connection.subscribe(to: "a.b")
        let silent = try connection.subscribe(to: "silent")
        try connection.publish(Array("before".utf8), to: "a")
        try await connection.flush()
        async let request = failure { () async throws(NATSError) in
            _ = try await connection.request(ByteBuffer(), to: "silent", timeout: .seconds(60))
        }
        async let reader = failure { () async throws(NATSError) in
            var iterator = waiting.makeAsyncIterator()
            while try await iterator.next() != nil {}
        }
        async let closed = connection.waitUntilClosed()
        _ = try await silent.first(1)
        try await server.kill9()
        #expect(await closed.isLoss)
        #expect(await request.isLoss)
        #expect(await reader.isLoss)
        // What had arrived is still delivered.
        var iterator = subscription.makeAsyncIterator()
        #expect(try await iterator.next()?.text == "before")
        await #expect(throws: NATSError.self) { try await iterator.next() }
        var last: NATSConnectionEvent?
        for await event in events { last = event }
        guard case .closed(let reason) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(reason.isLoss)
        #expect(!connection.isOpen)
        #expect(await failure { () async throws(NATSError) in try connection.publish([], to: "a") }.isLoss)
        #expect(await failure { () async throws(NATSError) in try await connection.flush() }.isLoss)
        #expect(await failure { () async throws(NATSError) in _ = try connection.subscribe(to: "a") }.isLoss)
        let refused = await failure { () async throws(NATSError) in
            _ = try await connection.request(ByteBuffer(), to: "a")
        }
        #expect(refused.isLoss)
        // Events asked for afterwards tell the end at once.
        var late = connection.events.makeAsyncIterator()
        #expect(await late.next() == .closed(reason))
        #expect(await late.next() == nil)
    }

    @Test("B20 a peer that goes silent is noticed, with and without a long queue before the ping", arguments: [0, 32])
    func silent(megabytes: Int) async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let falls = NIOLockedValueBox(false)
        let isSilent = NIOLockedValueBox(false)
        let peer = try ScriptedPeer { link in
            guard link.logIn() else { return }
            repeat {
                guard link.waitFor("PING\r\n") else { return }
                link.send("PONG\r\n")
            } while !falls.withLockedValue(\.self)
            isSilent.withLockedValue { $0 = true }
            gate.wait()
        }
        let connection = try await peer.connect(
            ConnectOptions(pingInterval: .milliseconds(200), pongTimeout: .seconds(8)))
        var events = connection.events.makeAsyncIterator()
        guard case .roundTrip(let duration) = await events.next() else {
            Issue.record("no round trip")
            return
        }
        #expect(duration > .zero)
        falls.withLockedValue { $0 = true }
        try await eventually("the silence") { isSilent.withLockedValue(\.self) }
        let payload = ByteBuffer(repeating: 0x61, count: 1 << 20)
        for _ in 0..<megabytes { try connection.publish(payload, to: "a") }
        #expect(await connection.waitUntilClosed() == .staleConnection)
        var (last, wasSilent) = (await events.next(), false)
        while let event = last, event != .closed(.staleConnection) {
            if case .silent = event { wasSilent = true }
            last = await events.next()
        }
        #expect(wasSilent && last == .closed(.staleConnection))
    }

    @Test("B20 a peer that reads slowly and late answers its pings is not left")
    func slow() async throws {
        let peer = try ScriptedPeer { link in
            if link.logIn() { link.readSlowly(step: 64 << 10, pause: .milliseconds(8)) }
        }
        let connection = try await peer.connect(
            ConnectOptions(pingInterval: .milliseconds(100), pongTimeout: .seconds(4)))
        let payload = ByteBuffer(repeating: 0x61, count: 1 << 20)
        // The ping that comes while this is on its way is queued behind more than the peer reads in the limit.
        for _ in 0..<48 { try connection.publish(payload, to: "a") }
        try await connection.flush(timeout: .seconds(120))
        #expect(connection.isOpen)
        await connection.close()
    }

    #if os(Linux)
        @Test("the system gives up a peer that acknowledges nothing, after as long as the pings would")
        func systemTimeout() async throws {
            let peer = try ScriptedPeer { if $0.logIn() { $0.waitForEnd() } }
            for (interval, expected) in [(Duration.seconds(20), 25_000), (.zero, 0)] {
                let connection = try await peer.connect(ConnectOptions(pingInterval: interval))
                let channel = try #require(connection.core.channel)
                let option = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: 18))
                #expect(try await channel.getOption(option).get() == expected)
                connection.closeNow()
            }
        }
    #endif

    /// A channel whose write fails is read to its end at once, from inside the write.
    @Test("what arrives, and ends the connection, while a ping is being answered comes after what came with the ping")
    func readInsideWrite() async throws {
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("SUB a 2\r\n") else { return }
            link.send("MSG a 2 1\r\n1\r\nPING\r\nMSG a 2 1\r\n2\r\nMSG a 2 1\r\n")
            link.waitForEnd()
        }
        let connection = try await peer.connect()
        let channel = try #require(connection.core.channel)
        try await channel.pipeline.addHandler(LastWords("3\r\nMSG a 2 1\r\n4\r\n-ERR 'Enough'\r\n"), position: .first)
        let subscription = try connection.subscribe(to: "a")
        #expect(await connection.waitUntilClosed() == .closedByServer("Enough"))
        #expect(try await subscription.first(4).map(\.text) == ["1", "2", "3", "4"])
    }

    @Test("a wait for the end can be cancelled")
    func cancelledWait() async throws {
        let peer = try ScriptedPeer { if $0.logIn() { $0.waitForEnd() } }
        let connection = try await peer.connect()
        let task = Task { await connection.waitUntilClosed() }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(connection.isOpen)
        connection.closeNow()
    }

    @Test("words of the server before it closes are the reason, and a bare end is none")
    func reasons() async throws {
        let table: [(String, NATSError)] = [
            ("-ERR 'Stale Connection'\r\n", .staleConnection), ("-ERR 'Strange'\r\n", .closedByServer("Strange")),
            ("", .closedByServer(nil)),
            ("-ERR 'Maximum Payload Violation'\r\n", .protocolViolation("it answered Maximum Payload Violation")),
        ]
        for (words, reason) in table {
            let peer = try ScriptedPeer { link in
                link.logIn()
                // Reads what the client sends behind the login, so that the end is no reset.
                link.waitFor("SUB ")
                link.send(words)
            }
            let connection = try await peer.connect()
            #expect(await connection.waitUntilClosed() == reason)
        }
    }

    @Test("a peer that breaks the protocol after the login is left")
    func brokenLater() async throws {
        let peer = try ScriptedPeer { link in
            link.logIn()
            link.send("MSG a 2 99999999999999\r\n")
            link.waitForEnd()
        }
        let connection = try await peer.connect()
        #expect(await connection.waitUntilClosed().isViolation)
        try await eventually("the socket is closed") { peer.ends > 0 }
    }
}

/// Answers the first PONG as a channel does whose write fails: with all that is left to read, and its end.
private final class LastWords: ChannelOutboundHandler, Sendable {
    typealias OutboundIn = ByteBuffer
    private let words: String

    init(_ words: String) { self.words = words }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard unwrapOutboundIn(data).readableBytesView.starts(with: "PONG".utf8) else {
            return context.write(data, promise: promise)
        }
        context.fireChannelRead(NIOAny(ByteBuffer(string: words)))
        context.fireErrorCaught(ChannelError.eof)
        context.fireChannelInactive()
        context.close(promise: promise)
    }
}
