import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers
import NIOCore
import Platform

/// The file beside a store's database that has the messages of a burst until rows are made of them.
///
/// SQLite writes a large value three times, page by page: into its log, from there into the database, and once more
/// when it is deleted. Here it is written once. Each part of the file that counts is named by a row of `staged`, which
/// is written behind it in the same transaction, so that only one process at a time writes here; a part that no row
/// names is free. The row has the part's checksum: after a loss of power the row may be there and what it names may
/// not.
struct BurstFile {
    /// What the name has behind the database's.
    static let ending = "-burst"
    /// The file's name.
    let path: String
    /// The file, held open by a store that writes it often.
    private var held: HeldBurstFile?

    /// A part that a row names.
    struct Part: Hashable {
        /// The place of its first byte.
        var place: Int
        /// Its length.
        var bytes: Int
        /// What its bytes add up to.
        var checksum: Int64

        /// Where it ends.
        var end: Int { place + bytes }
    }

    init(path: String) { self.path = path }

    /// The file that belongs to a database, for the store that holds it open once it writes to it.
    init?(of database: Database, held: HeldBurstFile) {
        if let path = held.path {
            self.path = path
        } else {
            guard let file = BurstFile(of: database) else { return nil }
            path = file.path
        }
        self.held = held
    }

    /// The file that belongs to a database; nil for one in memory, and for one that no longer has its name: the file
    /// beside that name belongs to whichever database has it now.
    init?(of database: Database) {
        guard let connection = database.sqliteConnection, let name = sqlite3_db_filename(connection, "main"),
            name.pointee != 0
        else { return nil }
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        guard code != SQLITE_OK || hasMoved == 0 else { return nil }
        path = String(cString: name) + Self.ending
    }

    /// Writes values one behind the other, each behind its length.
    ///
    /// - Returns: the part; nil where the file cannot be opened.
    /// - Throws: SQLite's error of the same meaning.
    func write(_ values: [EncodedMessages], at place: Int) throws -> Part? {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC
        guard let descriptor = held?.descriptor(path, flags) ?? descriptor(flags) else { return nil }
        defer { if held == nil { close(descriptor) } }
        var status = stat()
        let hasLength = fstat(descriptor, &status) == 0
        var part = Part(place: place, bytes: 0, checksum: 0)
        var checksum = BurstChecksum()
        do {
            Self.reserve(values.reduce(0) { $0 + $1.framed.readableBytes }, in: descriptor, at: place)
            for value in values {
                try value.framed.withUnsafeReadableBytes { bytes in
                    checksum.add(UnsafeRawBufferPointer(rebasing: bytes.prefix(EncodedMessages.lengthBytes)))
                    checksum.add(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(EncodedMessages.lengthBytes)))
                    try Self.write(bytes, to: descriptor, at: part.end)
                    part.bytes += bytes.count
                }
            }
        } catch {
            // On a full disk what was begun would keep others from the last that there is.
            if hasLength { _ = ftruncate(descriptor, status.st_size) }
            throw error
        }
        part.checksum = checksum.value
        return part
    }

    /// Takes room on the disk at once, which costs less than page by page. Where that cannot be done the writing does
    /// it.
    private static func reserve(_ bytes: Int, in descriptor: Int32, at place: Int) {
        #if os(Linux)
            _ = posix_fallocate(descriptor, off_t(place), off_t(bytes))
        #endif
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at place: Int) throws {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(place + written))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(count < 0 ? errno : ENOSPC) }
            written += count
        }
    }

    /// The values in a part, as they were written; nil where they are not what was written, or no longer there.
    ///
    /// - Throws: SQLite's error of the same meaning where that cannot be found out now.
    func read(_ part: Part) throws -> [ByteBuffer]? {
        guard part.place >= 0, part.bytes >= 0, part.bytes <= Self.maximumPart, part.place <= .max - part.bytes else {
            return nil
        }
        guard let descriptor = descriptor(O_RDONLY | O_CLOEXEC) else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Self.failure(errno)
        }
        defer { close(descriptor) }
        var bytes = ByteBuffer()
        while bytes.readableBytes < part.bytes {
            let missing = part.bytes - bytes.readableBytes
            var code: Int32 = 0
            let count = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { room in
                let count = pread(descriptor, room.baseAddress, missing, off_t(part.end - missing))
                if count < 0 { code = errno }
                return max(0, count)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw Self.failure(code) }
            guard count > 0 else { return nil }
        }
        var checksum = BurstChecksum()
        var values: [ByteBuffer] = []
        while bytes.readableBytes > 0 {
            guard let head = bytes.readSlice(length: MemoryLayout<UInt32>.size),
                let length = head.getInteger(at: head.readerIndex, endianness: .little, as: UInt32.self),
                let value = bytes.readSlice(length: Int(length))
            else { return nil }
            for bytes in [head, value] { bytes.withUnsafeReadableBytes { checksum.add($0) } }
            values.append(value)
        }
        return checksum.value == part.checksum ? values : nil
    }

    /// A row that claims more than this was damaged.
    private static let maximumPart = 1 << 30

    /// Whether the file takes no room.
    var isEmpty: Bool { Self.isEmpty(path) }

    /// Whether there is no such file, or nothing in it.
    static func isEmpty(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_size == 0
    }

    /// Gives the disk back what the file has. Nobody may need any of it.
    func empty() {
        // What is not given back is written over later.
        if !isEmpty { _ = truncate(path, 0) }
    }

    private func descriptor(_ flags: Int32) -> Int32? {
        let descriptor = open(path, flags, 0o600)
        return descriptor >= 0 ? descriptor : nil
    }

    private static func failure(_ code: Int32) -> DatabaseError {
        let result: ResultCode =
            switch code {
            case ENOSPC, EDQUOT, EFBIG: .SQLITE_FULL
            case EROFS, EPERM, EACCES: .SQLITE_READONLY
            default: .SQLITE_IOERR
            }
        return DatabaseError(resultCode: result, message: String(cString: strerror(code)))
    }
}

