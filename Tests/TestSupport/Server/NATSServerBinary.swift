import Foundation

/// An installed nats-server: the argument of tests that are run against each of them.
public struct NATSServerBinary: Hashable, Sendable, CustomStringConvertible {
    /// Where it is.
    public let path: String

    /// A server at a path.
    public init(path: String) { self.path = path }

    /// Whether it takes TLS before INFO, as servers from 2.10.4 on do.
    public var takesTLSFirst: Bool { Probe.output(path, "--version")?.contains("v2.9.") == false }

    /// Its path.
    public var description: String { path }
}

extension NATSServerProcess {
    /// The servers to run tests against: the paths in `PARLEY_TEST_NATS_SERVERS`, separated by colons; without it, the
    /// one that is installed. Never empty, so that a test never passes for want of a server.
    public static let binaries: [NATSServerBinary] = {
        let listed = ProcessInfo.processInfo.environment["PARLEY_TEST_NATS_SERVERS"] ?? ""
        let paths = listed.split(separator: ":").map(String.init)
        return (paths.isEmpty ? [installed] : paths).map { NATSServerBinary(path: $0) }
    }()

    /// The first of `binaries`: for tests that do not depend on the server's version.
    public static var anyBinary: NATSServerBinary { binaries[0] }

    /// The newest-looking of `binaries`: the last that was named.
    public static var newestBinary: NATSServerBinary { binaries[binaries.count - 1] }

    private static var installed: String {
        let path = try? Launch.path(of: "nats-server")
        return path ?? "/usr/sbin/nats-server"
    }
}
