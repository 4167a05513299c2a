import Platform

/// A lock on a file, held until the last reference is released; the kernel frees it if the process dies. The file
/// stays: unlinking it would let two holders lock two files of the same name.
final class FileLock: Sendable {
    enum Mode: Sendable { case shared, exclusive }

    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        // A child being started has a copy of the descriptor, so closing alone would leave the lock held.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    static func attempt(_ path: String, _ mode: Mode) throws(NetworkError) -> FileLock? {
        try take(path, mode, flags: LOCK_NB)
    }

    /// Blocks this thread; only for locks that are held for a few milliseconds.
    static func wait(_ path: String, _ mode: Mode) throws(NetworkError) -> FileLock {
        guard let lock = try take(path, mode, flags: 0) else { throw .system(path, EWOULDBLOCK) }
        return lock
    }

    static func wait(_ path: String, _ mode: Mode, for limit: Duration) async throws(NetworkError) -> FileLock? {
        let deadline = ContinuousClock.now + limit
        while true {
            if let lock = try attempt(path, mode) { return lock }
            guard ContinuousClock.now < deadline else { return nil }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    static func isHeld(_ path: String, against mode: Mode) throws(NetworkError) -> Bool {
        try attempt(path, mode) == nil
    }

    private static func take(_ path: String, _ mode: Mode, flags: Int32) throws(NetworkError) -> FileLock? {
        let (descriptor, openCode) = SystemCall.uninterrupted { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw .system(path, openCode) }
        let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | flags
        let (result, code) = SystemCall.uninterrupted { flock(descriptor, operation) }
        guard result < 0 else { return FileLock(descriptor: descriptor) }
        close(descriptor)
        if code == EWOULDBLOCK { return nil }
        throw .system(path, code)
    }
}
