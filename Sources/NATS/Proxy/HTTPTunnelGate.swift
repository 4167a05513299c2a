import NIOCore
import NIOHTTP1

/// Sits next to the socket and lets the HTTP decoder see the heads of the proxy's answers and no byte more.
///
/// A NATS server speaks first, so its INFO may arrive in one read with the proxy's answer; the decoder would take it
/// for the beginning of another answer. What follows the head waits here until the tunnel is open.
final class HTTPTunnelGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum State {
        case reading(HeadEnd)
        case holding
        case open
    }

    private var state = State.reading(HeadEnd())
    private var held = ByteBuffer()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .open = state { return context.fireChannelRead(data) }
        var chunk = unwrapInboundIn(data)
        held.writeBuffer(&chunk)
        passHeads(context)
    }

    /// An informational answer (1xx) is followed by another head, so this goes on until `hold` is called.
    private func passHeads(_ context: ChannelHandlerContext) {
        while case .reading(var end) = state, held.readableBytes > 0 {
            let count = end.advance(over: held.readableBytesView)
            state = .reading(end)
            guard let part = held.readSlice(length: count) else { return }
            context.fireChannelRead(wrapInboundOut(part))
        }
        if held.readableBytes == 0 { held.clear() }
    }

    /// The answer's head was the last thing for the decoder.
    func hold() {
        if case .reading = state { state = .holding }
    }

    /// Hands over what waits, and everything from now on.
    func open(_ context: ChannelHandlerContext) {
        state = .open
        guard held.readableBytes > 0 else { return }
        let rest = held
        held = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(rest))
        context.fireChannelReadComplete()
    }
}

/// Finds the end of a head: an empty line, after which a new head may begin.
struct HeadEnd {
    private var isAtLineStart = false

    /// How many of the bytes belong to this head: up to the end of its empty line, or all of them.
    mutating func advance(over bytes: some Collection<UInt8>) -> Int {
        var count = 0
        for byte in bytes {
            count += 1
            switch byte {
            case UInt8(ascii: "\n"):
                if isAtLineStart {
                    isAtLineStart = false
                    return count
                }
                isAtLineStart = true
            case UInt8(ascii: "\r"): break
            default: isAtLineStart = false
            }
        }
        return count
    }
}

/// Looks at the status of the proxy's answer: only success goes on to the handler that waits for it.
final class HTTPTunnelStatus: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private let failure: ProxyFailure
    private var isRefused = false

    init(failure: ProxyFailure) { self.failure = failure }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data), let error = failure.error(status: head.status) {
            isRefused = true
            context.fireErrorCaught(error)
        }
        if !isRefused { context.fireChannelRead(data) }
    }
}
