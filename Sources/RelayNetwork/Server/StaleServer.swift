import Platform

/// The port of a network's newest server, kept so that clients find the next one where it was.
struct ServerRecord: Codable, Hashable, Sendable {
    var port: Int
}

/// A server that runs, as it says itself: where `nats-server` in `PATH` is a script, the process that was started is
/// another.
enum RunningServer {
    /// The process of a server.
    ///
    /// - Parameters:
    ///   - file: where it writes its process.
    ///   - configuration: what it was started with: the number alone may be another process's by now.
    static func find(writtenTo file: String, configuration: String) -> pid_t? {
        guard let text = try? PrivateFile.read(file).map({ String(decoding: $0, as: UTF8.self) }),
            let pid = text.split(whereSeparator: \.isWhitespace).first.flatMap({ pid_t($0) }), pid > 1,
            ProcessArguments.read(of: pid)?.contains(configuration) == true
        else { return nil }
        return pid
    }
}

extension NetworkDirectory {
    /// The process of the network's server; nil where none runs.
    var runningServer: pid_t? {
        RunningServer.find(writtenTo: serverProcessFile, configuration: serverConfiguration)
    }
}

/// A server that outlived its host, as one does when the host is killed where the kernel does not end it too.
enum StaleServer {
    /// Ends the network's server if it still runs.
    static func end(in directory: NetworkDirectory, log: LogFile) async throws(NetworkError) {
        let deadline = ContinuousClock.now + .seconds(5)
        var isFirst = true
        while let pid = directory.runningServer {
            if isFirst { log.note("ending nats-server \(pid), which a host left behind") }
            let isLate = ContinuousClock.now > deadline
            if isFirst || isLate { kill(pid, isLate ? SIGKILL : SIGTERM) }
            isFirst = false
            try await Pause.sleep(.milliseconds(isLate ? 200 : 20))
        }
    }
}

/// The arguments of another process of this user.
enum ProcessArguments {
    /// The arguments, or nil when there is no such process or it may not be looked at.
    static func read(of pid: pid_t) -> [String]? {
        #if canImport(Darwin)
            // The kernel's answer: the number of arguments, the path, zeros, then the arguments, each ended by a zero.
            var request: [Int32] = [CTL_KERN, KERN_PROCARGS2, pid]
            var size = 0
            guard sysctl(&request, 3, nil, &size, nil, 0) == 0, size > 4 else { return nil }
            var buffer = [UInt8](repeating: 0, count: size)
            guard sysctl(&request, 3, &buffer, &size, nil, 0) == 0 else { return nil }
            let texts = buffer[4..<min(size, buffer.count)].split(separator: 0)
            let count = buffer.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
            return texts.dropFirst().prefix(Int(max(0, count))).map { String(decoding: $0, as: UTF8.self) }
        #else
            guard let bytes = try? PrivateFile.read("/proc/\(pid)/cmdline"), !bytes.isEmpty else { return nil }
            return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        #endif
    }
}
