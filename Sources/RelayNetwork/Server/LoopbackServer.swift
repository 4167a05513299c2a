import NATS
import NIOCore
import NIOPosix
import Platform

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

/// Ports of 127.0.0.1.
package enum LoopbackPort {
    /// The port that everybody's NATS server has; a private network never takes it.
    static let reserved = 4222
    /// Ports below those that systems give to outgoing connections, one of which could have the server's port just when
    /// it starts again.
    private static let own = 20_000..<32_000

    /// The preferred port when it is free, else one of a server's own, else one that the system chooses.
    /// - Parameter others: ports that are to be somebody else's.
    package static func choose(preferred: Int?, besides others: Set<Int> = []) throws(NetworkError) -> Int {
        let taken = others.union([reserved])
        if let preferred, !taken.contains(preferred), let port = free(preferred) { return port }
        for _ in 0..<(8 + others.count) {
            let port = Int.random(in: own)
            if !taken.contains(port), isFree(port) { return port }
        }
        for _ in 0..<(8 + others.count) {
            if let port = free(0), !taken.contains(port) { return port }
        }
        throw .serverFailed("no port of 127.0.0.1 is free.")
    }

    /// Whether a port can be listened at now.
    static func isFree(_ port: Int) -> Bool { free(port) != nil }

    /// Whether a port can be listened at now, by listening for a moment; 0 asks for any.
    private static func free(_ port: Int) -> Int? {
        guard UInt16(exactly: port) != nil, let wanted = try? SocketAddress(ipAddress: "127.0.0.1", port: port) else {
            return nil
        }
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // As the server does: connections that linger from an earlier server do not make the port taken.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        guard wanted.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0, listen(descriptor, 1) == 0 else {
            return nil
        }
        var found = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &found) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: found.sin_port)) : nil
    }
}
