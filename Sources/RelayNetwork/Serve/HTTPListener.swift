import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

struct HTTPQuestion: Sendable {
    var method: String
    /// Without the query.
    var path: String
    var authorization: String?
    var body: [UInt8] = []
}

struct HTTPAnswer: Hashable, Sendable {
    var status: Int
    var type = "text/plain; charset=utf-8"
    var body: String
}

struct HTTPAddress: Hashable, Sendable {
    let host: String
    let port: Int
    let isLoopback: Bool

    /// Parses an address and a port, such as `127.0.0.1:7422`; port 0 lets the system choose.
    init(parsing text: String) throws(NetworkError) {
        let split = text.lastIndex(of: ":")
        let host = split.map { String(text[..<$0]) } ?? ""
        let plain = host == "localhost" ? "127.0.0.1" : host.filter { $0 != "[" && $0 != "]" }
        guard let port = split.flatMap({ Int(text[text.index(after: $0)...]) }), (0...65_535).contains(port),
            (try? SocketAddress(ipAddress: plain, port: port)) != nil
        else {
            throw .invalidListener("\(text.debugDescription) is not an address with a port, such as 127.0.0.1:7422.")
        }
        (self.host, self.port) = (plain, port)
        isLoopback = IPLiteral(plain)?.isLoopback == true
    }
}

/// The HTTP port of a services process. Each connection is for one request.
struct HTTPListener: Sendable {
    private let channel: any Channel

    private static let backlog: Int32 = 16
    static let limit = 64
    static let maximumBody = 16 << 10
    private static let patience = TimeAmount.seconds(30)

    static func start(
        at address: HTTPAddress, certificate: (chain: String, key: String)? = nil,
        _ answer: @escaping @Sendable (HTTPQuestion) async -> HTTPAnswer
    ) async throws(NetworkError) -> HTTPListener {
        let tls = try certificate.map { files throws(NetworkError) in try context(files.chain, files.key) }
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
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try pipeline.addHandler(AnswerHandler(answer))
                }
            }
        do {
            return HTTPListener(channel: try await bootstrap.bind(host: address.host, port: address.port).get())
        } catch {
            throw .invalidListener("Cannot listen on \(address.host):\(address.port): \(systemWords(error))")
        }
    }

    private static func context(_ chain: String, _ key: String) throws(NetworkError) -> NIOSSLContext {
        var pair = TLSConfiguration.makeClientConfiguration()
        do throws(NATSError) {
            try TLSOptions(certificateFile: chain, privateKeyFile: key).apply(to: &pair)
        } catch {
            throw .invalidCertificate("\(error)")
        }
        try PrivateFile.checkSecret(key)
        let unusable = NetworkError.invalidCertificate("\(chain) and \(key) cannot be used for HTTP over TLS.")
        guard let secret = pair.privateKey else { throw unusable }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: pair.certificateChain, privateKey: secret)
        configuration.minimumTLSVersion = .tlsv12
        do { return try NIOSSLContext(configuration: configuration) } catch { throw unusable }
    }

    var port: Int? { channel.localAddress?.port }

    func close() { channel.close(promise: nil) }
}

/// Answers one request and closes. Each connection has its own, used only on its event loop.
private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: @Sendable (HTTPQuestion) async -> HTTPAnswer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isAnswered = false

    init(_ answer: @escaping @Sendable (HTTPQuestion) async -> HTTPAnswer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let part):
            guard let head else { return }
            guard body.count + part.readableBytes <= HTTPListener.maximumBody else {
                return write(
                    HTTPAnswer(status: 413, body: "at most \(HTTPListener.maximumBody) bytes\n"), head, context)
            }
            body += part.readableBytesView
        case .end:
            guard let head else { return context.close(promise: nil) }
            isAnswered = true
            let question = HTTPQuestion(
                method: head.method.rawValue, path: String(head.uri.prefix { $0 != "?" }),
                authorization: head.headers.first(name: "Authorization"), body: body)
            let place = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.makeFutureWithTask { [answer] in await answer(question) }.whenSuccess { said in
                let (handler, context) = place.value
                handler.write(said, head, context)
            }
        }
    }

    private func write(_ said: HTTPAnswer, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        isAnswered = true
        let body = context.channel.allocator.buffer(string: said.body)
        var headers: HTTPHeaders = [
            "Content-Type": said.type, "Content-Length": "\(body.readableBytes)", "Connection": "close",
            "Cache-Control": "no-store",
        ]
        if said.status == 401 { headers.add(name: "WWW-Authenticate", value: "Bearer") }
        let start = HTTPResponseHead(
            version: head.version, status: HTTPResponseStatus(statusCode: said.status), headers: headers)
        context.write(wrapOutboundOut(.head(start)), promise: nil)
        if head.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
