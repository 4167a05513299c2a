import NIOCore
import NIOPosix

/// Finds out over a connection of its own which side begins: whether a silent server waits for TLS, or one that broke
/// off the handshake speaks first. Its words may have been lost with the connection.
final class TLSProbe: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A TLS 1.2 ClientHello (RFC 5246, 7.4.1.2) with one cipher: any answer to it is enough.
    private static let hello: [UInt8] = {
        let random = [UInt8](repeating: 0x2A, count: 32)
        let body: [UInt8] = [3, 3] + random + [0, 0, 2, 0xC0, 0x2F, 1, 0]
        let handshake: [UInt8] = [1, 0, 0, UInt8(body.count)] + body
        return [22, 3, 1, 0, UInt8(handshake.count)] + handshake
    }()

    enum Question {
        /// Whether it answers a ClientHello with TLS.
        case waitsForTLS
        /// Whether it greets a silent client.
        case speaksFirst

        /// Why a login failed if the answer is yes.
        func meaning(for address: ServerAddress) -> NATSError {
            switch self {
            case .waitsForTLS: .tlsFirst("\(address)")
            case .speaksFirst: .speaksBeforeTLS("\(address)")
            }
        }
    }

    private let question: Question
    private let answer: EventLoopPromise<Bool>

    private init(_ question: Question, answer: EventLoopPromise<Bool>) {
        self.question = question
        self.answer = answer
    }

    static func ask(
        _ address: SocketAddress, _ question: Question, on loop: any EventLoop, within limit: TimeAmount
    ) -> EventLoopFuture<Bool> {
        let answer = loop.makePromise(of: Bool.self)
        let alarm = loop.scheduleTask(in: limit) { answer.succeed(false) }
        ClientBootstrap(group: loop)
            .connectTimeout(limit)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TLSProbe(question, answer: answer))
                }
            }
            .connect(to: address)
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    answer.futureResult.whenComplete { _ in
                        alarm.cancel()
                        channel.close(promise: nil)
                    }
                case .failure: answer.succeed(false)
                }
            }
        return answer.futureResult
    }

    func channelActive(context: ChannelHandlerContext) {
        guard question == .waitsForTLS else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Self.hello)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let first = unwrapInboundIn(data).readableBytesView.prefix(2)
        switch question {
        // A handshake message, or the alert that refuses one.
        case .waitsForTLS: answer.succeed(first.elementsEqual([22, 3]) || first.elementsEqual([21, 3]))
        case .speaksFirst: answer.succeed(first.elementsEqual("IN".utf8))
        }
    }

    func channelInactive(context: ChannelHandlerContext) { answer.succeed(false) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { answer.succeed(false) }
}
