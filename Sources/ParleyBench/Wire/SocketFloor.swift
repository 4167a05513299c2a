import NATS
import NIOCore
import NIOPosix

/// The same PUB frames, prepared beforehand and written to the same server in large pieces: what the socket and the
/// server allow when the client costs nothing.
enum SocketFloor {
    static func messagesPerSecond(_ parameters: WireParameters) async throws -> Double {
        let payload = String(repeating: "x", count: parameters.size)
        let frame = "PUB \(parameters.subject) \(parameters.size)\r\n\(payload)\r\n"
        let framesPerPiece = max(1, (64 << 10) / frame.utf8.count)
        let piece = ByteBuffer(string: String(repeating: frame, count: framesPerPiece))
        let pieces = max(1, parameters.count / framesPerPiece)
        let channel = try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .connect(host: parameters.address.host, port: parameters.address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var answers = inbound.makeAsyncIterator()
            func pong() async throws {
                var seen = ""
                while !seen.contains("PONG"), let chunk = try await answers.next() { seen += String(buffer: chunk) }
            }
            let login = "CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":false}\r\nPING\r\n"
            try await outbound.write(ByteBuffer(string: login))
            try await pong()
            let start = Meter.now()
            for _ in 0..<pieces { try await outbound.write(piece) }
            try await outbound.write(ByteBuffer(string: "PING\r\n"))
            try await pong()
            return Double(pieces * framesPerPiece) / (Meter.now() - start)
        }
    }
}
