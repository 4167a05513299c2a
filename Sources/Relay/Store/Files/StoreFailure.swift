import GRDB

/// What a failure of SQLite means to a person, and to whoever writes.
enum StoreFailure {
    /// The error for a caller: the file, what is the matter, and what to do.
    static func error(_ error: any Error, _ path: String) -> RelayError {
        switch error {
        case let error as RelayError: error
        case is CancellationError: .cancelled
        case let error as DatabaseError: .storage("\(path): \(words(error, path))")
        default: Self.error(DatabaseError.damage("a value of another kind"), path)
        }
    }

    /// The same of a failure in use. Damage is remembered, so that the next opening puts the file aside.
    static func noted(_ error: any Error, _ path: String) -> RelayError {
        if isDamage(error) { StoreFiles.suspect(path) }
        return Self.error(error, path)
    }

    /// The error for whoever would write to a store that may not be written.
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

    /// Whether the file is no database, or a broken one.
    static func isDamage(_ error: any Error) -> Bool {
        switch error {
        case let error as DatabaseError:
            // A rule of the tables is broken where two of their pages do not belong together, and the search's tables
            // say it in words alone.
            [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT].contains(error.resultCode)
                || error.message?.contains("invalid fts5 file format") == true
        case is RelayError, is CancellationError: false
        // What GRDB throws for a value of another kind than the column has cannot be named.
        default: true
        }
    }

    /// Whether the same may succeed later: there is room again, say, or a permission. What a damaged file refuses, and
    /// what breaks a rule of the tables, it refuses for ever.
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

// A damaged file has values, orders and numbers that nobody wrote. Nothing that reads it may end the process, or go
// round for ever.

extension Row {
    /// A column's value. GRDB's own subscript ends the process where a damaged row has another kind of value there.
    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(at index: Int) -> Value {
        get throws { try decode(Value.self, atIndex: index) }
    }
}

extension DatabaseError {
    /// The error for a file that contradicts itself in a way that SQLite does not see.
    static func damage(_ finding: String) -> DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: finding)
    }
}
