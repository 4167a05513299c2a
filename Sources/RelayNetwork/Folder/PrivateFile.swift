import Platform

/// Files and folders that only their owner can read.
enum PrivateFile {
    /// The largest file that is read.
    static let maximumLength = 1 << 20

    /// Makes a folder (0700) and those above it; one that exists stays as it is.
    static func makeFolder(_ path: String) throws(NetworkError) {
        if mkdir(path, 0o700) == 0 { return }
        let code = errno
        if code == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeFolder(String(path[..<slash]))
            if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
            throw .system(path, errno)
        }
        guard code == EEXIST else { throw .system(path, code) }
    }

    /// Takes others' rights away from a folder of the network.
    static func closeFolder(_ path: String) throws(NetworkError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system(path, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .file(path: path, reason: "it is not a folder") }
        guard status.st_mode & 0o077 != 0 else { return }
        guard chmod(path, 0o700) == 0 else { throw .system(path, errno) }
    }

    /// A path that holds in any working folder.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// Whether something is at the path.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The names of what is in a folder.
    static func names(in folder: String) throws(NetworkError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            throw .file(path: folder, reason: "it cannot be listed")
        }
    }

    /// Removes a file; one that is not there is removed already.
    static func remove(_ path: String) {
        unlink(path)
    }

    /// Writes a file (0600) so that a reader sees the old content or the new one, whole.
    static func write(_ bytes: some Sequence<UInt8>, to path: String) throws(NetworkError) {
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: .min ... .max))~"
        let (descriptor, code) = SystemCall.uninterrupted {
            open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw .system(path, code) }
        var failure = writeAll(Array(bytes), to: descriptor)
        if failure == 0, fsync(descriptor) != 0 { failure = errno }
        close(descriptor)
        if failure == 0, rename(temporary, path) != 0 { failure = errno }
        guard failure == 0 else {
            unlink(temporary)
            throw .system(path, failure)
        }
    }

    /// The content of a file; nil when there is none.
    static func read(_ path: String) throws(NetworkError) -> [UInt8]? {
        let (descriptor, code) = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else {
            if code == ENOENT { return nil }
            throw .system(path, code)
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let (count, code) = SystemCall.uninterrupted { Self.read(descriptor, &chunk) }
            guard count >= 0 else { throw .system(path, code) }
            if count == 0 { return content }
            content += chunk[..<count]
            guard content.count <= maximumLength else { throw .damaged(path: path, reason: "it is too large") }
        }
    }

    /// The text in a file; nil when there is none.
    static func readText(_ path: String) throws(NetworkError) -> String? {
        try read(path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The content of a file with a secret; nil when there is none.
    /// - Throws: `NetworkError.credentials` for one that others than its owner may read, besides what ``read(_:)``
    ///   throws.
    static func readSecret(_ path: String) throws(NetworkError) -> [UInt8]? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw .system(path, errno)
        }
        guard status.st_mode & 0o077 == 0 else { throw .credentials(.fileTooOpen(path: path)) }
        return try read(path)
    }

    /// The text in a file without which nothing can go on.
    /// - Parameter isSecret: whether others than its owner may not read it.
    static func text(in path: String, isSecret: Bool = false) throws(NetworkError) -> String {
        guard let bytes = try isSecret ? readSecret(path) : read(path) else {
            throw .file(path: path, reason: "it is missing")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a value as JSON.
    static func writeJSON(_ value: some Encodable, to path: String) throws(NetworkError) {
        try write(Wire.json(value, isPretty: true) + [10], to: path)
    }

    /// Reads a value from JSON; nil when there is no file.
    static func readJSON<Value: Decodable>(_ type: Value.Type, from path: String) throws(NetworkError) -> Value? {
        guard let bytes = try read(path) else { return nil }
        guard let value = Wire.value(type, from: bytes) else {
            throw .damaged(path: path, reason: "its JSON is not what it should be")
        }
        return value
    }

    private static func read(_ descriptor: Int32, _ chunk: inout [UInt8]) -> Int {
        chunk.withUnsafeMutableBytes { buffer in
            Platform.read(descriptor, buffer.baseAddress, buffer.count)
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var offset = 0
        while offset < bytes.count {
            let (count, code) = SystemCall.uninterrupted {
                bytes.withUnsafeBytes { buffer in
                    let rest = UnsafeRawBufferPointer(rebasing: buffer[offset...])
                    return Platform.write(descriptor, rest.baseAddress, rest.count)
                }
            }
            guard count >= 0 else { return code }
            offset += count
        }
        return 0
    }
}

/// What the wrappers of system calls share.
enum SystemCall {
    /// The system's description of an errno.
    static func reason(_ code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }

    /// Repeats a call as long as a signal interrupts it; the result and its errno.
    static func uninterrupted<R: SignedInteger>(_ call: () -> R) -> (result: R, code: Int32) {
        while true {
            let result = call()
            let code = errno
            if result >= 0 || code != EINTR { return (result, code) }
        }
    }
}

/// Folders for what is not to outlive a run.
package enum TemporaryFolder {
    /// Makes a folder that nobody else may look into, and that the caller removes.
    ///
    /// - Parameter purpose: a word that its name holds.
    /// - Returns: its path.
    /// - Throws: ``NetworkError/file(path:reason:)``.
    package static func make(_ purpose: String) throws(NetworkError) -> String {
        let pattern = FileManager.default.temporaryDirectory.path + "/parley-\(purpose)-XXXXXX"
        var template = Array(pattern.utf8CString)
        let path = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let path else { throw .file(path: pattern, reason: String(cString: strerror(errno))) }
        return path
    }
}
