import NATS
import NIOCore
import NIOPosix
import Platform

/// A `nats-server` of this machine and its version.
package struct ServerProgram: Hashable, Sendable {
    let path: String
    /// Such as `2.9.10`; nil if unknown.
    let version: String?

    /// A program's version, such as `2.9.10`; nil if it does not print one.
    package static func version(of path: String, within limit: Duration) async throws(ShellCommandError) -> String? {
        // Passed in the environment, where the shell interprets none of its characters.
        let command = ShellCommand(
            #"exec "$PARLEY_PROGRAM" --version 2>&1"#, environment: ["PARLEY_PROGRAM": path], limit: limit)
        let match = try await command.run().text.firstMatch(of: /^nats-server.*\sv?(\d\S{0,31})/)
        return match.map { String($0.1) }
    }

    static func examine(
        _ path: String, pause: Duration = .milliseconds(20),
        version: (String) async throws(ShellCommandError) -> String? = { path throws(ShellCommandError) in
            try await version(of: path, within: .seconds(10))
        }
    ) async -> ServerProgram {
        // A program cannot run while anyone has it open for writing: while it is being replaced, or while a new child
        // process still has its parent's descriptors.
        for attempt in 1...tries {
            do throws(ShellCommandError) { return ServerProgram(path: path, version: try await version(path)) } catch {
                guard case .failed = error, attempt < tries else { break }
            }
            do { try await Task.sleep(for: pause * (1 << attempt)) } catch { break }
        }
        return ServerProgram(path: path, version: nil)
    }

    static let tries = 7

    /// Whether it is 2.10 or newer: one mapping can cover a branch of subjects, and the sync interval can be set. An
    /// unknown version counts as old, since newer servers read an old one's configuration.
    var isRecent: Bool {
        guard let numbers = version?.split(separator: ".").prefix(2).map({ Int($0) ?? 0 }), numbers.count == 2 else {
            return false
        }
        return (numbers[0], numbers[1]) >= (2, 10)
    }
}

package enum ServerExecutable {
    static let variable = "PARLEY_NATS_SERVER"
    private static let name = "nats-server"
    private static let usualFolders = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"]

    /// The server's path: the one named in the environment, else the first in PATH and the usual folders.
    package static func find(in environment: [String: String]) throws(NetworkError) -> String {
        if let named = environment[variable], !named.isEmpty {
            guard isExecutable(named) else { throw .serverNotExecutable(path: named) }
            return named
        }
        let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        for folder in path + usualFolders where isExecutable("\(folder)/\(name)") {
            return "\(folder)/\(name)"
        }
        throw .serverMissing
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}

package enum ServerProbe {
    private static let patience = TimeAmount.seconds(10)

    /// Whether the server sends INFO within ten seconds, as a busy machine may need. False at once if none listens.
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
                // The greeting is one line; the first packet has its beginning.
                for try await bytes in answer { return bytes.readableBytesView.starts(with: "INFO ".utf8) }
                return false
            }
        } catch {
            return false
        }
    }
}

package enum LoopbackPort {
    /// The default port of any NATS server; a private network never takes it.
    static let reserved = 4222
    /// Below the ports of outgoing connections, which could block a restart.
    private static let own = 20_000..<32_000

    /// The preferred port if it is free, else one of a server's own.
    /// - Parameter others: ports to leave alone.
    package static func choose(preferred: Int?, besides others: Set<Int> = []) throws(NetworkError) -> Int {
        let candidates = [preferred].compactMap(\.self) + (0..<64).map { _ in Int.random(in: own) }
        for port in candidates where port != reserved && !others.contains(port) && isFree(port) { return port }
        throw .serverFailed("no port of 127.0.0.1 is free.")
    }

    static func isFree(_ port: Int) -> Bool {
        guard UInt16(exactly: port) ?? 0 > 0, let wanted = try? SocketAddress(ipAddress: "127.0.0.1", port: port) else {
            return false
        }
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // As the server does: connections lingering from an earlier server do not occupy the port.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        return wanted.withSockAddr { bind(descriptor, $0, socklen_t($1)) } == 0 && listen(descriptor, 1) == 0
    }
}
