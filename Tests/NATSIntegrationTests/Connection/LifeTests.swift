import Dispatch
import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Life of a connection", .realProcesses)
struct LifeTests {
    /// A peer that takes a login and reads to the end.
    private func peer() throws -> ScriptedPeer { try ScriptedPeer { if $0.logIn() { $0.waitForEnd() } } }

    @Test("closing ends everything that waits, in good order", arguments: NATSServerProcess.binaries)
    func close(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary, jetStream: false)
        let connection = try await server.connect()
        let subscription = try connection.subscribe(to: "a")
        let silent = try connection.subscribe(to: "silent")
        async let request = failure { () async throws(NATSError) in
            _ = try await connection.request(ByteBuffer(), to: "silent", timeout: .seconds(60))
        }
        async let reading = failure { () async throws(NATSError) in
            var iterator = subscription.makeAsyncIterator()
            while try await iterator.next() != nil {}
        }
        async let ended = connection.waitUntilClosed()
        var events = connection.events.makeAsyncIterator()
        _ = try await silent.first(1)
        await connection.close()
        await connection.close()
        #expect(await request == .closed)
        #expect(await reading == nil)
        #expect(await ended == nil)
        #expect(await connection.waitUntilClosed() == nil)
        var last: NATSConnectionEvent?
        while let event = await events.next() { last = event }
        #expect(last == .closed(nil))
        #expect(throws: NATSError.closed) { try connection.publish([], to: "a") }
        #expect(throws: NATSError.closed) { try connection.subscribe(to: "a") }
        await #expect(throws: NATSError.closed) { try await connection.flush() }
        await #expect(throws: NATSError.closed) { try await connection.drained() }
        await #expect(throws: NATSError.closed) { try await connection.request(ByteBuffer(), to: "a") }
        subscription.unsubscribe()
        connection.closeNow()
    }

    @Test("closing writes what waits", arguments: NATSServerProcess.binaries)
    func closeFlushes(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary, jetStream: false)
        let reader = try await server.connect()
        let subscription = try reader.subscribe(to: "a")
        try await reader.flush()
        let count = 20_000
        let writer = try await server.connect()
        for _ in 0..<count { try writer.publish(ByteBuffer(repeating: 1, count: 128), to: "a") }
        await writer.close(timeout: .seconds(120))
        #expect(try await subscription.first(count).count == count)
        await reader.close()
    }

    @Test("a subscription, a request and events that outlive the connection end, and hold nothing")
    func droppedInUse() async throws {
        let peer = try peer()
        weak var core: ConnectionCore?
        do {
            let subscription: NATSSubscription
            let events: AsyncStream<NATSConnectionEvent>
            do {
                let held = try await peer.connect()
                core = held.core
                subscription = try held.subscribe(to: "a")
                events = held.events
            }
            await #expect(throws: NATSError.closed) { try await subscription.first(1) }
            var last: NATSConnectionEvent?
            for await event in events { last = event }
            #expect(last == .closed(.closed))
        }
        try await eventually("the socket is closed") { peer.ends == 1 }
        try await eventually("the state is freed") { core == nil }
    }

    @Test("a lost connection is freed too")
    func lostAndFreed() async throws {
        let peer = try ScriptedPeer { $0.logIn() }
        weak var core: ConnectionCore?
        do {
            let held = try await peer.connect()
            core = held.core
            _ = await held.waitUntilClosed()
        }
        try await eventually("the state is freed") { core == nil }
    }

    @Test("close races with all kinds of calls, and each of them has one end")
    func closeRaces() async throws {
        let peer = try peer()
        for round in 0..<50 {
            let connection = try await peer.connect(ConnectOptions(pingInterval: .zero))
            let subscription = try connection.subscribe(to: "a")
            await withTaskGroup { group in
                group.addTask {
                    _ = await failure { () async throws(NATSError) in
                        var iterator = subscription.makeAsyncIterator()
                        while try await iterator.next() != nil {}
                    }
                }
                for index in 0..<4 {
                    group.addTask {
                        let error = await failure { () async throws(NATSError) in
                            if index == 0 { try await connection.flush(timeout: .seconds(600)) }
                            if index == 1 {
                                _ = try await connection.request(ByteBuffer(), to: "a", timeout: .seconds(600))
                            }
                            if index == 2 { _ = try connection.subscribe(to: "b") }
                            if index == 3 { try connection.publish([], to: "b") }
                        }
                        #expect(error == nil || error == .closed)
                    }
                }
                group.addTask {
                    for _ in 0..<round % 10 { await Task.yield() }
                    connection.closeNow()
                }
                group.addTask { #expect(await connection.waitUntilClosed() == nil) }
            }
        }
        try await eventually("the sockets are closed") { peer.ends == 50 }
    }

    @Test("a peer that does not read is felt: the mark, the limit, and the way back")
    func backPressure() async throws {
        let gate = DispatchSemaphore(value: 0)
        let peer = try ScriptedPeer { link in
            guard link.logIn() else { return }
            gate.wait()
            link.waitForEnd()
        }
        let connection = try await peer.connect(
            ConnectOptions(pingInterval: .zero, outboundHighWaterMark: 1 << 20, outboundLimit: 8 << 20))
        let payload = ByteBuffer(repeating: 1, count: 64 << 10)
        #expect(try connection.publish(payload, to: "a"))
        // Sockets take some megabytes before they block; the limit comes after the mark.
        var seenMark = false
        var limit: NATSError?
        for _ in 0..<4_096 where limit == nil {
            limit = await failure { () async throws(NATSError) in
                if try !connection.publish(payload, to: "a") { seenMark = true }
            }
            await Task.yield()
        }
        #expect(seenMark)
        guard case .outboundBufferFull(let bytes) = limit else {
            Issue.record("\(String(describing: limit))")
            return
        }
        #expect(bytes >= 8 << 20 && bytes <= (8 << 20) + (1 << 17))
        async let draining: Void = connection.drained()
        async let flushing = failure { () async throws(NATSError) in try await connection.flush(timeout: .zero) }
        gate.signal()
        try await draining
        #expect(connection.core.outbound.unwrittenBytes < 1 << 20)
        #expect(try connection.publish(payload, to: "a"))
        _ = await flushing
        connection.closeNow()
    }

    @Test("a flush that is not confirmed in time fails, and the next confirmation is not taken for it")
    func flushTimeout() async throws {
        let gate = DispatchSemaphore(value: 0)
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("PING\r\n") else { return }
            gate.wait()
            link.send("PONG\r\n")
            guard link.waitFor("PING\r\n") else { return }
            link.send("PONG\r\n")
            link.waitForEnd()
        }
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero))
        await #expect(throws: NATSError.self) { try await connection.flush(timeout: .milliseconds(10)) }
        gate.signal()
        #expect(try await connection.ping(timeout: .seconds(60)) > .zero)
        connection.closeNow()
    }

    @Test("a ping that finds the outbound buffer full does not take the answer of the next one")
    func pingWithoutRoom() async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        var options = ConnectOptions()
        options.outboundLimit = 256 << 10
        options.outboundHighWaterMark = 128 << 10
        options.pingInterval = .zero
        let connection = try await server.connect(options)
        try await server.pause()
        let payload = [UInt8](repeating: 0, count: 64 << 10)
        var isFull = false
        for _ in 0..<10_000 where !isFull {
            do throws(NATSError) {
                try connection.publish(payload, to: "subject")
                await Task.yield()
            } catch { isFull = true }
        }
        #expect(isFull)
        await #expect(throws: NATSError.self) { try await connection.flush(timeout: .seconds(1)) }
        server.resume()
        try await connection.drained()
        try await connection.flush(timeout: .seconds(60))
        await connection.close()
    }
}
