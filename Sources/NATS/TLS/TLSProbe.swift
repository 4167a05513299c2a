import NIOCore
import NIOPosix

/// Finds out whether a server that said nothing waited for TLS, over a connection of its own.
final class TLSProbe: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A handshake's first message as TLS 1.2 has it (RFC 5246, 7.4.1.2), with one cipher: any answer to it tells
    /// enough.
    private static let hello: [UInt8] = {
        let random = [UInt8](repeating: 0x2A, count: 32)
        let body: [UInt8] = [3, 3] + random + [0, 0, 2, 0xC0, 0x2F, 1, 0]
        let handshake: [UInt8] = [1, 0, 0, UInt8(body.count)] + body
        return [22, 3, 1, 0, UInt8(handshake.count)] + handshake
    }()

    private let answer: EventLoopPromise<Bool>

    private init(answer: EventLoopPromise<Bool>) { self.answer = answer }

    /// Whether what listens at an address answers the beginning of a TLS handshake with TLS.
    static func ask(
        _ address: SocketAddress, on loop: any EventLoop, within limit: TimeAmount
    ) -> EventLoopFuture<Bool> {
        let answer = loop.makePromise(of: Bool.self)
        let alarm = loop.scheduleTask(in: limit) { answer.succeed(false) }
        ClientBootstrap(group: loop)
            .connectTimeout(limit)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TLSProbe(answer: answer))
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
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Self.hello)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A handshake message, or the alert that refuses one.
        let first = unwrapInboundIn(data).readableBytesView.prefix(2)
        answer.succeed(first.elementsEqual([22, 3]) || first.elementsEqual([21, 3]))
    }

    func channelInactive(context: ChannelHandlerContext) { answer.succeed(false) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { answer.succeed(false) }
}
