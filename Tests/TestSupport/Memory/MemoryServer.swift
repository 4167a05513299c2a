import Foundation
import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A NATS server in the process's own memory, with as much of JetStream as the client core uses, and faults on demand.
///
/// Clients reach it over pairs of connected sockets: no port, no other process, no network. It behaves as the real
/// servers do wherever the client looks, which `ServerPromise` proves. It goes with its last reference and its last
/// connection.
public final class MemoryServer: Sendable {
    /// Answers a request, or nil to leave it without an answer. It runs on the server's event loop and must not wait.
    public typealias Handler = @Sendable ([UInt8]) -> [UInt8]?

    private struct Wiring: Sendable {
        var channels: [Int: any Channel] = [:]
        var lastNumber = 0
        /// Whether work is being done; only the event loop asks.
        var isSettling = false
        var alarm: Scheduled<Void>?
        var alarmMoment: Int64?
    }

    private let loop: any EventLoop = NIOSingletons.posixEventLoopGroup.next()
    private let clock: MemoryClock
    private let broker: NIOLockedValueBox<MemoryBroker>
    private let wiring = NIOLockedValueBox(Wiring())

    /// Starts a server without streams.
    ///
    /// - Parameters:
    ///   - apiPrefixes: what the subjects of JetStream's API begin with.
    ///   - ahead: how far its clock is ahead of the machine's; negative for one that is behind.
    public init(apiPrefixes: [String] = [JetStream.standardPrefix], ahead: Duration = .zero) {
        clock = MemoryClock(ahead: ahead)
        broker = NIOLockedValueBox(MemoryBroker(apiPrefixes: apiPrefixes, at: clock.now))
    }

    deinit { wiring.withLockedValue { _ = $0.alarm?.cancel() } }

    // MARK: Connecting

    /// Connects a client: what a client dials in place of a TCP connection.
    ///
    /// - Parameters:
    ///   - address: what the connection takes for the server's address; its host and port mean nothing here.
    ///   - options: as for a connection over TCP.
    /// - Throws: what `refuseDials` was given, or what the login fails with.
    public func connect(
        _ address: ServerAddress = ServerAddress(host: "memory"), _ options: ConnectOptions = ConnectOptions()
    ) async throws(NATSError) -> NATSConnection {
        if let refusal = perform({ $0.dial() }) { throw refusal }
        let channel: any Channel
        do { channel = try await open() } catch { throw .connectionLost("\(error)") }
        return try await NATSConnection.connect(over: channel, to: address, options: options)
    }

    /// A channel whose other end is the server's.
    private func open() async throws -> any Channel {
        let pair = try SocketPair()
        let number = wiring.withLockedValue { wiring in
            wiring.lastNumber += 1
            return wiring.lastNumber
        }
        do {
            _ = try await ClientBootstrap(group: loop)
                .channelInitializer { [self] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(MemoryServerHandler(self, number: number))
                    }
                }
                .withConnectedSocket(pair.server)
                .get()
        } catch {
            pair.closeClient()
            throw error
        }
        // What the server says first stays unread until the connection's own handler is there.
        return try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .channelOption(ChannelOptions.autoRead, value: false)
            .withConnectedSocket(pair.client)
            .get()
    }

    func joined(_ number: Int, _ channel: any Channel) {
        wiring.withLockedValue { $0.channels[number] = channel }
        perform { $0.handle(.joined(number)) }
    }

    func sent(_ operations: [ClientOperation], by number: Int) {
        guard !operations.isEmpty else { return }
        perform { $0.handle(.sent(number, operations)) }
    }

    func left(_ number: Int) {
        wiring.withLockedValue { _ = $0.channels.removeValue(forKey: number) }
        perform { $0.handle(.left(number)) }
    }

    // MARK: Work

    /// Has the broker change something, and has done what comes of it.
    @discardableResult
    func perform<Value: Sendable>(_ change: (inout MemoryBroker) -> Value) -> Value {
        let value = broker.withLockedValue { broker in
            broker.advance(to: clock.now)
            return change(&broker)
        }
        if loop.inEventLoop { settle() } else { loop.execute { self.settle() } }
        return value
    }

    /// Asks the broker something.
    func look<Value: Sendable>(_ question: (MemoryBroker) -> Value) -> Value {
        broker.withLockedValue { question($0) }
    }

    /// Writes what is to be sent, has services answer, and sets the alarm. On the event loop.
    private func settle() {
        // A write may end a connection at once, which comes back here. The call that is at work already does the rest,
        // too.
        let isFirst = wiring.withLockedValue { wiring in
            defer { wiring.isSettling = true }
            return !wiring.isSettling
        }
        guard isFirst else { return }
        while let work = broker.withLockedValue({ $0.takeWork() }) { carryOut(work) }
        wiring.withLockedValue { $0.isSettling = false }
        setAlarm(for: broker.withLockedValue { $0.plan() })
    }

    private func carryOut(_ work: MemoryBroker.Work) {
        for output in work.outputs {
            guard let channel = wiring.withLockedValue({ $0.channels[output.link] }) else { continue }
            let isWritten = channel.writeAndFlush(output.bytes)
            // The client closes when it has read everything. Were this end to close first, what it has not read of the
            // client's bytes would reset the connection.
            if output.isLast { isWritten.whenComplete { _ in channel.close(mode: .output, promise: nil) } }
        }
        for call in work.calls {
            let answer = call.handler(call.payload)
            broker.withLockedValue { $0.answered(call, with: answer) }
        }
    }

    private func setAlarm(for moment: Int64?) {
        wiring.withLockedValue { wiring in
            guard moment != wiring.alarmMoment else { return }
            wiring.alarm?.cancel()
            wiring.alarmMoment = moment
            wiring.alarm = moment.map { moment in
                loop.scheduleTask(in: .nanoseconds(max(0, moment - clock.now))) { [weak self] in
                    guard let self else { return }
                    self.alarmCame()
                }
            }
        }
    }

    private func alarmCame() {
        wiring.withLockedValue { wiring in
            wiring.alarm = nil
            wiring.alarmMoment = nil
        }
        perform { _ in }
    }
}

/// Nanoseconds since 1970 that never go back.
struct MemoryClock: Sendable {
    private let begin = NIODeadline.now()
    private let base: Int64

    init(ahead: Duration = .zero) {
        base = Int64(Date().timeIntervalSince1970 * 1e9) + ahead.components.seconds * 1_000_000_000
    }

    var now: Int64 { base + (NIODeadline.now() - begin).nanoseconds }
}

/// The server's end of one connection.
final class MemoryServerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let server: MemoryServer
    private let number: Int
    private var decoder = ClientOperationDecoder()

    init(_ server: MemoryServer, number: Int) {
        self.server = server
        self.number = number
    }

    func channelActive(context: ChannelHandlerContext) {
        server.joined(number, context.channel)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        server.sent(decoder.decode(unwrapInboundIn(data)), by: number)
    }

    func channelInactive(context: ChannelHandlerContext) {
        server.left(number)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
