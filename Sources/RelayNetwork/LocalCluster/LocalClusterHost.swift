import NATS
import NIOConcurrencyHelpers
import Platform

/// The process behind a cluster on this machine: it keeps the servers and the services running, and puts the network
/// onto the servers. One runs for each folder, until it is asked to end; what it started ends with it, however it ends.
public struct LocalClusterHost: Sendable {
    let cluster: LocalCluster
    let serveCommand: [String]
    let options: NetworkHost.Options

    /// Names a cluster; nothing happens before ``run()``.
    /// - Parameters:
    ///   - serveCommand: the path of an executable and its arguments that run ``NetworkServing``, with `--services` and
    ///     the path of the file behind them.
    ///   - options: as those of the host of one server; a cluster is there without clients too.
    public init(_ cluster: LocalCluster = .standard(), serveCommand: [String], options: NetworkHost.Options = .init()) {
        (self.cluster, self.serveCommand, self.options) = (cluster, serveCommand, options)
    }

    private var directory: NetworkDirectory { cluster.directory }

    /// So often other ports are tried where somebody else was quicker.
    private static let tries = 4

    /// Runs the cluster until a signal comes, the task is cancelled, or it cannot go on. All processes have ended when
    /// this returns.
    public func run() async -> NetworkHost.Outcome {
        await directory.host { log throws(NetworkError) in
            try cluster.prepare()
            let server = await ServerProgram.examine(try ServerExecutable.find(in: options.environment))
            try await cluster.endProcesses(besides: getpid(), log: log)
            try await runServers(server, log)
            return .stopped
        }
    }

    private func runServers(_ server: ServerProgram, _ log: LogFile) async throws(NetworkError) {
        var attempt = 1
        while true {
            let processes = try cluster.choosePorts()
            let run = LocalClusterRun(
                cluster: cluster, serveCommand: serveCommand, options: options, server: server, log: log,
                processes: .init(processes))
            do throws(NetworkError) { return try await run.run() } catch {
                // Between a look at a port and its use somebody else may take it.
                let ports = processes.servers.flatMap { [$0.port, $0.routePort] }
                guard error != .cancelled, attempt < Self.tries, !ports.allSatisfy(LoopbackPort.isFree) else {
                    throw error
                }
                log.note("a port was taken meanwhile: \(error)")
            }
            attempt += 1
        }
    }
}

extension LocalCluster {
    /// The ports that each server had before, or others where these are taken.
    fileprivate func choosePorts() throws(NetworkError) -> LocalClusterProcesses {
        let known = processes()
        var taken: Set<Int> = []
        func choose(_ preferred: Int?) throws(NetworkError) -> Int {
            let port = try LoopbackPort.choose(preferred: preferred, besides: taken)
            taken.insert(port)
            return port
        }
        var servers: [LocalClusterProcesses.Server] = []
        for index in 0..<Self.size {
            let before = known.flatMap { $0.servers.indices.contains(index) ? $0.servers[index] : nil }
            servers.append(.init(port: try choose(before?.port), routePort: try choose(before?.routePort)))
        }
        let chosen = LocalClusterProcesses(
            host: RunningProcess(getpid()), servers: servers, services: Array(repeating: nil, count: Self.services),
            password: known?.password ?? LocalClusterProcesses.newPassword())
        try PrivateFile.writeJSON(chosen, to: processesFile)
        return chosen
    }

    /// The processes and ports of the newest host; nil where there was none, or where that is not known.
    func processes() -> LocalClusterProcesses? {
        (try? PrivateFile.readJSON(LocalClusterProcesses.self, from: processesFile)) ?? nil
    }

    /// Ends what a host has left behind.
    /// - Parameter own: the caller, which goes on.
    func endProcesses(besides own: Int32, log: LogFile?) async throws(NetworkError) {
        guard let known = processes() else { return }
        let left = (known.servers.map(\.process) + known.services).compactMap(\.self)
        try await RunningProcess.end(left.filter { $0.pid != own }, log)
    }
}

