import Logging
import NATS
import Platform

/// The process behind a cluster on this machine: keeps the servers running, puts the network onto them and serves it,
/// until it is told to end. There is one per folder; the servers end with it, even if it is killed.
public struct LocalClusterHost: Sendable {
    let cluster: LocalCluster
    let options: NetworkHost.Options

    /// Names a cluster; nothing happens before ``run()``.
    /// - Parameter options: as for a host with one server; a cluster also runs without clients.
    public init(_ cluster: LocalCluster = .standard(), options: NetworkHost.Options = .init()) {
        (self.cluster, self.options) = (cluster, options)
    }

    /// How often to try other ports if another process takes one first.
    private static let tries = 4

    /// Runs the cluster until it is told to end or cannot continue. All servers have ended when this returns.
    public func run() async -> NetworkHost.Outcome {
        await cluster.directory.host(options) { log, server throws(NetworkError) in
            try cluster.prepare()
            try await cluster.endServers(log)
            for attempt in 1... {
                let known = try cluster.choosePorts()
                let run = LocalClusterRun(
                    cluster: cluster, options: options, server: server, log: log, known: known,
                    record: LocalClusterRecord(known, in: cluster.processesFile, log))
                do throws(NetworkError) { return try await run.run() } catch {
                    // Another process may take a port between the check and its use.
                    let ports = known.servers.flatMap { [$0.port, $0.routePort] }
                    guard error != .cancelled, attempt < Self.tries, !ports.allSatisfy(LoopbackPort.isFree) else {
                        throw error
                    }
                    log.notice("a port was taken meanwhile", metadata: ["error": "\(error)"])
                }
            }
            throw .cancelled
        }
    }
}

extension LocalCluster {
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
            host: RunningProcess(getpid()), servers: servers,
            password: known?.password ?? NetworkIdentity.randomHash() + NetworkIdentity.randomHash())
        try PrivateFile.writeJSON(chosen, to: processesFile)
        return chosen
    }

    func processes() -> LocalClusterProcesses? {
        try? PrivateFile.readJSON(LocalClusterProcesses.self, from: processesFile)
    }

    func endServers(_ log: Logger?) async throws(NetworkError) {
        try await RunningProcess.end(processes()?.servers.compactMap(\.process) ?? [], log)
    }
}

/// Records the cluster's processes, one change after another: each is on disk when its call returns.
private actor LocalClusterRecord {
    private(set) var processes: LocalClusterProcesses
    private let file: String
    private let log: Logger

    init(_ processes: LocalClusterProcesses, in file: String, _ log: Logger) {
        (self.processes, self.file, self.log) = (processes, file, log)
    }

    func note(_ process: RunningProcess?, ofServer index: Int) {
        processes.servers[index].process = process
        do throws(NetworkError) { try PrivateFile.writeJSON(processes, to: file) } catch {
            log.error("the processes could not be recorded", metadata: ["error": "\(error)"])
        }
    }
}

private struct LocalClusterRun: Sendable {
    let cluster: LocalCluster
    let options: NetworkHost.Options
    let server: ServerProgram
    let log: Logger
    let known: LocalClusterProcesses
    let record: LocalClusterRecord

    /// How long it may take until three servers carry a network, whatever the limit for a single server.
    private static let startTimeout = Duration.seconds(120)

    private var directory: NetworkDirectory { cluster.directory }
    private var addresses: [ServerAddress] {
        known.servers.map { ServerAddress(host: "127.0.0.1", port: $0.port) }
    }

    func run() async throws(NetworkError) -> NetworkHost.Outcome {
        try letStore()
        return try await untilOneEnds(
            among: (0..<LocalCluster.size).map { index in
                {
                    try await keeper(ofServer: index).run()
                    return .stopped
                }
            } + [
                {
                    try await provision()
                    try await serve()
                    return .stopped
                },
                {
                    await EndingSignals.wait(isWanted: options.handlesSignals)
                    return .stopped
                },
            ])
    }

    /// Replaces tokens that keep the network from storing messages: servers that start with one would not find their
    /// stored data. The disk watch tells them again if need be.
    private func letStore() throws(NetworkError) {
        guard PrivateFile.exists(IdentityFiles(folder: directory.keys).names) else { return }
        let identity = try NetworkIdentity.open(in: directory)
        let token = try AccountSigner(directory, identity).networkToken(acceptsMessages: true)
        for index in 0..<LocalCluster.size {
            let path = "\(cluster.server(index).accounts)/\(identity.account.text).jwt"
            if PrivateFile.exists(path) { try PrivateFile.write(token.utf8, to: path) }
        }
    }

    private func keeper(ofServer index: Int) -> ProcessKeeper {
        let server = cluster.server(index)
        let address = addresses[index]
        return ProcessKeeper(
            name: server.name, output: server.log, environment: ChildEnvironment.reduced(options.environment), log: log,
            prepare: { () throws(NetworkError) in
                .init(command: try command(ofServer: index)) { _, answered throws(NetworkError) in
                    while await !ServerProbe.answers(at: address) { try await Pause.sleep(.milliseconds(50)) }
                    answered()
                    let own = RunningProcess(writtenTo: server.processFile, configuration: server.configuration)
                    if let own { await record.note(own, ofServer: index) }
                    try await Pause.untilCancelled()
                }
            },
            running: { process in await record.note(process, ofServer: index) },
            isHeldBack: { Rehearsal.isUnderWay(server.outageLock) })
    }

