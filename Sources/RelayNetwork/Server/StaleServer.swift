#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The port and the process of a network's newest server, kept for the next one.
struct ServerRecord: Codable, Hashable, Sendable {
    /// The port; kept so that clients find a restarted server where the last one was.
    var port: Int
    /// The process; nil once it is known to have ended.
    var pid: Int32?
}

/// A server that outlived its host, as one does when the host is killed where the kernel does not end it too.
enum StaleServer {
    /// Ends the recorded server if that process still is one of this network.
    static func end(in directory: NetworkDirectory, log: LogFile) async throws(NetworkError) {
        guard let record = try? PrivateFile.readJSON(ServerRecord.self, from: directory.serverFile),
            let pid = record.pid, pid > 1
        else { return }
        let deadline = ContinuousClock.now + .seconds(5)
        var isFirst = true
        while isOurs(pid, directory) {
            if isFirst { log.note("ending nats-server \(pid), which a host left behind") }
            let isLate = ContinuousClock.now > deadline
            if isFirst || isLate { kill(pid, isLate ? SIGKILL : SIGTERM) }
            isFirst = false
            try await Pause.sleep(.milliseconds(isLate ? 200 : 20))
        }
    }

    /// Whether the process was started with this network's configuration.
    static func isOurs(_ pid: pid_t, _ directory: NetworkDirectory) -> Bool {
        guard let arguments = ProcessArguments.read(of: pid) else { return false }
        return arguments.contains(directory.serverConfiguration)
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
