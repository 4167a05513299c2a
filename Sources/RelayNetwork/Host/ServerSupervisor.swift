import NATS

/// Keeps one server running and the network on it in order.
struct ServerSupervisor: Sendable {
    let directory: NetworkDirectory
    let options: NetworkHost.Options
    let identity: NetworkIdentity
    let executable: String
    let log: LogFile

    /// Runs servers, one after the other, until cancelled.
    /// - Throws: `NetworkError.serverFailed` when they end again and again; `.cancelled`, after the last has ended.
    func run() async throws(NetworkError) {
        var policy = RestartPolicy()
        while true {
            // Anew for each server: an administrator may have changed the account meanwhile.
            let installed = try installTokens()
            let record = try? PrivateFile.readJSON(ServerRecord.self, from: directory.serverFile)
            let port = try LoopbackPort.choose(preferred: record?.port)
            let begin = ContinuousClock.now
            let process = try await start(port: port)
            let failure = await serve(process, port: port, installed: installed)
            let didAnswer = PrivateFile.exists(directory.networkFile)
            PrivateFile.remove(directory.networkFile)
            if Task.isCancelled || failure != nil { await process.stop(grace: .seconds(5)) }
            try PrivateFile.writeJSON(ServerRecord(port: port, pid: nil), to: directory.serverFile)
            if Task.isCancelled { throw .cancelled }
            if let failure { log.note("\(failure)") }
            guard let delay = policy.delay(afterLifetime: begin.duration(to: .now), didAnswer: didAnswer) else {
                throw failure ?? .serverFailed(LogFile.tail(of: directory.serverLog, lines: 3))
            }
            log.note("nats-server \(process.id) has ended; the next starts in \(delay)")
            try await Pause.sleep(delay)
        }
    }

    /// Lays the accounts' tokens where the server reads them; a blocked network's account has one that has ended.
    /// - Returns: the application account's token.
    private func installTokens() throws(NetworkError) -> String {
        let newest = try NetworkIdentity.open(in: directory)
        let token =
            directory.isBlocked
            ? try newest.endingAccountToken(in: directory, at: NetworkAdministrator.now - 1) : newest.accountToken
        for (account, token) in [(newest.systemAccount, newest.systemToken), (newest.account, token)] {
            try PrivateFile.write(token.utf8, to: "\(directory.resolver)/\(account).jwt")
        }
        return newest.accountToken
    }

    private func start(port: Int) async throws(NetworkError) -> ChildProcess {
        let configuration = ServerConfiguration(
            port: port, operatorToken: identity.operatorToken, systemAccount: identity.systemAccount.text,
            resolver: directory.resolver, store: directory.store)
        try PrivateFile.write(configuration.text.utf8, to: directory.serverConfiguration)
        let process = try await ChildProcess.start(
            [executable, "-c", directory.serverConfiguration], environment: options.environment,
            log: try LogFile(directory.serverLog))
        do throws(NetworkError) {
            try PrivateFile.writeJSON(ServerRecord(port: port, pid: process.id), to: directory.serverFile)
        } catch {
            await process.stop(grace: .seconds(5))
            throw error
        }
        log.note("nats-server \(process.id) started at port \(port)")
        return process
    }

    /// Looks after one server until it ends or the task is cancelled.
    /// - Returns: why the server should end, if it has not ended by itself.
    private func serve(_ process: ChildProcess, port: Int, installed: String) async -> NetworkError? {
        await withTaskGroup(of: NetworkError?.self) { group in
            group.addTask {
                _ = await process.end()
                return nil
            }
            group.addTask {
                let session = HostSession(supervisor: self, process: process, port: port, installedToken: installed)
                do throws(NetworkError) {
                    try await session.run()
                    return nil
                } catch {
                    return error == .cancelled ? nil : error
                }
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            await group.waitForAll()
            return first
        }
    }
}
