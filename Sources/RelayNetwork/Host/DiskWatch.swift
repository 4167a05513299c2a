import Logging
import NATS
import Platform

/// Keeps servers from filling the disk: one that cannot write stops JetStream, and then users cannot even read.
struct DiskWatch: Sendable {
    let directory: NetworkDirectory
    let identity: NetworkIdentity
    let folder: String
    /// The servers to tell; any of them informs the others.
    let places: [ServerAddress]
    let freeSpace: @Sendable (String) -> Int64?
    let log: Logger

    func run(_ diskGuard: DiskGuard) async {
        var diskGuard = diskGuard
        while !Task.isCancelled {
            let free = Rehearsal.isUnderWay(directory.fullDiskLock) ? 0 : freeSpace(folder)
            if let accepts = free.flatMap({ diskGuard.observe(free: $0) }) {
                do throws(NetworkError) {
                    let token = try AccountSigner(directory, identity).networkToken(acceptsMessages: accepts)
                    try await places.firstToTake { place in
                        let system = try await SystemInterface(at: place, identity: identity)
                        defer { system.close() }
                        try await system.install(token)
                    }
                    log.log(
                        level: accepts ? .notice : .error,
                        "the disk \(accepts ? "has room" : "is full: nothing more is stored")",
                        metadata: ["folder": "\(folder)", "free": "\(free ?? 0)"])
                } catch {
                    diskGuard.forget()
                    log.warning("no server could be told the state of the disk", metadata: ["error": "\(error)"])
                }
            }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }
}

/// Decides from the free disk space whether the network stores messages.
struct DiskGuard: Hashable, Sendable {
    let reserved: Int64
    /// What the server was last told; nil if unknown, so that the next observation tells it.
    private var accepts: Bool?

    /// - Parameter isFresh: whether the server has just started; an older one may have been told to store nothing.
    init(reserved: Int64, isFresh: Bool) {
        self.reserved = reserved
        accepts = isFresh ? true : nil
    }

    /// Returns whether messages are stored from now on, if that has changed.
    mutating func observe(free: Int64) -> Bool? {
        // Some extra space, so that a single message does not tip it back.
        let needed = accepts == false ? reserved + reserved / 8 : reserved
        let now = free >= needed
        guard now != accepts else { return nil }
        accepts = now
        return now
    }

    mutating func forget() { accepts = nil }

    /// How many bytes this user may still write to the folder's disk; nil if the system does not say.
    static func freeSpace(of folder: String) -> Int64? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        return Int64(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }
}
