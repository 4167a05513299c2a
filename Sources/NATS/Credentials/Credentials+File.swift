import Platform

extension Credentials {
    /// Reads a credentials file, which only its owner may be able to read.
    /// - Throws: `CredentialsError.fileTooOpen` if the group or others can read it; `.fileNotFound`, `.fileUnreadable`,
    ///   `.fileTooLarge`; and the errors of ``init(parsing:)``.
    public static func load(path: String) throws(CredentialsError) -> Credentials {
        // Without O_NONBLOCK a named pipe at the path would block the call until it has a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            throw code == ENOENT ? .fileNotFound(path: path) : .fileUnreadable(path: path, reason: reason(code))
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .fileUnreadable(path: path, reason: reason(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .fileUnreadable(path: path, reason: "it is not a file") }
        guard status.st_mode & 0o077 == 0 else { throw .fileTooOpen(path: path) }
        guard status.st_size <= maximumLength else { throw .fileTooLarge(path: path) }
        // One byte more than the largest file, so that a file that grew meanwhile is noticed. The buffer is never
        // reallocated, which would leave a copy of the seed behind.
        var bytes = [UInt8](repeating: 0, count: maximumLength + 1)
        defer { Wiping.wipe(&bytes) }
        var length = 0
        while length < bytes.count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                read(descriptor, buffer.baseAddress.map { $0 + length }, buffer.count - length)
            }
            if got > 0 {
                length += got
            } else if got == 0 {
                break
            } else if errno != EINTR {
                throw .fileUnreadable(path: path, reason: reason(errno))
            }
        }
        guard length <= maximumLength else { throw .fileTooLarge(path: path) }
        bytes.removeLast(bytes.count - length)
        return try Credentials(fileText: bytes)
    }

    private static func reason(_ code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
