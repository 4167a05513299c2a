import GRDB
import NATS
import NIOConcurrencyHelpers
import NIOPosix

/// What this client keeps on this machine, in an SQLite database: messages, letters, the outbox, and what the person
/// was at. It opens before the network is touched, so that what is kept can be shown while offline (Nexconn's and
/// RongCloud's database).
///
/// One connection writes, in its own thread; readers have others and see the state of their beginning, so that none
/// waits for the writer. What arrives is written in batches, so that it may be some 100 ms until a reader sees it; what
/// a person has read or typed is written at once, with the messages before it. Another process may use the same file at
/// the same time.
///
/// A store on a disk that takes nothing is only read: what is appended is not kept, and all else that would change it
/// fails.
public final class LocalStore: Sendable {
    /// How it was opened; ``Opening/found``, ``Opening/made``, ``Opening/rescued(_:)`` or ``Opening/readOnly(path:)``.
    public let opening: Opening

    let database: DatabasePool
    let path: String
    let clock: any Timekeeper
    /// What writes; nil where the disk takes nothing.
    let writer: StoreWriter?
    private let readers = NIOLockedValueBox(Readers())

    private struct Readers {
        /// How many read.
        var count = 0
        /// Who waits for the last one; nobody begins to read any more.
        var closer: Completion<Void>?
    }

    init(
        _ database: DatabasePool, path: String, opening: Opening, writer: StoreWriter?, clock: any Timekeeper
    ) {
        self.database = database
        self.path = path
        self.opening = opening
        self.writer = writer
        self.clock = clock
    }

    /// What cannot be kept, and that it is kept again, each once. A new reader hears the last of it first.
    public var news: AsyncStream<StoreNews> { writer?.news ?? AsyncStream { $0.finish() } }

    // MARK: Keeping

    /// Keeps messages that arrived, and what they change, in the next batch. What is there already stays as it is.
    ///
    /// Returns at once as long as there is room. While the writer is behind it waits for room, so that what follows
    /// stays on the server, but not longer than ``StoreBatching/patience``; while the disk takes nothing, it does not
    /// wait. What then finds no room is not kept, with its changes, and ``news`` tells so.
    ///
    /// - Parameters:
    ///   - messages: what arrived.
    ///   - changes: what is written behind the messages: a cursor that has passed them, say.
    /// - Returns: false when there was no room, so that nothing of it is kept.
    @discardableResult
    package func append(_ messages: [KeptMessage], _ changes: [StoreChange] = []) async -> Bool {
        await writer?.append(messages, changes) ?? false
    }

    /// As ``append(_:_:)``, for a caller that does not wait for room.
    func offer(_ changes: [StoreChange]) { writer?.add([], changes, orWait: nil) }

    /// Writes what waits, and returns when it is kept.
    ///
    /// - Throws: ``RelayError/storage(_:)`` when it could not be written; it still waits then.
    package func flush() async throws(RelayError) { try await writer?.flush() }

    /// Keeps what a person typed or did, and returns when it is committed: no end of the process loses it then. What is
    /// on its way out is forced onto the disk, too.
    ///
    /// - Throws: ``RelayError/storage(_:)``; nothing of it is kept then.
    package func commit(_ changes: [StoreChange]) async throws(RelayError) {
        try await writing(isForced: changes.contains(where: \.isPrecious)) { database in
            for change in changes { try change.write(to: database) }
        }
    }

    /// Tells, once, that what was committed could not be kept and stays in memory.
    func tellFailing(_ error: RelayError) { writer?.tellFailing(error) }

    /// Tells that what could not be committed is kept by now.
    func tellRecovered() { writer?.tellRecovered() }

    /// Writes in a transaction of its own, at once.
    ///
    /// - Parameter isForced: whether it is on the disk when the call returns.
    @discardableResult
    func writing<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        guard let writer else { throw StoreFailure.readOnly(path) }
        return try await writer.write(isForced: isForced, work)
    }

    /// Writes what waits and lets go of the file. What is appended afterwards is not kept.
    ///
    /// - Throws: ``RelayError/storage(_:)`` when what waited could not be written; the file is let go of all the same.
    package func close() async throws(RelayError) {
        let failure = await writer?.stop()
        // GRDB's pool must not be closed while somebody asks it for a connection.
        let last = Completion<Void>()
        let isRead = readers.withLockedValue { readers in
            readers.closer = last
            return readers.count > 0
        }
        if isRead { await last.value() }
        // Disks may be slow, and the pool of tasks is small.
        _ = try? await NIOThreadPool.singleton.runIfActive { [database, path, isWritten = writer != nil] in
            try? database.close()
            if isWritten { Self.carryOverLog(of: path) }
        }
        writer?.end()
        if let failure { throw failure }
    }

    // MARK: Reading

    /// Reads, beside whoever writes.
    func reading<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        do {
            let isOpen = readers.withLockedValue { readers in
                if readers.closer == nil { readers.count += 1 }
                return readers.closer == nil
            }
            guard isOpen else { throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the store is closed") }
            defer {
                let closer = readers.withLockedValue { readers in
                    readers.count -= 1
                    return readers.count == 0 ? readers.closer : nil
                }
                closer?.fulfil(())
            }
            return try await database.read(work)
        } catch { throw StoreFailure.noted(error, path) }
    }
}
