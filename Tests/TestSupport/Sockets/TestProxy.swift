import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSOCKS

/// A real proxy on a loopback port: CONNECT of HTTP/1.1, or SOCKS 5.
///
/// It ends with its last reference.
public final class TestProxy: Sendable {
    /// What a client has asked for.
    public struct Request: Sendable, Hashable {
        /// `host:port`, as the client named it.
        public var target: String
        /// The value of `Proxy-Authorization`.
        public var authorization: String?

        /// Makes a request.
        public init(target: String, authorization: String? = nil) {
            self.target = target
            self.authorization = authorization
        }
    }

    /// How the proxy behaves.
    public struct Conduct: Sendable {
        fileprivate let names: [String: String]
        fileprivate let authorization: String?
        fileprivate let answersWithServer: Bool
        fileprivate let preamble: String

        /// - Parameters:
        ///   - names: names that only the proxy can resolve.
        ///   - authorization: the user information that it wants, in base64.
        ///   - answersWithServer: whether it waits for the server's first bytes and sends them in one piece with its
        ///     own answer.
        ///   - preamble: what goes before the answer to CONNECT.
        public init(
            names: [String: String] = [:], authorization: String? = nil, answersWithServer: Bool = false,
            preamble: String = ""
        ) {
            self.names = names
            self.authorization = authorization
            self.answersWithServer = answersWithServer
            self.preamble = preamble
        }
    }

    /// Where it listens.
    public let address: ProxyAddress
    private let listener: any Channel
    private let log: NIOLockedValueBox<[Request]>

    /// What was asked for so far.
    public var requests: [Request] { log.withLockedValue { $0 } }

    private init(_ kind: ProxyAddress.Kind, listener: any Channel, log: NIOLockedValueBox<[Request]>) {
        self.listener = listener
        self.log = log
        address = ProxyAddress(kind, host: "127.0.0.1", port: listener.localAddress?.port ?? 0)
    }

    deinit { listener.close(promise: nil) }

    /// Starts a proxy at a port that the system chooses.
    public static func start(_ kind: ProxyAddress.Kind, _ conduct: Conduct = Conduct()) async throws -> TestProxy {
        let log = NIOLockedValueBox<[Request]>([])
        let listener = try await ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    switch kind {
                    case .http: try pipeline.addHandler(ConnectHandler(conduct, log))
                    case .socks5:
                        let handshake = SOCKSServerHandshakeHandler()
                        try pipeline.addHandler(handshake)
                        try pipeline.addHandler(SOCKSHandler(conduct, log, handshake))
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TestProxy(kind, listener: listener, log: log)
    }
}

/// Connects to the target and hands what comes from it to `received`, until the two are joined.
private func dial(
    _ host: String, _ port: Int, for client: any Channel
) -> EventLoopFuture<any Channel> {
    ClientBootstrap(group: client.eventLoop)
        .channelOption(ChannelOptions.autoRead, value: false)
        .connect(host: host, port: port)
}

/// Passes bytes and ends from one side of a tunnel to the other.
private final class Joint: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Joins both; the server's side is read from then on.
    static func join(_ client: any Channel, _ server: any Channel) throws {
        try client.pipeline.syncOperations.addHandler(Joint(to: server))
        try server.pipeline.syncOperations.addHandler(Joint(to: client))
        try server.syncOptions?.setOption(.autoRead, value: true)
        server.read()
    }
}