/// The cluster on one choice of ports.
struct LocalClusterRun: Sendable {
    let cluster: LocalCluster
    let serveCommand: [String]
    let options: NetworkHost.Options
    let server: ServerProgram
    let log: LogFile
    let processes: NIOLockedValueBox<LocalClusterProcesses>

    private var directory: NetworkDirectory { cluster.directory }
    private var addresses: [ServerAddress] {
        processes.withLockedValue { $0.servers.map { ServerAddress(host: "127.0.0.1", port: $0.port) } }
    }

    /// Runs until a signal comes. The services end first, and then the servers.
    /// - Throws: `NetworkError.cancelled`, or why it cannot go on.
    func run() async throws(NetworkError) {
        let (failures, failed) = AsyncStream.makeStream(
            of: NetworkError.self, bufferingPolicy: .bufferingOldest(1))
        let outcome = await withTaskGroup(of: Void.self) { servers in
            for index in 0..<LocalCluster.size {
                servers.addTask {
                    do throws(NetworkError) { try await keeper(ofServer: index).run() } catch {
                        if error != .cancelled { failed.yield(error) }
                    }
                }
            }
            let outcome: Result<Void, NetworkError>
            do throws(NetworkError) { outcome = .success(try await serve(failures)) } catch {
                outcome = .failure(error)
            }
            servers.cancelAll()
            await servers.waitForAll()
            return outcome
        }
        try outcome.get()
    }

    /// Puts the network onto the servers and answers for it.
    private func serve(_ failures: AsyncStream<NetworkError>) async throws(NetworkError) {
        defer { PrivateFile.remove(directory.networkFile) }
        _ = try await untilOneEnds(
            {
                try await provision()
                await keepServices()
                throw NetworkError.cancelled
            },
            {
                // A server that never answers is something that the network cannot begin without.
                for await failure in failures { throw failure }
                throw NetworkError.cancelled
            },
            {
                await EndingSignals.wait(isWanted: options.handlesSignals)
                if Task.isCancelled { throw NetworkError.cancelled }
            })
    }

    // MARK: Servers

    private func keeper(ofServer index: Int) -> ProcessKeeper {
        let server = cluster.server(index)
        let address = addresses[index]
        return ProcessKeeper(
            name: server.name, output: server.log, environment: ChildEnvironment.reduced(options.environment),
            patience: .untilAnswered, log: log,
            prepare: { () throws(NetworkError) in
                .init(command: try command(ofServer: index)) { _, answered throws(NetworkError) in
                    while await !ServerProbe.answers(at: address) { try await Pause.sleep(.milliseconds(50)) }
                    answered()
                    let own = RunningProcess(writtenTo: server.processFile, configuration: server.configuration)
                    if let own { record { $0.servers[index].process = own } }
                    try await Pause.untilCancelled()
                }
            },
            running: { process in record { $0.servers[index].process = process } },
            isHeldBack: { Rehearsal.isUnderWay(server.outageLock) })
    }

    private func command(ofServer index: Int) throws(NetworkError) -> [String] {
        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        let known = processes.withLockedValue(\.self)
        let place = cluster.server(index)
        // A disk that was lost is begun anew, and the others' copies come onto it.
        for folder in [place.accounts, place.store] { try PrivateFile.makeFolder(folder) }
        let configuration = ServerConfiguration(
            name: place.name, port: known.servers[index].port, operatorToken: own.operator,
            systemAccount: own.systemAccount.text, resolver: place.accounts, store: place.store,
            processFile: place.processFile,
            syncInterval: server.takesSyncInterval ? try directory.settings().syncInterval : nil,
            cluster: .init(
                port: known.servers[index].routePort,
                otherPorts: known.servers.indices.filter { $0 != index }.map { known.servers[$0].routePort },
                password: known.password, systemToken: own.system))
        try PrivateFile.write(configuration.text.utf8, to: place.configuration)
        return [server.path, "-c", place.configuration]
    }

    private func record(_ change: (inout LocalClusterProcesses) -> Void) {
        processes.withLockedValue { processes in
            change(&processes)
            do throws(NetworkError) { try PrivateFile.writeJSON(processes, to: cluster.processesFile) } catch {
                log.note("\(error)")
            }
        }
    }

