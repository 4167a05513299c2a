import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// The HTTP port at which a process of a network's services tells how it is doing: `/health`, `/ready` and `/metrics`. It is
/// for this machine alone, for what it says is for nobody else.
struct StateListener: Sendable {
    private let channel: any Channel

    /// How many wait to be let in.
    private static let backlog: Int32 = 16
    /// How many ask at once; more are turned away.
    static let limit = 64
    /// How long one question and its answer may take.
    private static let patience = TimeAmount.seconds(10)

    /// Listens from now on.
    /// - Parameters:
    ///   - address: a loopback address and a port, such as `127.0.0.1:7422`; port 0 lets the system choose.
    ///   - answer: what is said at a path.
    static func start(
        at address: String, _ answer: @escaping @Sendable (String) -> ServiceState.Answer
    ) async throws(NetworkError) -> StateListener {
        let (host, port) = try parts(of: address)
        let open = NIOLockedValueBox(0)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                let count = open.withLockedValue { open in
                    open += 1
                    return open
                }
                let end = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
                channel.closeFuture.whenComplete { _ in
                    end.cancel()
                    open.withLockedValue { $0 -= 1 }
                }
                guard count <= limit else { return channel.close() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try pipeline.addHandler(AnswerHandler(answer))
                }
            }
        do {
            return StateListener(channel: try await bootstrap.bind(host: host, port: port).get())
        } catch {
            throw .invalidListener("\(address) cannot be listened at: \(error)")
        }
    }

    /// The port.
    var port: Int? { channel.localAddress?.port }

    /// Listens no more.
    func close() { channel.close(promise: nil) }

    /// - Throws: `NetworkError.invalidListener` for what is no loopback address with a port.
    static func parts(of address: String) throws(NetworkError) -> (host: String, port: Int) {
        let split = address.lastIndex(of: ":")
        let host = split.map { String(address[..<$0]) } ?? ""
        let port = split.flatMap { Int(address[address.index(after: $0)...]) }
        let plain = host == "localhost" ? "127.0.0.1" : host.filter { $0 != "[" && $0 != "]" }
        guard let port, (0...65_535).contains(port), plain.hasPrefix("127.") || plain == "::1",
            (try? SocketAddress(ipAddress: plain, port: port)) != nil
        else {
            throw .invalidListener(
                "The services' state is told to this machine alone: name a loopback address and a port, such as 127.0.0.1:7422."
            )
        }
        return (plain, port)
    }
}

/// Answers one request and closes. Each connection has its own, and its event loop alone uses it.
private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: @Sendable (String) -> ServiceState.Answer
    private var head: HTTPRequestHead?

    init(_ answer: @escaping @Sendable (String) -> ServiceState.Answer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        // Nothing that is asked here has a body.
        case .body: break
        case .end:
            guard let head else { return context.close(promise: nil) }
            self.head = nil
            write(head, to: context)
        }
    }

    private func write(_ head: HTTPRequestHead, to context: ChannelHandlerContext) {
        let isRead = head.method == .GET || head.method == .HEAD
        let path = String(head.uri.prefix { $0 != "?" })
        let said = isRead ? answer(path) : ServiceState.Answer(status: 405, body: "GET alone\n")
        let body = context.channel.allocator.buffer(string: said.body)
        let headers: HTTPHeaders = [
            "Content-Type": said.type, "Content-Length": "\(body.readableBytes)", "Connection": "close",
            "Cache-Control": "no-store",
        ]
        let start = HTTPResponseHead(
            version: head.version, status: HTTPResponseStatus(statusCode: said.status), headers: headers)
        context.write(wrapOutboundOut(.head(start)), promise: nil)
        if head.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
