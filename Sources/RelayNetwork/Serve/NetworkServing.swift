import Logging
import NATS
import NIOConcurrencyHelpers
import Platform

/// The services of a network on a cluster, in this process. Any number of processes share the requests; none stores
/// anything, so each can end at any time.
public struct NetworkServing: Sendable {
    /// The options of a process.
    public struct Options: Sendable {
        /// The address and port for HTTP; nil for none. A loopback address also serves the process's state.
        public var httpAddress: String?
        /// PEM files of a certificate chain and its key; without them only this machine is answered.
        public var certificate: (chain: String, key: String)?
        /// The service that issues tokens there; nil for none.
        public var tokens: TokenService?
        /// Whether TERM, INT and HUP end it in order. If false, signals are left to the caller's process.
        public var handlesSignals = true
        /// How long earlier requests may take when it ends.
        var patience = Duration.seconds(5)
        /// Receives the log; silent by default.
        public var logger = Logger.silent
        /// Called when it begins to answer requests; if it throws, that is tried again.
        var answering: @Sendable () async throws(NetworkError) -> Void = {}

        /// Makes the default options.
        public init() {}
    }

    private let access: ServiceAccess
    private let options: Options
    private let figures = NIOLockedValueBox(ServiceFigures(start: NetworkAdministrator.now))
    private let life: NIOLockedValueBox<Life>

    private struct Life {
        var state: ServiceState
        var services: NetworkServices?
        var isEnding = false
    }

    /// Makes the process's services; nothing happens before ``run()``.
    public init(_ access: ServiceAccess, options: Options = Options()) {
        (self.access, self.options) = (access, options)
        life = .init(Life(state: ServiceState(id: NetworkServices.newID(), network: access.plan.names.namespace)))
    }

    /// Answers requests until a signal arrives or the task is cancelled. If a server is lost, it connects to another.
    /// - Throws: `NetworkError.invalidListener`, `.invalidCertificate`, `.file` or `.invalidProvision`.
    public func run() async throws(NetworkError) {
        let folder = try access.authority.map { text throws(NetworkError) in
            let folder = try TemporaryFolder.make("serve")
            try PrivateFile.write(text.utf8, to: folder + "/authority.pem")
            return folder
        }
        defer { folder.map { try? FileManager.default.removeItem(atPath: $0) } ?? () }
        let addresses = try ClusterNetwork(
            servers: access.servers, authorityFile: folder.map { $0 + "/authority.pem" }
        ).addresses()
        let listener = try await listener()
        defer { listener?.close() }
        if let port = listener?.port { options.logger.info("answers HTTP at port \(port)") }
        try await untilOneEnds(
            { await serve(addresses) },
            {
                await EndingSignals.wait(isWanted: options.handlesSignals)
                if !Task.isCancelled { await drain() }
            })
        options.logger.info("ends")
    }

    private func listener() async throws(NetworkError) -> HTTPListener? {
        guard let text = options.httpAddress else { return nil }
        let address = try HTTPAddress(parsing: text)
        if !address.isLoopback {
            guard options.certificate != nil else {
                throw .invalidListener(
                    "Other machines are answered only over TLS: name a certificate with --tls-cert and --tls-key, or a loopback address such as 127.0.0.1:7422."
                )
            }
            guard options.tokens != nil else {
                throw .invalidListener(
                    "Only this machine may see the state of the services: name a loopback address, such as 127.0.0.1:7422."
                )
            }
        }
        return try await HTTPListener.start(at: address, certificate: options.certificate) { question in
            if let answer = await options.tokens?.answer(question) { return answer }
            guard address.isLoopback else { return HTTPAnswer(status: 404, body: "/tokens\n") }
            return life.withLockedValue(\.state).answer(to: question, figures.withLockedValue(\.self))
        }
    }

    /// Leaves new requests to other processes and answers earlier ones. Then it no longer connects to any server;
    /// ``run()`` continues until it is cancelled or the connection ends.
    package func drain() async {
        let services = life.withLockedValue { life in
            life.isEnding = true
            life.state.ended("it ends")
            return life.services
        }
        await services?.drain(within: options.patience)
    }

    private var isEnding: Bool { Task.isCancelled || life.withLockedValue(\.isEnding) }

