import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Platform
import TestSupport
import Testing

@testable import NATS

@Suite("Faults of connections that must not come back", .realProcesses)
struct ConnectionRegressionTests {
    @Test("A host whose first address refuses is reached at its second")
    func severalAddresses() async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        let resolver = FixedResolver(
            addresses: [
                try SocketAddress(ipAddress: "127.0.0.2", port: server.port),
                try SocketAddress(ipAddress: "127.0.0.1", port: server.port),
            ])
        let connection = try await NATSConnection.connect(
            to: ServerAddress(host: "two.example", port: server.port),
            options: ConnectOptions(connectTimeout: .seconds(60)), group: NIOSingletons.posixEventLoopGroup,
            resolver: resolver)
        try await connection.flush()
        await connection.close()
    }

    @Test("A dial that was cancelled before it began leaves no socket behind")
    func cancelledDial() async throws {
        let peer = try GreetingPeer()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await NATSConnection.connect(to: ServerAddress(host: "127.0.0.1", port: peer.port))
        }
        await #expect(throws: NATSError.cancelled) { try await task.value }
        try await eventually("the end of the socket") { peer.hasNoClient }
    }

    @Test("Every request has an end, however many begin while the last one of others ends")
    func requestDeadlines() async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        let connection = try await server.connect()
        let silent = try connection.subscribe(to: "silent")
        try await connection.flush()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<40 {
                        await #expect(throws: NATSError.self) {
                            _ = try await connection.request(
                                ByteBuffer(), to: "silent", timeout: .milliseconds(1 + (number * 7 + round) % 60))
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

    @Test("A subscription with a maximum ends behind its last message")
    func maximum() async throws {
        let server = try await NATSServerProcess.start(jetStream: false)
        let connection = try await server.connect()
        let subscription = try connection.subscribe(to: "subject")
        subscription.unsubscribe(after: 3)
        for number in 0..<5 { try connection.publish([UInt8(number)], to: "subject") }
        try await connection.flush()
        let reader = Task {
            var bytes: [UInt8] = []
            for try await message in subscription { bytes += message.bytes }
            return bytes
        }
        let alarm = Task {
            try await Task.sleep(for: .seconds(300))
            reader.cancel()
            Issue.record("the sequence did not end")
        }
        #expect(try await reader.value == [0, 1, 2])
        alarm.cancel()
        await connection.close()
    }

    @Test("A ping that finds the outbound buffer full does not take the answer of the next one")
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

    @Test("A server's limit below a kilobyte is kept before anything is sent")
    func smallLimit() async throws {
        let server = try await NATSServerProcess.start(configuration: "max_payload: 100\n", jetStream: false)
        let connection = try await server.connect()
        #expect(throws: NATSError.payloadTooLarge(bytes: 500, limit: 100)) {
            try connection.publish([UInt8](repeating: 0, count: 500), to: "subject")
        }
        try connection.publish([UInt8](repeating: 0, count: 100), to: "subject")
        try await connection.flush()
        await connection.close()
    }

    @Test("Requests fail at once where the server refuses the inbox that answers come to")
    func refusedInbox() async throws {
        let server = try await NATSServerProcess.start(
            configuration:
                "authorization { users: [ { user: a, password: b, permissions: { subscribe: [\"mine.>\"] } } ] }\n",
            jetStream: false)
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: "nats://a:b@127.0.0.1:\(server.port)"))
        try await connection.flush()
        await #expect {
            _ = try await connection.request(ByteBuffer(), to: "anything", timeout: .seconds(30))
        } throws: { error in
            if case .subscribeNotPermitted = error as? NATSError { true } else { false }
        }
        await connection.close()
    }
}

/// Answers every look-up with the same addresses.
private struct FixedResolver: Resolver, Sendable {
    let addresses: [SocketAddress]

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        NIOSingletons.posixEventLoopGroup.next().makeSucceededFuture(addresses)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        NIOSingletons.posixEventLoopGroup.next().makeSucceededFuture([])
    }

    func cancelQueries() {}
}

/// Greets a client as a server does, accepts the login, and knows whether the client is still there.
private final class GreetingPeer: Sendable {
    private final class Greeter: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let clients: Clients

        init(_ clients: Clients) { self.clients = clients }

        func channelActive(context: ChannelHandlerContext) {
            clients.count.withLockedValue { $0 += 1 }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "INFO {\"max_payload\":1024}\r\n")), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard unwrapInboundIn(data).readableBytesView.starts(with: "CONNECT".utf8) else { return }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "PONG\r\n")), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { clients.count.withLockedValue { $0 -= 1 } }
    }

    private final class Clients: Sendable { let count = NIOLockedValueBox(0) }

    private let clients = Clients()
    private let channel: any Channel

    init() throws {
        let clients = clients
        channel = try ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .childChannelInitializer { $0.pipeline.addHandler(Greeter(clients)) }
            .bind(host: "127.0.0.1", port: 0).wait()
    }

    deinit { channel.close(promise: nil) }

    var port: Int { channel.localAddress?.port ?? 0 }

    /// Looks for a while, so that a client that is still on its way is seen.
    var hasNoClient: Bool {
        for _ in 0..<50 {
            if clients.count.withLockedValue({ $0 }) != 0 { return false }
            usleep(4_000)
        }
        return true
    }
}
