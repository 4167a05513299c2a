import NATS
import RelayFaults
import TestSupport
import Testing

@testable import RelayNetwork

/// A proxy between two plain sockets.
private struct Pair {
    let proxy: FaultProxy
    let listener: LoopbackSocket
    let client: LoopbackSocket
    let server: LoopbackSocket

    init() async throws {
        listener = try LoopbackSocket.listening()
        proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: listener.port))
        (client, server) = try await Self.connection(proxy, listener)
    }

    static func connection(
        _ proxy: FaultProxy, _ listener: LoopbackSocket
    ) async throws -> (client: LoopbackSocket, server: LoopbackSocket) {
        let client = try #require(try await LoopbackSocket.connected(to: proxy.address.port))
        return (client, try await listener.accepted())
    }
}

@Suite("Faults: the proxy between two sockets", .realProcesses)
struct FaultProxyTests {
    private static let text = Array("the quick brown fox jumps over the lazy dog".utf8)

    @Test("Bytes and ends go through both ways, and are counted")
    func passing() async throws {
        let pair = try await Pair()
        await pair.client.send(Self.text)
        #expect(await pair.server.read(Self.text.count).bytes == Self.text)
        await pair.server.send([1, 2, 3])
        #expect(await pair.client.read(3).bytes == [1, 2, 3])
        pair.client.finish()
        #expect(await pair.server.read(1).end == .finished)
        await pair.server.send([4])
        #expect(await pair.client.read(1).bytes == [4])
        pair.server.finish()
        #expect(await pair.client.read(1).end == .finished)
        try await eventually("the connection is over") { pair.proxy.statistics.openConnections == 0 }
        let statistics = pair.proxy.statistics
        #expect(statistics.bytesFromClient == Self.text.count && statistics.bytesFromServer == 4)
        #expect(statistics.acceptedConnections == 1 && statistics.cuts == 0 && statistics.swallowedBytes == 0)
        await pair.proxy.close()
    }

