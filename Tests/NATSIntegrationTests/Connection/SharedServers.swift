import NATS
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// Runs one plain server of each kind for all suites that ask for it, whose tests keep apart by their subjects and
/// stream names.
struct SharedServers: SuiteTrait, TestScoping {
    @TaskLocal private static var running: [NATSServerBinary: NATSServerProcess] = [:]

    private static let shared = SharedFixture {
        var servers: [NATSServerBinary: NATSServerProcess] = [:]
        for binary in NATSServerProcess.binaries {
            servers[binary] = try await NATSServerProcess.start(binary, configuration: "write_deadline: \"120s\"\n")
        }
        return servers
    } end: { servers in
        for server in servers.values { server.close() }
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Self.shared.use { servers in
            try await Self.$running.withValue(servers) { try await function() }
        }
    }

    /// The suite's server of this kind.
    static func server(_ binary: NATSServerBinary) throws -> NATSServerProcess {
        guard let server = running[binary] else { throw TestFailure("the suite shares no servers") }
        return server
    }

    /// A connection to the suite's server of this kind.
    static func connect(
        _ binary: NATSServerBinary, _ options: ConnectOptions = ConnectOptions()
    ) async throws -> NATSConnection {
        try await server(binary).connect(options)
    }

    /// Name and subject prefix for one test alone.
    static func unique() -> String { "T" + UniqueToken.next() }
}

extension Trait where Self == SharedServers {
    /// One plain server of each kind for the tests of the suite.
    static var sharedServers: Self { SharedServers() }
}

extension NATSServerProcess {
    /// A connection to this server, which has the time of a busy machine for the login.
    func connect(_ options: ConnectOptions = ConnectOptions()) async throws -> NATSConnection {
        var patient = options
        patient.connectTimeout = max(options.connectTimeout, .seconds(60))
        return try await NATSConnection.connect(to: ServerAddress(parsing: url), options: patient)
    }
}

extension NATSSubscription {
    /// The next `count` messages.
    ///
    /// - Throws: `TestFailure` when the subscription ends before; what the subscription throws.
    func first(_ count: Int) async throws -> [NATSMessage] {
        var messages: [NATSMessage] = []
        var iterator = makeAsyncIterator()
        while messages.count < count {
            guard let message = try await iterator.next() else {
                throw TestFailure("the subscription ended after \(messages.count) of \(count) messages")
            }
            messages.append(message)
        }
        return messages
    }

    /// The next message's text.
    func nextText() async throws -> String {
        guard let message = try await first(1).first else { throw TestFailure("no message") }
        return message.text
    }
}

extension ScriptedPeer {
    /// A connection to this peer, on the loops that all tests share unless others are given.
    func connect(
        _ options: ConnectOptions = ConnectOptions(), group: any EventLoopGroup = NIOSingletons.posixEventLoopGroup
    ) async throws -> NATSConnection {
        var patient = options
        patient.connectTimeout = max(options.connectTimeout, .seconds(60))
        return try await NATSConnection.connect(to: ServerAddress(parsing: url), options: patient, group: group)
    }
}

/// The error of a body that is to fail; nil when it does not.
func failure(of body: () async throws(NATSError) -> Void) async -> NATSError? {
    do throws(NATSError) {
        try await body()
        return nil
    } catch {
        return error
    }
}

extension NATSError? {
    var isTimeout: Bool { if case .timeout = self { true } else { false } }
    var isViolation: Bool { if case .protocolViolation = self { true } else { false } }
    var isInvalidArgument: Bool { if case .invalidArgument = self { true } else { false } }
    var isTLS: Bool { if case .tls(let words) = self { !words.isEmpty } else { false } }

    /// Whether a server or a network has gone, which may come back.
    var isLoss: Bool {
        switch self {
        case .closedByServer, .connectionLost: self?.isRetryable == true
        default: false
        }
    }
}
