import NATS
import NIOCore
import NIOPosix
import Platform

/// A `nats-server` of this machine, and what it says of itself.
package struct ServerProgram: Hashable, Sendable {
    let path: String
    /// Its version, such as `2.9.10`; nil when it did not say.
    let version: String?

    /// A program's version, such as `2.9.10`; nil when it says nothing of the kind within the limit.
    package static func version(of path: String, within limit: Duration) async throws(ShellCommandError) -> String? {
        // The path goes through the environment, where no character of it means anything to the shell.
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
        // A program cannot be run for as long as anybody has it open to write it: while it is being replaced, say, or
        // while a child process that is just being started still has what its parent had open.
        for attempt in 1...tries {
            do throws(ShellCommandError) { return ServerProgram(path: path, version: try await version(path)) } catch {
                guard case .failed = error, attempt < tries else { break }
            }
            do { try await Task.sleep(for: pause * (1 << attempt)) } catch { break }
        }
        return ServerProgram(path: path, version: nil)
    }

    static let tries = 7

    /// Whether it is 2.10 or newer: one mapping can cover a whole branch of subjects, and the configuration may say how
    /// often it forces what is stored onto the disk. A server that does not say its version is taken for an old one:
    /// what old ones read, all read.
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

    /// The path of the server: the one that the environment names, else the first in PATH and the usual folders.
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

    /// Whether the server says INFO within ten seconds, which a busy machine may need. Where none listens that is
    /// known at once. No thread waits.
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

package enum LoopbackPort {
    /// The port that everybody's NATS server has; a private network never takes it.
    static let reserved = 4222
    /// Ports below those of outgoing connections, one of which could have the server's when it starts again.
    private static let own = 20_000..<32_000

    /// The preferred port when it is free, else one of a server's own.
    /// - Parameter others: ports that are to be somebody else's.
    package static func choose(preferred: Int?, besides others: Set<Int> = []) throws(NetworkError) -> Int {
        let candidates = [preferred].compactMap(\.self) + (0..<64).map { _ in Int.random(in: own) }
        for port in candidates where port != reserved && !others.contains(port) && isFree(port) { return port }
        throw .serverFailed("no port of 127.0.0.1 is free.")
    }

    /// Whether a port can be listened at now, by listening for a moment.
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
        // As the server does: connections that linger from an earlier server do not make the port taken.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        return wanted.withSockAddr { bind(descriptor, $0, socklen_t($1)) } == 0 && listen(descriptor, 1) == 0
    }
}