    // MARK: The network

    /// How long three servers may take until there is a network on them, whatever one alone may.
    private static let startTimeout = Duration.seconds(120)

    /// Makes what is missing of the network, and mends what is otherwise.
    private func provision() async throws(NetworkError) {
        var wanted = NetworkProvision.Options()
        wanted.servers = addresses.map { "\($0)" }
        wanted.replicas = LocalCluster.size
        wanted.operatorKeyFile = IdentityFiles(folder: directory.keys).operatorSeed
        wanted.applies = true
        let provision = try NetworkProvision(LocalCluster.name, directory: directory, options: wanted)
        let end = ContinuousClock.now + Self.startTimeout
        let report = try await persist(
            until: end, every: .milliseconds(250),
            where: { error in
                switch error {
                // Servers that have just started are not ready for everything.
                case .connection, .refused, .timedOut, .notRunning, .invalidProvision: true
                default: false
                }
            }
        ) { try await provision.run() }
        for part in report.parts where part.state != .same { log.note("\(part.name): \(part.state)") }
    }

    /// Runs the services, and tells others of the network once it is answered for.
    private func keepServices() async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<LocalCluster.services {
                group.addTask { try? await keeper(ofService: index).run() }
            }
            group.addTask { await answerForNetwork() }
            group.addTask { await NetworkAdministrator(directory: directory).finishActs(log) }
            await group.waitForAll()
        }
    }

    /// Tells others of the network as soon as one of the services answers, and watches its disk from then on. What
    /// fails meanwhile, such as a connection to a server that is just being restarted, is tried again for as long as
    /// the host runs: a cluster that nobody is told of cannot be used, and one whose disk nobody watches fills it.
    private func answerForNetwork() async {
        var told: NetworkError?
        while !Task.isCancelled {
            do throws(NetworkError) {
                let identity = try IdentityFiles(folder: directory.keys).read()
                try await firstAnswer(identity)
                try announce(identity)
                return await watchDisk(identity)
            } catch {
                guard error != .cancelled else { return }
                if error != told { log.note("the network is not announced yet: \(error)") }
                told = error
            }
            do throws(NetworkError) { try await Pause.sleep(.milliseconds(250)) } catch { return }
        }
    }

    private func keeper(ofService index: Int) -> ProcessKeeper {
        ProcessKeeper(
            name: "service \(index + 1)", output: cluster.servicesLog,
            environment: ChildEnvironment.reduced(options.environment), patience: .endless, log: log,
            prepare: {
                .init(command: serveCommand + ["--services", directory.servicesFile]) {
                    _, answered throws(NetworkError) in
                    answered()
                    try await Pause.untilCancelled()
                }
            },
            running: { process in record { $0.services[index] = process } })
    }

    /// Returns when one of the services answers.
    private func firstAnswer(_ identity: NetworkIdentity) async throws(NetworkError) {
        while true {
            if try await !ServiceObservation.ask(addresses, identity, within: .milliseconds(250)).isEmpty { return }
            try await Pause.sleep(.milliseconds(100))
        }
    }

    private func announce(_ identity: NetworkIdentity) throws(NetworkError) {
        try PrivateFile.writeJSON(
            NetworkDescription(
                servers: addresses.map { "\($0)" }, serverVersion: server.version ?? "", hostPid: getpid(),
                serverPid: processes.withLockedValue { $0.servers[0].process?.pid } ?? getpid(),
                namespace: identity.names.namespace, hash: identity.names.hash),
            to: directory.networkFile)
        log.note("the network is ready")
    }

    private func watchDisk(_ identity: NetworkIdentity) async {
        let reserved = (try? directory.settings().reservedDiskBytes) ?? NetworkSettings().reservedDiskBytes
        await DiskWatch(
            directory: directory, identity: identity, folder: cluster.servers, places: addresses,
            freeSpace: options.freeDiskSpace, log: log
        ).run(DiskGuard(reserved: reserved, isFresh: true))
    }
}