    @Test("A connection is cut after exactly so many bytes, either way", arguments: [FaultProxy.Ending.reset, .finish])
    func cutting(how: FaultProxy.Ending) async throws {
        let listener = try LoopbackSocket.listening()
        let proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: listener.port))
        let end: LoopbackSocket.End = how == .reset ? .reset : .finished
        for bytes in [1, 2, 17, Self.text.count] {
            let (client, server) = try await Pair.connection(proxy, listener)
            await proxy.cut(afterBytes: bytes, direction: .fromServer, how: how)
            await server.send(Self.text)
            let seen = await client.read(1_000)
            #expect(seen.bytes == Array(Self.text.prefix(bytes)) && seen.end == end, "\(bytes)")
            #expect(await server.read(1).end == end)
        }
        for bytes in [1, 30] {
            await proxy.cut(afterBytes: bytes, direction: .fromClient, how: how, on: .next)
            let (client, server) = try await Pair.connection(proxy, listener)
            await client.send(Self.text)
            let seen = await server.read(1_000)
            #expect(seen.bytes == Array(Self.text.prefix(bytes)) && seen.end == end, "\(bytes)")
        }
        // Only the next one was meant.
        let (client, server) = try await Pair.connection(proxy, listener)
        await client.send(Self.text)
        #expect(await server.read(Self.text.count).bytes == Self.text)
        await proxy.cut(how: how)
        #expect(await client.read(1).end == end)
        #expect(proxy.statistics.cuts == 7)
        await proxy.close()
    }

    @Test("Refused connections are refused by the system, and the same port comes back")
    func refusing() async throws {
        let pair = try await Pair()
        let port = pair.proxy.address.port
        for _ in 0..<3 {
            try await pair.proxy.set(.refuse)
            #expect(try await LoopbackSocket.connected(to: port) == nil)
            // Open connections are not touched.
            await pair.client.send([1])
            #expect(await pair.server.read(1).bytes == [1])
            try await pair.proxy.set(.passThrough)
            let (client, server) = try await Pair.connection(pair.proxy, pair.listener)
            await client.send([2])
            #expect(await server.read(1).bytes == [2])
        }
        await pair.proxy.close()
        #expect(try await LoopbackSocket.connected(to: port) == nil)
        // Given back, it can be had again; and taken, it is refused.
        let again = try await FaultProxy.start(target: pair.proxy.target, port: port)
        #expect(again.address.port == port)
        await #expect(throws: FaultError.self) {
            _ = try await FaultProxy.start(target: pair.proxy.target, port: pair.listener.port)
        }
        await again.close()
    }

    @Test("Silence accepts and says nothing; a black hole keeps sockets open and swallows")
    func silence() async throws {
        let pair = try await Pair()
        try await pair.proxy.set(.blackhole(.fromServer))
        await pair.server.send(Self.text)
        await pair.client.send([1])
        #expect(await pair.server.read(1).bytes == [1])
        try await eventually("the bytes are swallowed") { pair.proxy.statistics.swallowedBytes == Self.text.count }
        pair.server.finish()
        let quiet = await pair.client.read(1, seconds: 1)
        #expect(quiet.bytes.isEmpty && quiet.end == .silent)
        try await pair.proxy.set()
        #expect(await pair.client.read(1).end == .finished)

        try await pair.proxy.set(.silent)
        let unheard = try #require(try await LoopbackSocket.connected(to: pair.proxy.address.port))
        await unheard.send(Self.text)
        try await eventually("its bytes are swallowed") { pair.proxy.statistics.swallowedBytes == Self.text.count * 2 }
        #expect(await unheard.read(1, seconds: 1).end == .silent)
        #expect(pair.proxy.statistics.acceptedConnections == 2)
        await pair.proxy.cut()
        #expect(await unheard.read(1).end == .reset)
        await pair.proxy.close()
    }

    @Test("A half close ends its direction, though the server is only being dialled yet")
    func earlyHalfClose() async throws {
        let listener = try LoopbackSocket.listening()
        let proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: listener.port))
        for count in 1...100 {
            let client = try #require(try await LoopbackSocket.connected(to: proxy.address.port))
            while proxy.statistics.acceptedConnections < count { await Task.yield() }
            await proxy.halfClose(.fromClient)
            let server = try await listener.accepted()
            #expect(await server.read(1).end == .finished)
            await server.send(Self.text)
            #expect(await client.read(Self.text.count).bytes == Self.text)
        }
        await proxy.close()
    }

    @Test("A server that is not there costs the client its connection; a lost side is lost on the other")
    func losses() async throws {
        let pair = try await Pair()
        await pair.proxy.cut()
        let absent = try SilentPort()
        let proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: absent.port))
        let client = try #require(try await LoopbackSocket.connected(to: proxy.address.port))
        #expect(await client.read(1).end == .reset)
        try await eventually("nothing is left") { proxy.statistics.openConnections == 0 }
        // Two proxies in a row: a reset goes through the outer one.
        let inner = pair.proxy
        let outer = try await FaultProxy.start(target: inner.address)
        let far = try #require(try await LoopbackSocket.connected(to: outer.address.port))
        let server = try await pair.listener.accepted()
        await far.send([1])
        #expect(await server.read(1).bytes == [1])
        await inner.cut()
        #expect(await far.read(1).end == .reset)
        await inner.close()
        await outer.close()
        await proxy.close()
    }

    @Test(
        "Of several servers newcomers go to the next where one cannot be reached, stay with it, and are told when none can"
    )
    func others() async throws {
        let (first, second) = (try SilentPort(), try LoopbackSocket.listening())
        let proxy = try await FaultProxy.start(
            target: ServerAddress(host: "127.0.0.1", port: first.port),
            others: [ServerAddress(host: "127.0.0.1", port: second.port)])
        for _ in 0..<2 {
            let (client, server) = try await Pair.connection(proxy, second)
            await client.send([1])
            #expect(await server.read(1).bytes == [1])
        }
        second.close()
        let client = try #require(try await LoopbackSocket.connected(to: proxy.address.port))
        #expect(await client.read(1).end == .reset)
        await proxy.close()
    }

    @Test("A server that has come back at another port is followed by newcomers, and open connections stay")
    func forwarded() async throws {
        let (first, second) = (try LoopbackSocket.listening(), try LoopbackSocket.listening())
        let proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: first.port))
        let (client, server) = try await Pair.connection(proxy, first)
        await proxy.forward(to: ServerAddress(host: "127.0.0.1", port: second.port))
        let (newcomer, other) = try await Pair.connection(proxy, second)
        await newcomer.send([1])
        #expect(await other.read(1).bytes == [1])
        await client.send([2])
        #expect(await server.read(1).bytes == [2])
        await proxy.close()
    }

    @Test("The last reference closes everything")
    func release() async throws {
        let listener = try LoopbackSocket.listening()
        var proxy: FaultProxy? = try await FaultProxy.start(
            target: ServerAddress(host: "127.0.0.1", port: listener.port))
        let port = try #require(proxy?.address.port)
        let client = try #require(try await LoopbackSocket.connected(to: port))
        let server = try await listener.accepted()
        proxy = nil
        #expect(await client.read(1).end != .silent)
        #expect(await server.read(1).end != .silent)
        try await eventually("the port is free") { try await LoopbackSocket.connected(to: port) == nil }
        let again = try await FaultProxy.start(
            target: ServerAddress(host: "127.0.0.1", port: listener.port), port: port)
        await again.close()
    }
}
