import Platform

/// Writes a file that only its owner can read, whole or not at all.
enum CredentialsFile {
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let bytes = Array(text.utf8)
        let written = bytes.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
        let isFlushed = fsync(descriptor) == 0
        close(descriptor)
        guard written == bytes.count, isFlushed, rename(temporary, path) == 0 else {
            let error = failure(path)
            unlink(temporary)
            throw error
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.cannotCreate, "\(path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
