import NATS

/// Keeps servers from filling the disk: a server that cannot write ends JetStream altogether, and then users could not
/// even read.
struct DiskWatch: Sendable {
    let directory: NetworkDirectory
    let identity: NetworkIdentity
    /// What is stored, by which the disk is known.
    let folder: String
    /// Where a server is reached that hands on what it is told.
    let places: [ServerAddress]
    /// How many bytes the disk of a folder has left; nil where that is not known.
    let freeSpace: @Sendable (String) -> Int64?
    let log: LogFile

    /// Watches until the task is cancelled.
    func run(_ diskGuard: DiskGuard) async {
        var diskGuard = diskGuard
        while !Task.isCancelled {
            let free = directory.isDiskFilled ? 0 : freeSpace(folder)
            if let accepts = free.flatMap({ diskGuard.observe(free: $0) }) {
                do throws(NetworkError) {
                    let token = try AccountSigner(directory, identity).networkToken(acceptsMessages: accepts)
                    try await places.firstToTake { place in
                        let system = try await SystemInterface(at: place, identity: identity)
                        defer { system.close() }
                        try await system.install(token)
                    }
                    let state = accepts ? "has room" : "is full: nothing more is stored"
                    log.note("the disk of \(folder) \(state)")
                } catch {
                    diskGuard.forget()
                    log.note("the server could not be informed of the disk's state: \(error)")
                }
            }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }
}