    private func command(ofServer index: Int) throws(NetworkError) -> [String] {
        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        let place = cluster.server(index)
        // A lost disk starts empty, and is filled with the other servers' copies.
        for folder in [place.accounts, place.store] { try PrivateFile.makeFolder(folder) }
        let configuration = ServerConfiguration(
            name: place.name, port: known.servers[index].port, operatorToken: own.operator,
            systemAccount: own.systemAccount.text, resolver: place.accounts, store: place.store,
            processFile: place.processFile,
            syncInterval: server.isRecent ? try directory.settings().syncInterval : nil,
            cluster: .init(
                port: known.servers[index].routePort,
                otherPorts: known.servers.indices.filter { $0 != index }.map { known.servers[$0].routePort },
                password: known.password, systemToken: own.system))
        try PrivateFile.write(configuration.text.utf8, to: place.configuration)
        return [server.path, "-c", place.configuration]
    }

    private func provision() async throws(NetworkError) {
        var wanted = NetworkProvision.Options()
        wanted.servers = addresses.map { "\($0)" }
        wanted.replicas = LocalCluster.size
        wanted.operatorKeyFile = IdentityFiles(folder: directory.keys).operatorSeed
        (wanted.applies, wanted.logger) = (true, log)
        let provision = try NetworkProvision(LocalCluster.name, directory: directory, options: wanted)
        try await persist(
            until: .now + Self.startTimeout, every: .milliseconds(250),
            where: { error in
                switch error {
                // Servers that have just started are not ready for everything.
                case .connection, .refused, .timedOut, .notRunning, .invalidProvision: true
                default: false
                }
            }
        ) {
            _ = try await provision.run()
            try await awaitLeaders()
        }
    }

    /// How long starting waits for leaders. One leaderless stream must not hold back the others.
    private static let leaderTimeout = Duration.seconds(30)

    /// Waits until every stream has a leader. Restarting servers list a stream before they agree on one, and publishing
    /// to it gets no answer until then.
    /// - Throws: `NetworkError.invalidProvision` if a stream that existed is gone, as when it could not be made.
    private func awaitLeaders() async throws(NetworkError) {
        let identity = try IdentityFiles(folder: directory.keys).read()
        let plan = NetworkPlan(
            names: identity.names, settings: try directory.settings(), placement: try directory.cluster()?.placement)
        // A user's stream is made on first use.
        let letters = try Set(directory.userNames().map(\.postboxStream))
        var left = plan.streams.map(\.name) + letters
        let end = ContinuousClock.now + Self.leaderTimeout
        do throws(NetworkError) {
            try await persist(until: end, every: .milliseconds(100), where: { !$0.isOfProvision }) {
                try await HostRole.keeping.withJetStream(at: addresses, identity.issuer, timeout: .seconds(1)) {
                    while let stream = left.first {
                        let description = try await $0.description(of: stream)
                        let hasLeader = description?["cluster"]?["leader"]?.stringValue?.isEmpty == false
                        if hasLeader || description == nil && letters.contains(stream) {
                            left.removeFirst()
                            continue
                        }
                        guard description != nil else {
                            throw NetworkError.invalidProvision("The stream \(stream) is gone.")
                        }
                        guard ContinuousClock.now < end else { throw NetworkError.timedOut("Choosing a leader") }
                        try await Pause.sleep(.milliseconds(100))
                    }
                }
            }
        } catch {
            guard !error.isOfProvision, error != .cancelled else { throw error }
            log.warning("streams have no leader", metadata: ["streams": "\(left)", "error": "\(error)"])
        }
    }

    /// Serves the network and watches its disk. Announces it once requests are answered, and tries again if that fails:
    /// a cluster that no one hears of cannot be used.
    private func serve() async throws(NetworkError) {
        let identity = try IdentityFiles(folder: directory.keys).read()
        var serving = NetworkServing.Options()
        serving.handlesSignals = false
        serving.logger = log
        serving.answering = { () async throws(NetworkError) in try await announce(identity) }
        let services = try NetworkServing(ServiceAccess(path: directory.servicesFile), options: serving)
        let watch = DiskWatch(
            directory: directory, identity: identity, folder: cluster.servers, places: addresses,
            freeSpace: options.freeDiskSpace, log: log)
        let reserved = try directory.settings().reservedDiskBytes
        try await untilOneEnds(
            { try await services.run() },
            { await watch.run(DiskGuard(reserved: reserved, isFresh: true)) },
            { await NetworkAdministrator(directory: directory, logger: log).finishActs() })
    }

    private func announce(_ identity: NetworkIdentity) async throws(NetworkError) {
        let first = await record.processes.servers[0].process
        let description = NetworkDescription(
            servers: addresses.map { "\($0)" }, serverVersion: server.version ?? "", hostPid: getpid(),
            serverPid: first?.pid ?? getpid(), namespace: identity.names.namespace, hash: identity.names.hash)
        try PrivateFile.writeJSON(description, to: directory.networkFile)
        log.info("the network can be used")
    }
}
