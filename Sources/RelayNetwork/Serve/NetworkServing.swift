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
        var answering: @Sendable () throws(NetworkError) -> Void = {}

        /// Tells nobody how it is doing.
        public init() {}
    }

    private let access: ServiceAccess
    private let options: Options
    private let state: NIOLockedValueBox<ServiceState>
    private let figures: NIOLockedValueBox<ServiceFigures>
    private let life = NIOLockedValueBox(Life())

    /// The session that answers now, and whether there is to be another one.
    private struct Life {
        var session: ServiceSession?
        var isEnding = false
    }

    /// What is given to the process; nothing happens before ``run()``.
    public init(_ access: ServiceAccess, options: Options = Options()) {
        self.access = access
        self.options = options
        let state = ServiceState(
            id: ServiceSession.newID(), network: access.names.namespace, start: NetworkAdministrator.now)
        figures = NIOLockedValueBox(state.figures)
        self.state = NIOLockedValueBox(state)
    }

    /// Answers requests until a signal comes or the task is cancelled. A server that is gone is replaced by another.
    /// - Throws: `NetworkError.invalidListener`, `.file`, or `.invalidProvision` for an access that the servers do not
    ///   take.
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
        return try await HTTPListener.start(at: address, certificate: options.certificate) {
            [state, figures, tokens = options.tokens] question in
            if let answer = await tokens?.answer(question) { return answer }
            guard address.isLoopback else { return HTTPAnswer(status: 404, body: "/tokens\n") }
            var now = state.withLockedValue(\.self)
            now.figures = figures.withLockedValue(\.self)
            return now.answer(to: question)
        }
    }

    /// Leaves the requests that come to other processes, and answers those that came before. It connects to no server
    /// any more: ``run()`` goes on until it is cancelled or the connection ends.
    package func drain() async {
        let session = life.withLockedValue { life in
            life.isEnding = true
            return life.session
        }
        state.withLockedValue { $0.ended("it ends") }
        await session?.drain(within: options.patience)
    }

    private var isEnding: Bool { Task.isCancelled || life.withLockedValue(\.isEnding) }

    /// Keeps connected, and answers.
    private func serve(_ addresses: [ServerAddress]) async {
        var policy = RestartPolicy()
        // Processes that start together are spread over the servers.
        var addresses = addresses.shuffled()
        while !isEnding {
            let begin = ContinuousClock.now
            let reason: String
            do throws(NetworkError) {
                try await answer(addresses)
                reason = "the connection ended"
            } catch {
                reason = "\(error)"
            }
            if isEnding { return }
            // Processes that lose a server together do not come back at once.
            let full = policy.delay(afterLifetime: begin.duration(to: .now), didAnswer: true) ?? policy.longestDelay
            let wait = max(full, policy.firstDelay) * Double.random(in: 0.5..<1)
            state.withLockedValue { $0.ended(reason) }
            options.logger.warning("answers nothing for now", metadata: ["error": "\(reason)"])
            addresses.append(addresses.removeFirst())
            do throws(NetworkError) { try await Pause.sleep(wait) } catch { return }
        }
    }

    /// Answers over one pair of connections, until one of them ends.
    private func answer(_ addresses: [ServerAddress]) async throws(NetworkError) {
        let keeping = try await HostRole.keeping.connect(toOneOf: addresses, access.issuer, logger: options.logger)
        defer { keeping.closeNow() }
        if isEnding { return }
        let answering = try await HostRole.answering.connect(toOneOf: addresses, access.issuer, logger: options.logger)
        defer { answering.closeNow() }
        try await reached {
            let jetStream = JetStream(keeping)
            let users = try BucketUserRegister(jetStream)
            let made = try ServiceSession(
                answering: answering, jetStream: jetStream, plan: access.plan, users: users, issuer: access.issuer,
                postboxes: PostboxService(jetStream: jetStream, plan: access.plan, users: users),
                id: state.withLockedValue(\.id), figures: figures, logger: options.logger)
            // Before the server hears of it: from here on its end takes in what has come.
            let isWanted = life.withLockedValue { life in
                if !life.isEnding { life.session = made }
                return !life.isEnding
            }
            guard isWanted else { return }
            defer { life.withLockedValue { $0.session = nil } }
            try await answering.flush()
            try await keeping.flush()
            let server = answering.info.serverName ?? "\(addresses[0])"
            life.withLockedValue { life in
                if !life.isEnding { state.withLockedValue { $0.began(at: server) } }
            }
            options.logger.info("answers at \(server)")
            try options.answering()
            try await made.run()
        }
    }
}
