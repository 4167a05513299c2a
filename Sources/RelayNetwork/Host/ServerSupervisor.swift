import NATS

/// Keeps one server running and the network on it in order.
struct ServerSupervisor: Sendable {
    let directory: NetworkDirectory
    let options: NetworkHost.Options
    let identity: NetworkIdentity
    let server: ServerProgram
    let log: LogFile
    /// Where the server listens; nil for a port of its own choice on 127.0.0.1.
    let listener: NetworkListener?

    /// Runs servers, one after the other, until cancelled.
    /// - Throws: `NetworkError.serverFailed` when they end again and again; `.cancelled`, after the last has ended.
    func run() async throws(NetworkError) {
        var policy = RestartPolicy()
        while true {
            try installTokens()
            let startTime = NetworkAdministrator.now
            let record = try? PrivateFile.readJSON(ServerRecord.self, from: directory.serverFile)
            let address = try address(preferred: record?.port)
            let begin = ContinuousClock.now
            let process = try await start(port: address.port)
            let ending = await serve(process, at: address, startTime: startTime)
            let didAnswer = PrivateFile.exists(directory.networkFile)
            PrivateFile.remove(directory.networkFile)
            if Task.isCancelled || ending != .byItself { await process.stop(grace: .seconds(5)) }
            if Task.isCancelled { throw .cancelled }
            var failure: NetworkError?
            if case .failed(let error) = ending { failure = error }
            if let failure { log.note("\(failure)") }
            guard let delay = policy.delay(afterLifetime: begin.duration(to: .now), didAnswer: didAnswer) else {
                throw failure ?? .serverFailed(LogFile.tail(of: directory.serverLog, lines: 3))
            }
            log.note("nats-server \(process.id) has ended; the next starts in \(delay)")
            try await Pause.sleep(delay)
        }
    }

    /// Where the server is reached: at the port that is preferred, if it is free and nothing else was asked for.
    private func address(preferred port: Int?) throws(NetworkError) -> ServerAddress {
        if let listener { return try listener.localAddress() }
        return ServerAddress(host: "127.0.0.1", port: try LoopbackPort.choose(preferred: port))
    }

    /// Lays the accounts' tokens where the server reads them.
    private func installTokens() throws(NetworkError) {
        // The network's own is signed anew, since an earlier version exported something else.
        let network = try AccountSigner(directory, identity).networkToken(acceptsMessages: true)
        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        for (account, token) in [(own.systemAccount, own.system), (identity.account, network)] {
            try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: account.text))
        }
        try directory.identified { identity throws(NetworkError) in
            try AccountSigner.bringUpToDate(
                directory, identity, mappings: server.mapsWildcards ? .wildcards : .tokens)
        }
    }

    private func start(port: Int) async throws(NetworkError) -> ServerProcess {
        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        let configuration = ServerConfiguration(
            port: port, operatorToken: own.operator, systemAccount: own.systemAccount.text,
            resolver: directory.resolver, store: directory.store, processFile: directory.serverProcessFile,
            syncInterval: server.takesSyncInterval ? try directory.settings().syncInterval : nil,
            host: listener?.host ?? "127.0.0.1", tls: listener?.tls)
        try PrivateFile.write(configuration.text.utf8, to: directory.serverConfiguration)
        try PrivateFile.writeJSON(ServerRecord(port: port), to: directory.serverFile)
        let process = try await ServerProcess.start(
            [server.path, "-c", directory.serverConfiguration],
            environment: ChildEnvironment.reduced(options.environment),
            log: try LogFile(directory.serverLog))
        log.note("nats-server \(process.id) started at port \(port)")
        return process
    }

    /// Why a server is not looked after any more.
    private enum Ending: Hashable, Sendable {
        /// It has ended, or the task was cancelled.
        case byItself
        /// The network cannot be had from it.
        case failed(NetworkError)
    }

    /// Looks after one server until it ends, should end, or the task is cancelled.
    private func serve(_ process: ServerProcess, at address: ServerAddress, startTime: Int64) async -> Ending {
        await withTaskGroup(of: Ending.self) { group in
            group.addTask {
                _ = await process.end()
                return .byItself
            }
            group.addTask {
                let session = HostSession(supervisor: self, process: process, address: address, start: startTime)
                do throws(NetworkError) {
                    try await session.run()
                    return .byItself
                } catch {
                    return error == .cancelled ? .byItself : .failed(error)
                }
            }
            let first = await group.next() ?? .byItself
            group.cancelAll()
            await group.waitForAll()
            return first
        }
    }
}
