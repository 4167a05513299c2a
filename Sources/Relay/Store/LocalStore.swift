import GRDB
import NATS
import NIOConcurrencyHelpers
import NIOPosix

/// The client's data on this machine, in an SQLite database: messages, letters, the outbox, and the state of the
/// person's screen. It opens before the network is touched, so that stored data can be shown offline (Nexconn's and
/// RongCloud's database).
///
/// One connection writes, in its own thread; readers have others and see the state at their start, so that none waits
/// for the writer. Received data is written in batches, so that a reader may see it some 100 ms later; what a person
/// has read or typed is written at once, with the messages before it. Another process may use the same file at the same
/// time.
///
/// On a read-only disk, appended data is dropped and every other change fails.
public final class LocalStore: Sendable {
    /// The outcome of opening it: ``Opening/found``, ``Opening/made``, ``Opening/rescued(_:)`` or
    /// ``Opening/readOnly(path:)``.
    public let opening: Opening

    let database: DatabasePool
    let path: String
    let clock: any Timekeeper
    /// Nil on a read-only disk.
    let writer: StoreWriter?
    private let readers = NIOLockedValueBox(Readers())

    private struct Readers {
        var count = 0
        /// Waits for the last reader; no others may start.
        var closer: Completion<Void>?
    }

    init(_ database: DatabasePool, path: String, opening: Opening, writer: StoreWriter?, clock: any Timekeeper) {
        self.database = database
        self.path = path
        self.opening = opening
        self.writer = writer
        self.clock = clock
    }

    /// Storage failures and recoveries; each is reported once. A new reader first gets the last one.
    public var news: AsyncStream<StoreNews> { writer?.news ?? AsyncStream { $0.finish() } }

    // MARK: Writing

    /// Writes received messages and their changes in the next batch. Existing messages stay as they are.
    ///
    /// Returns at once while there is room. If the writer lags behind it waits for room, so that further messages stay
    /// on the server, but at most ``StoreBatching/patience``; while the disk fails, it does not wait. Without room,
    /// messages and changes are dropped, which ``news`` reports.
    ///
    /// - Parameters:
    ///   - messages: The messages.
    ///   - changes: Changes to write after the messages, such as a cursor that has passed them.
    /// - Returns: False if there was no room, so that everything was dropped.
    @discardableResult
    package func append(_ messages: [KeptMessage], _ changes: [StoreChange] = []) async -> Bool {
        await writer?.append(messages, changes) ?? false
    }

    /// As ``append(_:_:)``, without waiting for room.
    func offer(_ changes: [StoreChange]) { writer?.add([], changes, orWait: nil) }

    /// Writes everything that waits, and returns once it is stored.
    ///
    /// - Throws: ``RelayError/storage(_:)`` if it could not be written; it then still waits.
    package func flush() async throws(RelayError) { try await writer?.flush() }

    /// Commits changes made by a person before returning, so that they survive a crash of the process. Outgoing
    /// messages are also forced onto the disk.
    ///
    /// - Throws: ``RelayError/storage(_:)``; none of the changes is stored then.
    package func commit(_ changes: [StoreChange]) async throws(RelayError) {
        try await writing(isForced: changes.contains(where: \.isPrecious)) { database in
            for change in changes { try change.write(to: database) }
        }
    }

    /// Reports, once, that a commit failed and its data stays in memory.
    func tellFailing(_ error: RelayError) { writer?.tellFailing(error) }

    /// Reports that all commits have succeeded by now.
    func tellRecovered() { writer?.tellRecovered() }

    /// Writes in a transaction of its own, at once.
    ///
    /// - Parameter isForced: Whether to force it onto the disk before returning.
    @discardableResult
    func writing<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        guard let writer else { throw StoreFailure.readOnly(path) }
        return try await writer.write(isForced: isForced, work)
    }

    /// Writes everything that waits and releases the file. Later appends are dropped.
    ///
    /// - Throws: ``RelayError/storage(_:)`` if something could not be written; the file is released all the same.
    package func close() async throws(RelayError) {
        let failure = await writer?.stop()
        // GRDB's pool must not be closed while a reader asks it for a connection.
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

    /// Reads concurrently with the writer.
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
