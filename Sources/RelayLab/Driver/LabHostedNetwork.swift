import Relay
import RelayNetwork

/// The server's side of a private network whose host is another process, and which other programs use too: the
/// administrator's acts, its server's death, from which the host brings it back by itself, and a disk that it finds
/// full.
public actor LabHostedNetwork: LabServerSide {
    private let directory: NetworkDirectory
    private let administrator: LabAdministrator
    private let ensureRunning: @Sendable () async throws -> Void
    /// As long as it is kept, the network's disk is full.
    private var disk: RehearsedFullDisk?

    /// - Parameters:
    ///   - directory: the network's folder.
    ///   - user: the user whom the administrator's acts are about.
    ///   - ensureRunning: returns when the network's server runs, and starts what it takes for that.
    public init(
        directory: NetworkDirectory, user: String, ensureRunning: @escaping @Sendable () async throws -> Void
    ) {
        self.directory = directory
        self.ensureRunning = ensureRunning
        administrator = LabAdministrator(directory: directory, user: user)
    }

    /// Does one of the acts that need a network.
    public func perform(_ act: LabAct) async throws {
        switch act.name {
        case .killServer: directory.killServer()
        case .startServer: try await ensureRunning()
        case .fillDisk: if disk == nil { disk = try directory.fillDisk() }
        case .freeDisk: disk = nil
        default: try await administrator.perform(act)
        }
    }
}
