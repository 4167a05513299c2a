import Platform

/// Files and folders that only their owner can read.
package enum PrivateFile {
    /// Maximum size of a file that is read or written, in bytes: the user names of a large network fit in.
    static let maximumLength = 16 << 20

    /// Makes a folder (0700) and its parents; an existing one stays as it is.
    static func makeFolder(_ path: String) throws(NetworkError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        let code = errno
        guard code == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw .system(path, code)
        }
        try makeFolder(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system(path, errno) }
    }

    /// Also removes others' access to an existing folder.
    static func makeClosedFolder(_ path: String) throws(NetworkError) {
        try makeFolder(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system(path, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .file(path: path, reason: "it is not a folder") }
        if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 { throw .system(path, errno) }
    }

    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func names(in folder: String) throws(NetworkError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            throw .file(path: folder, reason: "it cannot be listed")
        }
    }

    static func remove(_ path: String) { unlink(path) }

    /// Writes a file (0600) atomically: a reader sees either the old content or the new.
    package static func write(_ bytes: some Sequence<UInt8>, to path: String) throws(NetworkError) {
        var rest = Array(bytes)[...]
        // A file too large to be read again would lose all of its earlier content.
        guard rest.count <= maximumLength else { throw .system(path, EFBIG) }
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: .min ... .max))~"
        let (descriptor, code) = SystemCall.uninterrupted {
            open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw .system(path, code) }
        var failure: Int32 = 0
        while failure == 0, !rest.isEmpty {
            let (count, code) = SystemCall.uninterrupted {
                rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            }
            if count < 0 { failure = code } else { rest = rest.dropFirst(count) }
        }
        if failure == 0, fsync(descriptor) != 0 { failure = errno }
        close(descriptor)
        if failure == 0, rename(temporary, path) != 0 { failure = errno }
        guard failure == 0 else {
            unlink(temporary)
            throw .system(path, failure)
        }
    }

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
            let (count, code) = SystemCall.uninterrupted { Platform.read(descriptor, &chunk, chunk.count) }
            guard count >= 0 else { throw .system(path, code) }
            if count == 0 { return content }
            content += chunk[..<count]
            guard content.count <= maximumLength else { throw .damaged(path: path, reason: "it is too large") }
        }
    }

    static func readText(_ path: String) throws(NetworkError) -> String? {
        try read(path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The text of a file that must exist. If it is a secret, only its owner may be able to read it.
    static func text(in path: String, isSecret: Bool = false) throws(NetworkError) -> String {
        if isSecret { try checkSecret(path) }
        guard let text = try readText(path) else { throw .file(path: path, reason: "it is missing") }
        return text
    }

    /// Throws if anyone but the owner can read a secret; a missing file passes.
    static func checkSecret(_ path: String) throws(NetworkError) {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & 0o077 != 0 { throw .credentials(.fileTooOpen(path: path)) }
    }

    static func writeJSON(_ value: some Encodable, to path: String) throws(NetworkError) {
        try write(Wire.json(value, isPretty: true) + [10], to: path)
    }

    static func readJSON<Value: Decodable>(_ type: Value.Type, from path: String) throws(NetworkError) -> Value? {
        guard let bytes = try read(path) else { return nil }
        guard let value = Wire.value(type, from: bytes) else {
            throw .damaged(path: path, reason: "its JSON is not as expected")
        }
        return value
    }
}

enum SystemCall {
    static func reason(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

    /// Repeats a call while signals interrupt it; returns its result and errno.
    static func uninterrupted<R: SignedInteger>(_ call: () -> R) -> (result: R, code: Int32) {
        while true {
            let result = call()
            let code = errno
            if result >= 0 || code != EINTR { return (result, code) }
        }
    }
}

package enum TemporaryFolder {
    /// Makes a folder that only this user can access, which the caller must remove; `purpose` becomes part of its name.
    package static func make(_ purpose: String) throws(NetworkError) -> String {
        let pattern = FileManager.default.temporaryDirectory.path + "/parley-\(purpose)-XXXXXX"
        var template = Array(pattern.utf8CString)
        let path = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let path else { throw .system(pattern, errno) }
        return path
    }
}
