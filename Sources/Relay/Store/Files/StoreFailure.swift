import GRDB

/// The meaning of a failure of SQLite for a person and for a writer.
enum StoreFailure {
    /// The error for a caller: the file, the problem, and the remedy.
    static func error(_ error: any Error, _ path: String) -> RelayError {
        switch error {
        case let error as RelayError: error
        case is CancellationError: .cancelled
        case let error as DatabaseError: .storage("\(path): \(words(error, path))")
        default: Self.error(DatabaseError.damage("a value of another kind"), path)
        }
    }

    /// As ``error(_:_:)`` for a failure in use. Damage is remembered, so that the next opening puts the file aside.
    static func noted(_ error: any Error, _ path: String) -> RelayError {
        if isDamage(error) { StoreFiles.suspect(path) }
        return Self.error(error, path)
    }

    /// The error for writing to a store that may not be written.
    static func readOnly(_ path: String) -> RelayError { error(DatabaseError(resultCode: .SQLITE_READONLY), path) }

    private static func words(_ error: DatabaseError, _ path: String) -> String {
        switch error.resultCode {
        case .SQLITE_FULL: "the disk is full; make room, and what waits is kept then"
        case .SQLITE_READONLY: "it may not be written; allow writing to the file and its folder"
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            "it cannot be opened; look at the permissions of the file and its folder"
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            StoreFiles.isReadOnly(path)
                ? "it is damaged; allow writing to the file and its folder and start again: it is then put aside, and "
                    + "what you wrote is carried over"
                : "it is damaged; start again, then it is put aside and what you wrote is carried over"
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another program keeps it locked; wait for it or end it"
        case .SQLITE_IOERR: "the disk reports an error (\(error.message ?? "without words")); look at the disk"
        default: error.message ?? "SQLite's \(error.resultCode)"
        }
    }

    /// Whether the file is no database, or a damaged one.
    static func isDamage(_ error: any Error) -> Bool {
        switch error {
        case let error as DatabaseError:
            // A violated constraint means that two pages of a table do not belong together; the search's tables report
            // that only in words.
            [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT].contains(error.resultCode)
                || error.message?.contains("invalid fts5 file format") == true
        case is RelayError, is CancellationError: false
        // GRDB's error for a value of the wrong type has no public name.
        default: true
        }
    }

    /// Whether the same may succeed later, as when there is room or permission again. A damaged file, or a violated
    /// constraint, fails forever.
    static func mayPass(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return error is CancellationError }
        switch error.resultCode {
        case .SQLITE_FULL, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_BUSY,
            .SQLITE_LOCKED, .SQLITE_IOERR, .SQLITE_NOMEM, .SQLITE_PROTOCOL, .SQLITE_INTERRUPT, .SQLITE_ABORT:
            return true
        default: return false
        }
    }
}

// A damaged file contains values, orders and numbers that no one wrote. Reading it must never end the process or loop
// forever.

extension Row {
    /// A column's value. GRDB's own subscript ends the process if a damaged row has a value of another type.
    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(at index: Int) -> Value {
        get throws { try decode(Value.self, atIndex: index) }
    }
}

extension DatabaseError {
    /// The error for a file whose contradictions SQLite does not notice.
    static func damage(_ finding: String) -> DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: finding)
    }
}