/// The file of bursts as a store holds it open, from its first burst on: to open a file costs as much as to write some.
final class HeldBurstFile: Sendable {
    private let opened = NIOLockedValueBox<(path: String, descriptor: Int32)?>(nil)

    deinit { close() }

    /// Lets go of the file; the next burst opens it again.
    func close() { opened.withLockedValue { Self.close(&$0) } }

    private static func close(_ opened: inout (path: String, descriptor: Int32)?) {
        guard let descriptor = exchange(&opened, with: nil)?.descriptor else { return }
        _ = Platform.close(descriptor)
    }

    /// The name of the file that is open; nil where none is, or somebody has deleted it meanwhile.
    var path: String? {
        opened.withLockedValue { opened in
            guard let (path, descriptor) = opened else { return nil }
            var status = stat()
            if fstat(descriptor, &status) == 0, status.st_nlink > 0 { return path }
            Self.close(&opened)
            return nil
        }
    }

    /// The file, which is opened unless it is open; nil where it cannot be.
    fileprivate func descriptor(_ path: String, _ flags: Int32) -> Int32? {
        opened.withLockedValue { opened in
            if let opened { return opened.descriptor }
            let descriptor = open(path, flags, 0o600)
            guard descriptor >= 0 else { return nil }
            opened = (path, descriptor)
            return descriptor
        }
    }
}

/// Where in the file of bursts there is room, as a pure value. Parts follow each other, and begin again at the file's
/// beginning once they have come far and the oldest are done with.
struct BurstRoom: Hashable {
    /// Where the file goes on at its beginning, as soon as there is room.
    static let turningPoint = 128 << 20

    /// The end of the newest part that counts; nil where none does.
    var newestEnd: Int?
    /// Where the first part in the file begins, and where the last one ends.
    var lowest = 0
    var highest = 0
    /// Where the next part behind the newest one begins; nil where nothing is behind it.
    var above: Int?

    /// Finds a place for the next part, and takes it.
    mutating func place(for bytes: Int) -> Int {
        var place = newestEnd ?? 0
        if let above, above - place < bytes {
            place = highest
            self.above = nil
        } else if above == nil, newestEnd != nil, place >= Self.turningPoint, lowest >= bytes {
            place = 0
            above = lowest
        }
        lowest = newestEnd == nil ? place : min(lowest, place)
        newestEnd = place + bytes
        highest = max(highest, place + bytes)
        return place
    }
}

/// What tells bytes that were written from others: four sums, each of every fourth word, that a processor makes side by
/// side. It finds what a disk does, and is no proof against a person.
struct BurstChecksum {
    private var sums: (UInt64, UInt64, UInt64, UInt64) = (
        0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0xD6E8_FEB8_6659_FD93
    )
    private static let factor: UInt64 = 0x0000_0100_0000_01B3

    /// Adds some bytes, and how many they are.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        // By values of its own, which a processor keeps in its registers: one of several words has no multiplication.
        var (first, second, third, fourth) = sums
        var position = 0
        while position + 32 <= bytes.count {
            Self.add(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self), to: &first)
            Self.add(bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self), to: &second)
            Self.add(bytes.loadUnaligned(fromByteOffset: position + 16, as: UInt64.self), to: &third)
            Self.add(bytes.loadUnaligned(fromByteOffset: position + 24, as: UInt64.self), to: &fourth)
            position += 32
        }
        var rest = SIMD4<UInt64>.zero
        withUnsafeMutableBytes(of: &rest) { rest in
            rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position...]))
        }
        for words in [rest, SIMD4(repeating: UInt64(bytes.count))] {
            Self.add(words[0], to: &first)
            Self.add(words[1], to: &second)
            Self.add(words[2], to: &third)
            Self.add(words[3], to: &fourth)
        }
        sums = (first, second, third, fourth)
    }

    private static func add(_ word: UInt64, to sum: inout UInt64) {
        sum = (sum ^ word) &* factor
        // A factor alone carries nothing down.
        sum ^= sum >> 29
    }

    /// All of it in one number.
    var value: Int64 {
        var all: UInt64 = 0
        for sum in [sums.0, sums.1, sums.2, sums.3] { all = (all ^ sum) &* Self.factor ^ (all >> 31) }
        return Int64(bitPattern: all)
    }
}
