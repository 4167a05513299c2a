import Platform

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
