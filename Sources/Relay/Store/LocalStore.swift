import GRDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What this client keeps on this machine, in an SQLite database. It opens before the network is touched, so that what is
/// kept can be shown while offline (Nexconn's and RongCloud's database).
public final class LocalStore: Sendable {
    /// Where a store is.
    public enum Location: Hashable, Sendable {
        /// In memory: nothing outlives the client.
        case memory
        /// In this file, one for each user of a network. Its folder is made when it is missing; both are the owner's
        /// alone.
        case file(String)
    }

    /// How opening went.
    public struct Opening: Hashable, Sendable {
        /// Whether a damaged store was put aside and an empty one made in its place.
        public var isRecreated: Bool
        /// Why there is no store; the connection works without it.
        public var error: RelayError?

        /// Describes an opening.
        public init(isRecreated: Bool, error: RelayError? = nil) {
            self.isRecreated = isRecreated
            self.error = error
        }
    }

    private let database: DatabaseQueue

    private init(_ database: DatabaseQueue) { self.database = database }

    /// Opens a store, and makes it when there is none.
    ///
    /// A file that is no readable database is renamed to end in `.damaged`, with its log, or in `.damaged-2` and so on
    /// where an earlier one has that name, so that nothing is destroyed; an empty store takes its place. One process
    /// opens a store at a time, by a lock on a file next to it. Blocks for as long as the disk takes, and some seconds
    /// when another process is opening the same store.
    ///
    /// - Returns: the store, and whether a damaged one was put aside.
    /// - Throws: ``RelayError/storage(_:)`` with the file's name and the cause.
    public static func open(_ location: Location) throws(RelayError) -> (store: LocalStore, isRecreated: Bool) {
        guard case .file(let path) = location else {
            return (try failing("the memory") { LocalStore(try prepared(DatabaseQueue())) }, false)
        }
        try prepareFile(path)
        // A process that finds a damaged store must not put aside the new one that another has just made.
        let lock = try lock(path + ".lock")
        defer { close(lock) }
        do {
            return (LocalStore(try prepared(DatabaseQueue(path: path, configuration: configuration))), false)
        } catch let error as DatabaseError where isDamage(error) {
            try putAside(path)
            try prepareFile(path)
            return try failing(path) {
                (LocalStore(try prepared(DatabaseQueue(path: path, configuration: configuration))), true)
            }
        } catch {
            throw failure(error, path)
        }
    }

    // MARK: Opening

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(2)
        configuration.journalMode = .wal
        configuration.label = "parley.store"
        return configuration
    }

    /// Brings the tables up to date, which also finds out whether the file is a database at all.
    private static func prepared(_ database: DatabaseQueue) throws -> DatabaseQueue {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 facts") { database in
            try database.create(table: "facts") { table in
                table.primaryKey("name", .text)
                table.column("value", .text).notNull()
            }
        }
        // A store that a newer version has written is left alone.
        guard try database.read({ try !migrator.hasBeenSuperseded($0) }) else {
            throw RelayError.storage("it was written by a newer version; update this one, or move the file away")
        }
        try migrator.migrate(database)
        return database
    }

    private static func isDamage(_ error: DatabaseError) -> Bool {
        error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
    }

    private static func failing<Value>(_ path: String, _ body: () throws -> Value) throws(RelayError) -> Value {
        do { return try body() } catch { throw failure(error, path) }
    }

    private static func failure(_ error: any Error, _ path: String) -> RelayError {
        switch error {
        case RelayError.storage(let words): .storage("\(path): \(words)")
        case let error as DatabaseError: .storage("\(path): \(error.message ?? "SQLite's \(error.resultCode)")")
        default: .storage("\(path) cannot be opened")
        }
    }

    // MARK: Files

    /// Makes the folder and the empty file with the owner's permissions alone; SQLite's further files take after it.
    private static func prepareFile(_ path: String) throws(RelayError) {
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
        let descriptor = descriptor(of: path)
        guard descriptor >= 0 else { throw .storage("\(path): \(words(errno))") }
        close(descriptor)
    }

    private static func descriptor(of path: String) -> Int32 {
        #if canImport(Darwin)
            Darwin.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #elseif canImport(Musl)
            Musl.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #else
            Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #endif
    }

    /// Takes the lock on a file, which is held until the descriptor is closed, by whatever end of the process too.
    private static func lock(_ path: String) throws(RelayError) -> Int32 {
        let descriptor = descriptor(of: path)
        guard descriptor >= 0 else { throw .storage("\(path): \(words(errno))") }
        let deadline = ContinuousClock.now + .seconds(5)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR, ContinuousClock.now < deadline else {
                close(descriptor)
                throw .storage("\(path): \(words(code))")
            }
            // The store is opened on a thread that may block, and the system does not say when another process unlocks the file.
            usleep(5_000)
        }
        return descriptor
    }

    /// Renames a damaged store with its log, which may hold what can be saved, so that SQLite still finds the two
    /// together.
    private static func putAside(_ path: String) throws(RelayError) {
        let endings = ["", "-wal", "-shm"]
        var name = path + ".damaged"
        var number = 2
        while endings.contains(where: { access(name + $0, F_OK) == 0 }) {
            name = "\(path).damaged-\(number)"
            number += 1
        }
        // The log first: a new store must never find it.
        for ending in endings.reversed() where rename(path + ending, name + ending) != 0 && errno != ENOENT {
            throw .storage("\(path) is damaged and cannot be put aside: \(words(errno))")
        }
    }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}