    private func serve(_ addresses: [ServerAddress]) async {
        var policy = RestartPolicy()
        // Spreads processes that start together over the servers.
        var addresses = addresses.shuffled()
        while !isEnding {
            let begin = ContinuousClock.now
            var reason = "the connection ended"
            do throws(NetworkError) { try await answer(addresses) } catch { reason = "\(error)" }
            if isEnding { return }
            // Jitter for processes that lose a server together.
            let full = policy.delay(afterLifetime: begin.duration(to: .now), didAnswer: true) ?? policy.longestDelay
            let wait = max(full, policy.firstDelay) * Double.random(in: 0.5..<1)
            life.withLockedValue { $0.state.ended(reason) }
            options.logger.warning("does not answer for now", metadata: ["error": "\(reason)"])
            addresses.append(addresses.removeFirst())
            do throws(NetworkError) { try await Pause.sleep(wait) } catch { return }
        }
    }

    private func answer(_ addresses: [ServerAddress]) async throws(NetworkError) {
        let (issuer, logger) = (access.issuer, options.logger)
        let keeping = try await HostRole.keeping.connect(to: addresses, issuer, logger: logger)
        defer { keeping.closeNow() }
        if isEnding { return }
        let answering = try await HostRole.answering.connect(to: addresses, issuer, logger: logger)
        defer { answering.closeNow() }
        try await reached {
            let jetStream = JetStream(keeping)
            let services = try NetworkServices(
                answering: answering, jetStream: jetStream, plan: access.plan, users: BucketUserRegister(jetStream),
                issuer: issuer, id: life.withLockedValue(\.state.id), figures: figures, logger: logger)
            // Before the server knows of it: from here on, draining covers the requests that have arrived.
            let isWanted = life.withLockedValue { life in
                if !life.isEnding { life.services = services }
                return !life.isEnding
            }
            guard isWanted else { return }
            defer { life.withLockedValue { $0.services = nil } }
            try await answering.flush()
            try await keeping.flush()
            let server = answering.info.serverName ?? "\(addresses[0])"
            life.withLockedValue { life in if !life.isEnding { life.state.began(at: server) } }
            logger.info("answers at \(server)")
            try await options.answering()
            try await services.run()
        }
    }
}

/// The state of a services process, as served by its HTTP port.
struct ServiceState: Hashable, Sendable {
    let id: String
    let network: String
    /// The name of the server that it is connected to, if any.
    private(set) var server: String?
    /// Why it is not connected.
    private(set) var hindrance = "it has just started"
    private(set) var connections: UInt64 = 0

    mutating func began(at server: String) {
        self.server = server
        connections += 1
    }

    mutating func ended(_ reason: String) { (server, hindrance) = (nil, reason) }

    func answer(to question: HTTPQuestion, _ figures: ServiceFigures) -> HTTPAnswer {
        guard ["GET", "HEAD"].contains(question.method) else { return HTTPAnswer(status: 405, body: "GET alone\n") }
        switch question.path {
        case "/health": return HTTPAnswer(status: 200, body: "alive\n")
        case "/ready":
            guard server == nil else { return HTTPAnswer(status: 200, body: "ready\n") }
            return HTTPAnswer(status: 503, body: "not ready: \(hindrance)\n")
        case "/metrics":
            return HTTPAnswer(status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics(figures))
        default: return HTTPAnswer(status: 404, body: "/health, /ready and /metrics\n")
        }
    }

    private func metrics(_ figures: ServiceFigures) -> String {
        let own = "network=\"\(network)\",id=\"\(id)\""
        var text = ""
        func family(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: String)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
            for sample in samples { text += "\(name){\(sample.labels)} \(sample.value)\n" }
        }
        func each(_ value: (ServiceFigures.Endpoint) -> String) -> [(labels: String, value: String)] {
            ServiceEndpoint.allCases.map { ("\(own),endpoint=\"\($0.rawValue)\"", value(figures[$0])) }
        }
        family("parley_ready", "gauge", "Whether requests are answered.", [(own, server == nil ? "0" : "1")])
        family("parley_connections_total", "counter", "How often a server was connected to.", [(own, "\(connections)")])
        family("parley_start_time_seconds", "gauge", "When the process began.", [(own, "\(figures.start)")])
        family("parley_requests_total", "counter", "Requests worked on.", each { "\($0.requests)" })
        family("parley_request_errors_total", "counter", "Requests without an answer.", each { "\($0.errors)" })
        family("parley_request_seconds_total", "counter", "Time spent on requests.", each { Self.seconds($0.time) })
        return text
    }

    /// Independent of the locale.
    private static func seconds(_ time: Duration) -> String {
        let nanoseconds = time.wholeNanoseconds
        let rest = "\(nanoseconds % 1_000_000_000)"
        return "\(nanoseconds / 1_000_000_000)." + String(repeating: "0", count: 9 - rest.count) + rest
    }
}
