import Platform
import Synchronization

/// A lock on a file of its own, which ends when it is told to, with the last reference and with the process, however
/// that ends.
final class StoreLock: Sendable {
    private let path: String
    private let removesFile: Bool
    /// −1 once it has ended.
    private let descriptor: Atomic<Int32>

    /// Takes a lock.
    ///
    /// - Parameters:
    ///   - mode: `LOCK_SH` or `LOCK_EX`.
    ///   - patience: how long it is waited for, in a thread that may block: a lock of another process does not say when
    ///     it goes.
    ///   - removesFile: whether the file ends with the lock.
    init(
        _ path: String, _ mode: Int32, patience: Duration = .zero, removesFile: Bool = false
    ) throws(RelayError) {
        let descriptor = Platform.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFiles.failure(path) }
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, mode | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
                defer { close(descriptor) }
                throw StoreFiles.failure(path)
            }
            // The thread may block, and the system does not tell when another process lets go.
            usleep(5_000)
        }
        self.path = path
        self.removesFile = removesFile
        self.descriptor = Atomic(descriptor)
    }

    deinit { end() }

    /// Gives the lock back.
    func end() {
        let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        guard descriptor >= 0 else { return }
        // Whoever finds no file takes the lock for free, so that the lock outlasts it.
        if removesFile { _ = unlink(path) }
        // A child process that is just being started holds the descriptor for a moment longer, and the lock with it.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether nobody else has a lock on the file.
    var isAlone: Bool {
        let descriptor = descriptor.load(ordering: .acquiring)
        defer { _ = flock(descriptor, LOCK_SH) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
}

/// The files of a local store: the database, SQLite's log and index of the log, two locks and one for each run, and a
/// mark.
package enum StoreFiles {
    /// What stands behind the name in those of the files that belong together, the database's first.
    private static let endings = ["", "-wal", "-shm"]

    /// Makes the folder and the empty file with the owner's permissions alone; SQLite's further files take after it. A
    /// file that is there is looked at without opening it: with any descriptor of a file that a process closes, it lets
    /// go of all its locks on it, those of SQLite too. Another process would take the store for one that nobody uses
    /// then, and remove its log.
    static func prepare(_ path: String) throws(RelayError) {
        var folder = Self.folder(of: path)
        var missing: [String] = []
        while folder != "/", access(folder, F_OK) != 0 {
            missing.append(folder)
            guard folder.contains("/") else { break }
            folder = Self.folder(of: folder)
        }
        for folder in missing.reversed() where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw .storage("\(folder) cannot be made: \(words(errno))")
        }
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw .storage("\(path) is no file") }
            guard access(path, R_OK | W_OK) == 0 else { throw failure(path) }
            return
        }
        guard errno == ENOENT else { throw failure(path) }
        let descriptor = Platform.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // Another process may just have made it.
        guard descriptor >= 0 || errno == EEXIST else { throw failure(path) }
        if descriptor >= 0 { close(descriptor) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: A disk that takes nothing

    /// Whether a store is there that can be read, and it or its folder may not be written.
    package static func isReadOnly(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, R_OK) == 0 else {
            return false
        }
        return access(path, W_OK) != 0 || access(folder(of: path), W_OK) != 0
    }

    /// The name by which SQLite reads a store. One that may not be written and was closed has no log, which SQLite
    /// makes unless it is told that nothing changes the file; a log that is there is read with the index beside it.
    static func nameForReading(_ path: String) -> String {
        guard isReadOnly(path), bytes(ofFile: path + "-wal") == 0 else { return path }
        let plain = path.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return "file:\(plain.joined())?immutable=1"
    }

    // MARK: Locks

    /// Takes the lock on the opening of a store. Blocks for five seconds at most.
    static func lock(_ path: String) throws(RelayError) -> StoreLock {
        try StoreLock(path + ".lock", LOCK_EX, patience: .seconds(5))
    }

    /// Notes that a store is in use here. Whoever puts a damaged store aside must be alone: SQLite removes a log by its
    /// name, so that another process that closes the old store would remove the new one's.
    static func use(_ path: String) throws(RelayError) -> StoreLock {
        // Only who puts a store aside, under the lock on the opening, has another kind of hold on it.
        try StoreLock(path + ".use", LOCK_SH)
    }

    // MARK: Runs of programs

    /// Begins a run of this program, which keeps its outbox in a store. Its lock is taken before anything in the store
    /// names the run.
    static func run(_ id: String, of path: String) throws(RelayError) -> StoreLock {
        try StoreLock(self.path(ofRun: id, path), LOCK_EX, removesFile: true)
    }

    /// Whether a run that the store names has ended: nobody holds its lock, or its file is gone.
    static func hasEnded(run id: String, of path: String) -> Bool {
        let descriptor = Platform.open(self.path(ofRun: id, path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Removes the file of a run that has ended.
    static func remove(run id: String, of path: String) { _ = unlink(self.path(ofRun: id, path)) }

    private static func path(ofRun id: String, _ path: String) -> String { "\(path).run-\(id)" }

    // MARK: Damage

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

    /// Notes that damage was found in use, so that the next opening puts the file aside.
    static func suspect(_ path: String) {
        let descriptor = Platform.open(suspicion(path), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether damage was found in use, and the file was not put aside since then.
    static func isSuspect(_ path: String) -> Bool { access(suspicion(path), F_OK) == 0 }

    private static func suspicion(_ path: String) -> String { path + ".suspect" }

    // MARK: Calls

    /// The bytes of the database and of its log.
    static func bytes(_ path: String) -> Int { bytes(ofFile: path) + bytes(ofFile: path + "-wal") }

    private static func bytes(ofFile path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }

    /// What the system's last call has failed with.
    fileprivate static func failure(_ path: String) -> RelayError { .storage("\(path): \(words(errno))") }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}
