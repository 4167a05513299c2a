import Logging
import NATS
import Platform

struct HostedServer: Sendable {
    let directory: NetworkDirectory
    let options: NetworkHost.Options
    let identity: NetworkIdentity
    let program: ServerProgram
    let log: Logger
    /// Where the server listens; nil for a port of its own choice on 127.0.0.1.
    let listener: NetworkListener?

    /// The port of a network's newest server, kept so that clients find the next one where it was.
    private struct Record: Codable { var port: Int }

    var keeper: ProcessKeeper {
        ProcessKeeper(
            name: "nats-server", output: directory.serverLog,
            environment: ChildEnvironment.reduced(options.environment), grace: .seconds(5), givesUp: true, log: log,
            prepare: { () throws(NetworkError) in try start() })
    }

    private func start() throws(NetworkError) -> ProcessKeeper.Start {
        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        try installTokens(own)
        let startTime = NetworkAdministrator.now
        let before = try? PrivateFile.readJSON(Record.self, from: directory.serverFile)
        let address = try address(preferred: before?.port)
        let configuration = ServerConfiguration(
            port: address.port, operatorToken: own.operator, systemAccount: own.systemAccount.text,
            resolver: directory.resolver, store: directory.store, processFile: directory.serverProcessFile,
            syncInterval: program.takesSyncInterval ? try directory.settings().syncInterval : nil,
            host: listener?.host ?? "127.0.0.1", tls: listener?.tls)
        try PrivateFile.write(configuration.text.utf8, to: directory.serverConfiguration)
        try PrivateFile.writeJSON(Record(port: address.port), to: directory.serverFile)
        return .init(command: [program.path, "-c", directory.serverConfiguration]) {
            process, answered throws(NetworkError) in
            let session = HostSession(
                server: self, process: process, address: address, start: startTime, answered: answered)
            try await session.run()
        }
    }

    /// Where the server is reached: at the port that is preferred, if it is free and nothing else was asked for.
    private func address(preferred port: Int?) throws(NetworkError) -> ServerAddress {
        if let listener { return try listener.localAddress() }
        return ServerAddress(host: "127.0.0.1", port: try LoopbackPort.choose(preferred: port))
    }

    private func installTokens(_ own: IdentityFiles.ServerTokens) throws(NetworkError) {
        // The network's own is signed anew, as another version may have exported something else.
        let network = try AccountSigner(directory, identity).networkToken(acceptsMessages: true)
        for (account, token) in [(own.systemAccount, own.system), (identity.account, network)] {
            try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: account.text))
        }
        try directory.identified { identity throws(NetworkError) in
            try AccountSigner.bringUpToDate(directory, identity, mappings: program.mapsWildcards ? .wildcards : .tokens)
        }
    }
}
