import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tells that the screen of the person's session was locked, as the background, and unlocked, as the foreground; and
/// that the machine has woken up, as something that is worth a look at the connection.
///
/// systemd's logind says so over the system's bus of D-Bus. Where there is none, or no session of the person's, it
/// tells nothing. It runs no timer, and starts no program.
public final class LogindSource: LifecycleSource {
    private struct State {
        var receiver: LifecycleReceiver?
        var channel: (any Channel)?
    }

    private let socket: String?
    private let state = NIOLockedValueBox(State())

    /// A source that asks the system's bus, of which `DBUS_SYSTEM_BUS_ADDRESS` says where it is; without that it is
    /// where it is everywhere.
    public convenience init() {
        self.init(address: ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"])
    }

    /// - Parameter address: where the bus is, as D-Bus writes it; nil for the usual place.
    init(address: String?) {
        socket = Self.paths(in: address ?? "unix:path=/run/dbus/system_bus_socket").first {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    deinit { end() }

    /// Begins to listen.
    public func begin(_ receiver: LifecycleReceiver) {
        guard let socket else { return }
        state.withLockedValue { $0.receiver = receiver }
        ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = LogindHandler { [weak self] event in self?.tell(event) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(unixDomainSocketPath: socket)
            // Who cannot be reached tells nothing, and is not asked again.
            .whenSuccess { [weak self] channel in self?.keep(channel) ?? channel.close(promise: nil) }
    }

    /// Listens no more.
    public func end() {
        let channel = state.withLockedValue { state in
            defer { state = State() }
            return state.channel
        }
        channel?.close(promise: nil)
    }

    private func tell(_ event: LifecycleEvent) { state.withLockedValue(\.receiver)?.tell(event) }

    private func keep(_ channel: any Channel) {
        let isOver = state.withLockedValue { state in
            if state.receiver != nil { state.channel = channel }
            return state.receiver == nil
        }
        if isOver { channel.close(promise: nil) }
    }

    /// The sockets that a list of addresses names, in their order: `unix:path=/run/a%20b;tcp:host=…`.
    static func paths(in addresses: String) -> [String] {
        addresses.split(separator: ";").compactMap { address in
            guard address.hasPrefix("unix:") else { return nil }
            let values = address.dropFirst("unix:".count).split(separator: ",")
            let path = values.first { $0.hasPrefix("path=") }?.dropFirst("path=".count)
            return path.flatMap { String($0).removingPercentEncoding }
        }
    }
}

/// Carries out what a conversation with logind leads to, on the connection's event loop.
private final class LogindHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let tell: (LifecycleEvent) -> Void
    private var conversation = LogindConversation()

    init(_ tell: @escaping (LifecycleEvent) -> Void) { self.tell = tell }

    func channelActive(context: ChannelHandlerContext) {
        perform([.send(LogindConversation.greeting(of: UInt32(getuid())))], context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        perform(conversation.take(unwrapInboundIn(data).readableBytesView), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        perform(conversation.closed(), context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ actions: [LogindConversation.Action], _ context: ChannelHandlerContext) {
        for action in actions {
            switch action {
            case .send(let bytes):
                context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .tell(let event): tell(event)
            case .end: context.close(promise: nil)
            }
        }
        context.flush()
    }
}
