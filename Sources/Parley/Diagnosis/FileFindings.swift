import Platform
import Relay
import RelayNetwork

enum FileFindings {
    static func configuration(flag: String?, _ environment: [String: String]) -> Finding {
        let name = "configuration"
        let (path, isNamed) = ConfigurationFile.place(flag: flag, environment)
        var status = stat()
        guard stat(path, &status) == 0 else {
            if !isNamed, errno == ENOENT { return Finding(name, .ok, "no file at \(path), and none is needed") }
            return Finding(
                name, .misconfigured, "\(path): \(reason(errno))",
                fix: "correct the path in --config or PARLEY_CONFIG")
        }
        let file: ConfigurationFile
        do throws(CommandFailure) { file = try ConfigurationSource(flag: flag, environment).file } catch {
            return Finding(name, .failure(error.code), error.text, fix: "edit \(path), or move it away")
        }
        let words = "\(path), \(Wording.count(file.profiles.count, "profile"))"
        guard status.st_mode & 0o022 != 0 else { return Finding(name, .ok, words) }
        return Finding(name, .warning, "\(words); others can change it", fix: "chmod go-w \(path)")
    }

    /// The free bytes below which storing is unreliable, and below which it soon will be.
    private static let (leastFree, scarceFree): (UInt64, UInt64) = (16 << 20, 256 << 20)

    /// The folder of the private network and the local store.
    static func dataFolder(_ environment: [String: String]) -> Finding {
        let name = "data folder"
        let path = NetworkDirectory.dataFolder(environment)
        var existing = path
        while access(existing, F_OK) != 0, let slash = existing.lastIndex(of: "/"), slash != existing.startIndex {
            existing = String(existing[..<slash])
        }
        let way = "or set XDG_DATA_HOME to a folder that you own"
        var status = stat()
        guard stat(existing, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            return Finding(name, .cannotCreate, "\(existing) is not a folder", fix: "move it away, \(way)")
        }
        guard access(existing, W_OK | X_OK) == 0 else {
            return Finding(name, .cannotCreate, "\(existing) cannot be written", fix: "make it yours, \(way)")
        }
        var system = statvfs()
        guard statvfs(existing, &system) == 0 else {
            return Finding(name, .warning, "\(path) is writable; its free space is not known: \(reason(errno))")
        }
        let product = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize))
        let free = product.overflow ? .max : product.partialValue
        let words = "\(path)\(existing == path ? "" : " (not made yet)"), \(Wording.bytes(free)) free"
        guard free < scarceFree else { return Finding(name, .ok, words) }
        return Finding(name, free < leastFree ? .cannotCreate : .warning, words, fix: "free some space")
    }

    /// The interactive client's local store. It is not opened, since a chat may be using it.
    static func localStore(_ path: String?) -> Finding {
        let name = "local store"
        guard let path else { return Finding(name, .ok, "none: the user is unknown before the connection") }
        guard access(path, F_OK) == 0 else { return Finding(name, .ok, "\(path) (not made yet)") }
        func closed(_ words: String) -> Finding {
            Finding(
                name, .cannotCreate, "\(path): \(words)", fix: "move it away, or make it yours with chmod u+rw")
        }
        var status = stat()
        guard stat(path, &status) == 0 else { return closed(reason(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { return closed("it is not a file") }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return closed(reason(errno)) }
        defer { close(descriptor) }
        let expected = Array("SQLite format 3\0".utf8)
        var found = [UInt8](repeating: 0, count: expected.count)
        let count = read(descriptor, &found, found.count)
        let words = "\(path), \(Wording.bytes(bytes(ofStore: path)))"
        // A store that was never written is empty. Damage found further inside is marked by a file.
        guard count == 0 || found == expected, access(path + ".suspect", F_OK) != 0 else {
            return Finding(
                name, .warning, "\(words), is damaged",
                fix:
                    "start parley: it renames the file to end in .damaged- and the day, and begins a new one with what "
                    + "can be read of what you wrote")
        }
        guard StoreFiles.isReadOnly(path) else { return Finding(name, .ok, words) }
        return Finding(
            name, .warning, "\(path) may not be written: its history can be read, and nothing new is kept",
            fix: "allow writing to the file and its folder")
    }

    private static func bytes(ofStore path: String) -> UInt64 {
        var sum: UInt64 = 0
        for file in [path, path + "-wal"] {
            var status = stat()
            if stat(file, &status) == 0 { sum += UInt64(clamping: status.st_size) }
        }
        return sum
    }

    static func reason(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
