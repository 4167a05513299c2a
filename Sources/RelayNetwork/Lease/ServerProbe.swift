import NATS
import NIOCore
import NIOPosix

/// Looks whether a NATS server answers at an address of this machine.
package enum ServerProbe {
    private static let patience = TimeAmount.seconds(2)

    /// Whether the server says INFO within two seconds, of which it needs the most on a busy machine alone. Where none
    /// listens that is known at once. No thread waits for it.
    package static func answers(at address: ServerAddress) async -> Bool {
        do {
            let place = try SocketAddress(ipAddress: address.host, port: address.port)
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(patience)
                .connect(to: place) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let end = channel.channel.eventLoop.scheduleTask(in: patience) { channel.channel.close(promise: nil) }
            defer { end.cancel() }
            return try await channel.executeThenClose { answer, _ in
                // The greeting is one line, of which the first packet has the beginning.
                for try await bytes in answer { return bytes.readableBytesView.starts(with: "INFO ".utf8) }
                return false
            }
        } catch {
            return false
        }
    }
}
