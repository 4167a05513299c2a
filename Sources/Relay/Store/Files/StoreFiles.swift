import Platform
import Synchronization

/// A process's hold on a store that it uses, which ends when it is told to, with the last reference and with the
/// process.
final class StoreUse: Sendable {
    /// −1 once it has ended.
    private let descriptor: Atomic<Int32>

    init(_ descriptor: Int32) { self.descriptor = Atomic(descriptor) }

    deinit { end() }

    /// Lets go of the store.
    func end() {
        let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        guard descriptor >= 0 else { return }
        // A child process that is just being started holds the descriptor for a moment longer, and the lock with it.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether nobody else uses the store.
    var isAlone: Bool {
        let descriptor = descriptor.load(ordering: .acquiring)
        defer { _ = flock(descriptor, LOCK_SH) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
}

/// A run of a program that keeps its outbox in a store: a lock on a file of its own, which the system lets go when the
/// process ends, however it does.
final class StoreRun: Sendable {
    /// The run's name.
    let id: String
    private let path: String
    private let descriptor: Int32

    fileprivate init(_ id: String, _ path: String, _ descriptor: Int32) {
        (self.id, self.path, self.descriptor) = (id, path, descriptor)
    }

    deinit {
        // Without its file a run counts as ended, so that the lock has to outlast it.
        _ = unlink(path)
        close(descriptor)
    }
}

/// The files of a local store: the database, SQLite's log and index of the log, two locks and one for each run, and a
/// mark.
enum StoreFiles {
    /// What stands behind the name in those of the files that belong together, the database's first.
    private static let endings = ["", "-wal", "-shm"]

    /// Makes the folder and the empty file with the owner's permissions alone; SQLite's further files take after it.
    static func prepare(_ path: String) throws(RelayError) {
        var folder = path[...]
        if let slash = folder.lastIndex(of: "/") { folder = folder[..<slash] } else { folder = "." }
        var missing: [String] = []
        while !folder.isEmpty, access(String(folder), F_OK) != 0 {
            missing.append(String(folder))
            guard let slash = folder.lastIndex(of: "/") else { break }
            folder = folder[..<slash]
        }
        for folder in missing.reversed() where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw .storage("\(folder) cannot be made: \(words(errno))")
        }
        try prepareFile(path)
    }

    /// Makes the empty file where there is none, and looks at one that is there without opening it: with any descriptor
    /// of a file that a process closes, it lets go of all its locks on it, those of SQLite too. Another process would
    /// take the store for one that nobody uses then, and remove its log.
    private static func prepareFile(_ path: String) throws(RelayError) {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw .storage("\(path) is no file") }
            guard access(path, R_OK | W_OK) == 0 else { throw .storage("\(path): \(words(errno))") }
            return
        }
        guard errno == ENOENT else { throw .storage("\(path): \(words(errno))") }
        let descriptor = descriptor(of: path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
        guard descriptor >= 0 else {
            // Another process has just made it.
            if errno == EEXIST { return }
            throw .storage("\(path): \(words(errno))")
        }
        close(descriptor)
    }

    /// Takes the lock on the opening of a store.
    ///
    /// - Returns: the descriptor, to be closed; whatever end of the process closes it too.
    static func lock(_ path: String) throws(RelayError) -> Int32 {
        let path = path + ".lock"
        let descriptor = descriptor(of: path)
        guard descriptor >= 0 else { throw .storage("\(path): \(words(errno))") }
        let deadline = ContinuousClock.now + .seconds(5)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR, ContinuousClock.now < deadline else {
                close(descriptor)
                throw .storage("\(path): \(words(code))")
            }
            // The store is opened on a thread that may block, and a lock of another process does not say when it goes.
            usleep(5_000)
        }
        return descriptor
    }

    /// Notes that a store is in use here. Whoever puts a damaged store aside must be alone: SQLite removes a log by its
    /// name, so that another process that closes the old store would remove the new one's.
    static func use(_ path: String) throws(RelayError) -> StoreUse {
        let descriptor = descriptor(of: path + ".use")
        guard descriptor >= 0 else { throw .storage("\(path).use: \(words(errno))") }
        // Only who puts a store aside, under the lock on the opening, has another kind of hold on it.
        _ = flock(descriptor, LOCK_SH)
        return StoreUse(descriptor)
    }

    /// Begins a run of this program. Its lock is taken before anything in the store names the run.
    static func run(_ id: String, of path: String) throws(RelayError) -> StoreRun {
        let path = self.path(ofRun: id, path)
        let descriptor = descriptor(of: path)
        guard descriptor >= 0 else { throw .storage("\(path): \(words(errno))") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            throw .storage("\(path): \(words(code))")
        }
        return StoreRun(id, path, descriptor)
    }

    /// Whether a run that the store names has ended: nobody holds its lock, or its file is gone.
    static func hasEnded(run id: String, of path: String) -> Bool {
        let path = self.path(ofRun: id, path)
        let descriptor = descriptor(of: path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Removes the file of a run that has ended.
    static func remove(run id: String, of path: String) { _ = unlink(self.path(ofRun: id, path)) }

    private static func path(ofRun id: String, _ path: String) -> String { "\(path).run-\(id)" }

    /// Gives the lock back.
    static func unlock(_ descriptor: Int32) {
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Renames a damaged store with its log, which may hold what can be saved, so that SQLite still finds the two
    /// together.
    ///
    /// - Parameter day: the day, as `2026-11-22`.
    /// - Returns: the file's new name: the old one with `.damaged-` and the day behind it, and a number where that is
    ///   taken.
    static func putAside(_ path: String, day: String) throws(RelayError) -> String {
        var name = "\(path).damaged-\(day)"
        var number = 2
        while endings.contains(where: { access(name + $0, F_OK) == 0 }) {
            name = "\(path).damaged-\(day)-\(number)"
            number += 1
        }
        // The log first: a new store must never find it.
        for ending in endings.reversed() where rename(path + ending, name + ending) != 0 && errno != ENOENT {
            throw .storage("\(path) is damaged and cannot be put aside: \(words(errno))")
        }
        _ = unlink(suspicion(path))
        return name
    }

    /// The bytes of the database and of its log.
    static func bytes(_ path: String) -> Int {
        ["", "-wal"].reduce(0) { sum, ending in
            var information = stat()
            return stat(path + ending, &information) == 0 ? sum + Int(information.st_size) : sum
        }
    }

    // MARK: The mark of damage

    /// Notes that damage was found in use, so that the next opening puts the file aside.
    static func suspect(_ path: String) {
        let descriptor = descriptor(of: suspicion(path))
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether damage was found in use, and the file was not put aside since then.
    static func isSuspect(_ path: String) -> Bool { access(suspicion(path), F_OK) == 0 }

    private static func suspicion(_ path: String) -> String { path + ".suspect" }

    // MARK: Calls

    private static func descriptor(of path: String, _ flags: Int32 = O_RDWR | O_CREAT | O_CLOEXEC) -> Int32 {
        Platform.open(path, flags, 0o600)
    }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}
