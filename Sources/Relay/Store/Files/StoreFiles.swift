import Platform
import Synchronization

/// A lock on a file of its own, which ends on request, with the last reference or with the process, however that ends.
final class StoreLock: Sendable {
    private let path: String
    private let removesFile: Bool
    /// −1 once it has ended.
    private let descriptor: Atomic<Int32>

    /// Takes a lock.
    ///
    /// - Parameters:
    ///   - mode: `LOCK_SH` or `LOCK_EX`.
    ///   - patience: How long to wait for it, in a thread that may block.
    ///   - removesFile: Whether the file is removed with the lock.
    init(_ path: String, _ mode: Int32, patience: Duration = .zero, removesFile: Bool = false) throws(RelayError) {
        let descriptor = Platform.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFiles.failure(path) }
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, mode | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
                defer { close(descriptor) }
                throw StoreFiles.failure(path)
            }
            // The system does not report when another process releases its lock.
            usleep(5_000)
        }
        self.path = path
        self.removesFile = removesFile
        self.descriptor = Atomic(descriptor)
    }

    deinit { end() }

    func end() {
        let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        guard descriptor >= 0 else { return }
        // A missing file counts as unlocked, so the file goes first.
        if removesFile { _ = unlink(path) }
        // A child process that is being started may still hold the descriptor, and with it the lock.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether no one else has a lock on the file.
    var isAlone: Bool {
        let descriptor = descriptor.load(ordering: .acquiring)
        defer { _ = flock(descriptor, LOCK_SH) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
}

/// The files of a local store: the database, SQLite's log and its index, two locks and one for each run, and a mark.
package enum StoreFiles {
    /// The suffixes of the files that belong together, the database's first.
    private static let endings = ["", "-wal", "-shm"]

    /// Creates the folder and an empty file, accessible to the owner only; SQLite's other files inherit that. An
    /// existing file is checked without opening it: when a process closes any descriptor of a file, it releases all its
    /// locks on it, including SQLite's. Another process would then believe that the store is unused and remove its log.
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
        // Another process may just have created it.
        guard descriptor >= 0 || errno == EEXIST else { throw failure(path) }
        if descriptor >= 0 { close(descriptor) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: Read-only disks

    /// Whether there is a readable store which, or whose folder, may not be written.
    package static func isReadOnly(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, R_OK) == 0 else {
            return false
        }
        return access(path, W_OK) != 0 || access(folder(of: path), W_OK) != 0
    }

    /// The name by which SQLite reads a store. A read-only store that was closed has no log, which SQLite would create
    /// unless it is told that the file never changes; an existing log is read with its index.
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

    /// Takes the lock for opening a store. Blocks for at most five seconds.
    static func lock(_ path: String) throws(RelayError) -> StoreLock {
        try StoreLock(path + ".lock", LOCK_EX, patience: .seconds(5))
    }

    /// Marks a store as in use. Putting a damaged store aside requires being alone: SQLite removes a log by its name,
    /// so another process that closed the old store would remove the new one's.
    static func use(_ path: String) throws(RelayError) -> StoreLock {
        // Only putting a store aside, under the lock for opening, needs an exclusive lock.
        try StoreLock(path + ".use", LOCK_SH)
    }

    // MARK: Runs of programs

    /// Starts a run of this program, which keeps its outbox in a store. Its lock precedes any mention of the run in the
    /// store.
    static func run(_ id: String, of path: String) throws(RelayError) -> StoreLock {
        try StoreLock(self.path(ofRun: id, path), LOCK_EX, removesFile: true)
    }

    /// Whether a run has ended: no one holds its lock, or its file is gone.
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

    /// Renames a damaged store together with its log, which may contain rescuable data.
    ///
    /// - Parameter day: The day, such as `2026-11-22`.
    /// - Returns: The file's new name: the old one followed by `.damaged-`, the day, and a number if that is taken.
    static func putAside(_ path: String, day: String) throws(RelayError) -> String {
        var name = "\(path).damaged-\(day)"
        var number = 2
        while endings.contains(where: { access(name + $0, F_OK) == 0 }) {
            name = "\(path).damaged-\(day)-\(number)"
            number += 1
        }
        // The log goes first: a new store must never find it.
        for ending in endings.reversed() where rename(path + ending, name + ending) != 0 && errno != ENOENT {
            throw .storage("\(path) is damaged and cannot be put aside: \(words(errno))")
        }
        _ = unlink(suspicion(path))
        return name
    }

    /// Records that damage was found in use, so that the next opening puts the file aside.
    static func suspect(_ path: String) {
        let descriptor = Platform.open(suspicion(path), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether damage was found in use and the file was not put aside since.
    static func isSuspect(_ path: String) -> Bool { access(suspicion(path), F_OK) == 0 }

    private static func suspicion(_ path: String) -> String { path + ".suspect" }

    // MARK: Calls

    /// The size of the database and its log in bytes.
    static func bytes(_ path: String) -> Int { bytes(ofFile: path) + bytes(ofFile: path + "-wal") }

    private static func bytes(ofFile path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }

    /// The error of the last system call.
    fileprivate static func failure(_ path: String) -> RelayError { .storage("\(path): \(words(errno))") }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}