/// The CONNECT method.
private final class ConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    private let conduct: TestProxy.Conduct
    private let log: NIOLockedValueBox<[TestProxy.Request]>
    private var head = ""

    init(_ conduct: TestProxy.Conduct, _ log: NIOLockedValueBox<[TestProxy.Request]>) {
        self.conduct = conduct
        self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        head += String(buffer: unwrapInboundIn(data))
        guard head.hasSuffix("\r\n\r\n") else { return }
        let lines = head.split(separator: "\r\n")
        let words = lines[0].split(separator: " ").map(String.init)
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1).map(String.init) }
        func field(_ name: String) -> String? {
            fields.first { $0[0].lowercased() == name }.map { String($0[1].drop { $0 == " " }) }
        }
        guard words.count == 3, words[0] == "CONNECT", words[2] == "HTTP/1.1", field("host") == words[1],
            let colon = words[1].lastIndex(of: ":"), let port = Int(words[1][words[1].index(after: colon)...])
        else { return answer("HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad", context) }
        let authorization = field("proxy-authorization")
        log.withLockedValue { $0.append(TestProxy.Request(target: words[1], authorization: authorization)) }
        if let wanted = conduct.authorization, authorization != "Basic " + wanted {
            return answer("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", context)
        }
        let name = String(words[1][..<colon])
        connect(conduct.names[name] ?? name.trimmingBrackets, port, context)
    }

    private func connect(_ host: String, _ port: Int, _ context: ChannelHandlerContext) {
        let client = context.channel
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        dial(host, port, for: client).assumeIsolated().whenComplete { result in
            let (handler, context) = bound.value
            switch result {
            case .failure: handler.answer("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", context)
            case .success(let server): handler.open(server, context)
            }
        }
    }

    private func open(_ server: any Channel, _ context: ChannelHandlerContext) {
        let client = context.channel
        let answer = ByteBuffer(string: conduct.preamble + "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        do {
            if conduct.answersWithServer {
                try server.pipeline.syncOperations.addHandler(FirstWords(answer), position: .first)
            } else {
                client.writeAndFlush(answer, promise: nil)
            }
            try Joint.join(client, server)
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch { client.close(promise: nil) }
    }

    private func answer(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
    }
}

/// Puts the proxy's answer before the server's first bytes.
private final class FirstWords: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    private var answer: ByteBuffer?

    init(_ answer: ByteBuffer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard var first = answer else { return context.fireChannelRead(data) }
        answer = nil
        var chunk = unwrapInboundIn(data)
        first.writeBuffer(&chunk)
        context.fireChannelRead(wrapInboundOut(first))
    }
}

/// SOCKS 5 without authentication.
private final class SOCKSHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ClientMessage
    typealias OutboundOut = ServerMessage
    private let conduct: TestProxy.Conduct
    private let log: NIOLockedValueBox<[TestProxy.Request]>
    private let handshake: SOCKSServerHandshakeHandler
    private var isAsked = false

    init(
        _ conduct: TestProxy.Conduct, _ log: NIOLockedValueBox<[TestProxy.Request]>,
        _ handshake: SOCKSServerHandshakeHandler
    ) {
        self.conduct = conduct
        self.log = log
        self.handshake = handshake
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // With its end the handshake hands on what it still has, which is no SOCKS any more.
        if isAsked { return context.fireChannelRead(data) }
        switch unwrapInboundIn(data) {
        case .greeting:
            send(.selectedAuthenticationMethod(.init(method: .noneRequired)), context)
            send(.authenticationData(ByteBuffer(), complete: true), context)
        case .authenticationData: break
        case .request(let request):
            isAsked = true
            connect(request, context)
        }
    }

    private func send(_ message: ServerMessage, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(message), promise: nil)
    }

    private func connect(_ request: SOCKSRequest, _ context: ChannelHandlerContext) {
        let host: String
        let port: Int
        switch request.addressType {
        case .domain(let name, let number): (host, port) = (name, number)
        case .address(let address): (host, port) = (address.ipAddress ?? "", address.port ?? 0)
        }
        log.withLockedValue { $0.append(TestProxy.Request(target: "\(host):\(port)", authorization: nil)) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        dial(conduct.names[host] ?? host, port, for: context.channel).assumeIsolated().whenComplete { result in
            let (handler, context) = bound.value
            let reply: SOCKSServerReply
            switch result {
            case .success: reply = .succeeded
            case .failure(let error):
                reply = (error as? NIOConnectionError)?.connectionErrors.isEmpty == true ? .hostUnreachable : .refused
            }
            handler.send(.response(SOCKSResponse(reply: reply, boundAddress: request.addressType)), context)
            guard case .success(let server) = result else { return }
            let pipeline = context.channel.pipeline.syncOperations
            do {
                try Joint.join(context.channel, server)
                pipeline.removeHandler(handler, promise: nil)
                pipeline.removeHandler(handler.handshake, promise: nil)
            } catch { context.close(promise: nil) }
        }
    }
}

extension String {
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
