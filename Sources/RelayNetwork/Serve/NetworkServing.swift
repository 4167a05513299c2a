import Logging
import NATS
import NIOConcurrencyHelpers
import Platform

/// The services of a network on a cluster, in this process. As many processes as one likes share the requests; none
/// keeps anything, so that each can end at any time.
public struct NetworkServing: Sendable {
    /// How a process behaves.
    public struct Options: Sendable {
        /// The address and port for HTTP; nil for none. At a loopback address it tells this machine how it is doing.
        public var httpAddress: String?
        /// PEM files of a certificate chain and its key, without which nobody but this machine is answered.
        public var certificate: (chain: String, key: String)?
        /// What hands out tokens there; nil where none are handed out.
        public var tokens: TokenService?
        /// Whether TERM, INT and HUP end it in good order. False leaves signals to the caller's process.
        public var handlesSignals = true
        /// How long requests that came before its end may take.
        var patience = Duration.seconds(5)
        /// Receives the log; silent by default.
        public var logger = Logger.silent
        /// Called whenever requests begin to be answered; where it throws, that is tried again.
        var answering: @Sendable () async throws(NetworkError) -> Void = {}

        /// Tells nobody how it is doing.
        public init() {}
    }

    private let access: ServiceAccess
    private let options: Options
    private let figures = NIOLockedValueBox(ServiceFigures(start: NetworkAdministrator.now))
    private let life: NIOLockedValueBox<Life>

    private struct Life {
        var state: ServiceState
        var services: NetworkServices?
        /// Whether there are to be no others.
        var isEnding = false
    }

    /// What is given to the process; nothing happens before ``run()``.
    public init(_ access: ServiceAccess, options: Options = Options()) {
        (self.access, self.options) = (access, options)
        life = .init(Life(state: ServiceState(id: NetworkServices.newID(), network: access.plan.names.namespace)))
    }

    /// Answers requests until a signal comes or the task is cancelled. A server that is gone is replaced by another.
    ///
    /// - Throws: `NetworkError.invalidListener`, `.invalidCertificate`, `.file`, or `.invalidProvision` for an access
    ///   that no server takes.
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
                    "Others than this machine are answered over TLS alone: name a certificate by --tls-cert and --tls-key, or a loopback address such as 127.0.0.1:7422."
                )
            }
            guard options.tokens != nil else {
                throw .invalidListener(
                    "The services' state is told to this machine alone: name a loopback address, such as 127.0.0.1:7422."
                )
            }
        }
        return try await HTTPListener.start(at: address, certificate: options.certificate) { question in
            if let answer = await options.tokens?.answer(question) { return answer }
            guard address.isLoopback else { return HTTPAnswer(status: 404, body: "/tokens\n") }
            return life.withLockedValue(\.state).answer(to: question, figures.withLockedValue(\.self))
        }
    }

    /// Leaves the requests that come to other processes, and answers those that came before. It connects to no server
    /// any more: ``run()`` goes on until it is cancelled or the connection ends.
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
        // Processes that start together are spread over the servers.
        var addresses = addresses.shuffled()
        while !isEnding {
            let begin = ContinuousClock.now
            var reason = "the connection ended"
            do throws(NetworkError) { try await answer(addresses) } catch { reason = "\(error)" }
            if isEnding { return }
            // Processes that lose a server together do not come back at once.
            let full = policy.delay(afterLifetime: begin.duration(to: .now), didAnswer: true) ?? policy.longestDelay
            let wait = max(full, policy.firstDelay) * Double.random(in: 0.5..<1)
            life.withLockedValue { $0.state.ended(reason) }
            options.logger.warning("answers nothing for now", metadata: ["error": "\(reason)"])
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
                issuer: issuer, id: life.withLockedValue(\.state.id),
                figures: figures, logger: logger)
            // Before the server hears of it: from here on its end takes in what has come.
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

/// How a process of a network's services is doing: what its HTTP port tells.
struct ServiceState: Hashable, Sendable {
    let id: String
    let network: String
    /// The server that it is connected to, as that calls itself; nil while it is connected to none.
    private(set) var server: String?
    /// Why it is not.
    private(set) var hindrance = "it has just started"
    /// How often it was connected.
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

    /// Seconds with nine decimals, which no locale changes.
    private static func seconds(_ time: Duration) -> String {
        let nanoseconds = time.wholeNanoseconds
        let rest = "\(nanoseconds % 1_000_000_000)"
        return "\(nanoseconds / 1_000_000_000)." + String(repeating: "0", count: 9 - rest.count) + rest
    }
}
