import NIOConcurrencyHelpers
import Platform

/// A client's share in the private network, which stays up while one is held. It ends with the process, even if killed.
public final class NetworkLease: Sendable {
    /// The network's folder.
    public let directory: NetworkDirectory
    private let hostCommand: [String]
    private let environment: [String: String]
    private let state: NIOLockedValueBox<(lock: FileLock?, description: NetworkDescription)>

    private init(
        _ directory: NetworkDirectory, _ hostCommand: [String], _ environment: [String: String], lock: FileLock,
        _ description: NetworkDescription
    ) {
        (self.directory, self.hostCommand, self.environment) = (directory, hostCommand, environment)
        state = NIOLockedValueBox((lock, description))
    }

    /// Takes a share in the network, and starts the network if it is not running.
    /// - Parameters:
    ///   - hostCommand: an executable and its arguments that run ``NetworkHost/run()`` for this folder.
    ///   - environment: the host's environment, in which it also looks for the server.
    /// - Throws: `NetworkError.serverMissing`, `.hostFailed` with the host's reason, `.hostNotStarted` or `.timedOut`.
    public static func acquire(
        directory: NetworkDirectory = .standard(), hostCommand: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment, timeout: Duration = .seconds(30)
    ) async throws(NetworkError) -> NetworkLease {
        let deadline = ContinuousClock.now + timeout
        _ = try NetworkIdentity.open(in: directory)
        guard let lock = try await FileLock.wait(directory.clientsLock, .shared, for: timeout) else {
            throw .timedOut("Waiting for the previous network to end")
        }
        let left = max(.zero, deadline - .now)
        let description = try await directory.ensureHosted(by: hostCommand, environment, within: left)
        return NetworkLease(directory, hostCommand, environment, lock: lock, description)
    }

    /// The running network, as it was last seen.
    public var description: NetworkDescription { state.withLockedValue { $0.description } }
    /// The server's address; unchanged by a restart if the port is still free.
    public var url: String { description.url }

    /// Makes sure that the network is running: restarts the host if it died. Call this while reconnecting.
    /// - Throws: as ``acquire(directory:hostCommand:environment:timeout:)``.
    @discardableResult
    public func ensureRunning(timeout: Duration = .seconds(30)) async throws(NetworkError) -> NetworkDescription {
        let description = try await directory.ensureHosted(by: hostCommand, environment, within: timeout)
        state.withLockedValue { $0.description = description }
        return description
    }

    /// Releases the share; the network ends some time after the last one.
    public func release() {
        // Taken out first, so that the lock is released outside the mutex.
        let lock = state.withLockedValue { state in
            defer { state.lock = nil }
            return state.lock
        }
        withExtendedLifetime(lock) {}
    }
}
