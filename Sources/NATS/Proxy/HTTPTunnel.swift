import NIOCore

/// Asks an HTTP proxy for a tunnel to a server (RFC 9110, 9.3.6) and passes nothing on before its answer. A NATS server
/// speaks first, so its INFO may arrive in one read with the answer.
final class HTTPTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The event that the tunnel is open.
    struct Established {}

    /// No proxy sends more before a tunnel opens.
    private static let maximumHead = 64 << 10

    private let failure: ProxyFailure
    private var hasAsked = false
    private var isOver = false
    private var answer = ByteBuffer()

    init(_ failure: ProxyFailure) { self.failure = failure }

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { ask(context) } }

    func channelActive(context: ChannelHandlerContext) {
        ask(context)
        context.fireChannelActive()
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard !hasAsked else { return }
        hasAsked = true
        let server = URLAuthority.text(host: failure.server.host, port: failure.server.port)
        var request = "CONNECT \(server) HTTP/1.1\r\nHost: \(server)\r\n"
        if let authorization = failure.proxy.authorization { request += "Proxy-Authorization: \(authorization)\r\n" }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request + "\r\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return context.fireChannelRead(data) }
        var part = unwrapInboundIn(data)
        answer.writeBuffer(&part)
        do throws(NATSError) {
            guard try takeHeads() else { return }
        } catch {
            isOver = true
            answer.clear()
            return context.fireErrorCaught(error)
        }
        isOver = true
        context.fireUserInboundEventTriggered(Established())
        guard answer.readableBytes > 0 else { return }
        context.fireChannelRead(wrapInboundOut(answer))
        context.fireChannelReadComplete()
    }

    /// Removes the heads of answers from the input; an informational one (1xx) is followed by another. Returns whether
    /// the tunnel is open.
    private func takeHeads() throws(NATSError) -> Bool {
        while let length = try headLength(), let head = answer.readString(length: length) {
            let lines = head.split(separator: "\r\n")
            let words = lines[0].split(separator: " ", maxSplits: 2)
            guard words.count > 1, words[1].utf8.count == 3, let code = Int(words[1]), code >= 100,
                lines.dropFirst().allSatisfy({ $0.contains(":") })
            else { throw failure.garbled }
            if code < 200, code != 101 { continue }
            if let error = failure.error(status: code, words.count > 2 ? String(words[2]) : "") { throw error }
            return true
        }
        return false
    }

    /// The length of the head with its empty line; nil until it is complete.
    private func headLength() throws(NATSError) -> Int? {
        let bytes = answer.readableBytesView
        let start = "HTTP/1.".utf8
        guard zip(bytes, start).allSatisfy({ $0 == $1 }) else { throw failure.garbled }
        var previous: UInt8 = 0
        var isAtLineStart = false
        for (place, byte) in bytes.enumerated() {
            guard place < Self.maximumHead, byte != UInt8(ascii: "\n") || previous == UInt8(ascii: "\r") else {
                throw failure.garbled
            }
            if byte == UInt8(ascii: "\n") {
                if isAtLineStart { return place + 1 }
                isAtLineStart = true
            } else if byte != UInt8(ascii: "\r") {
                isAtLineStart = false
            }
            previous = byte
        }
        return nil
    }
}
