import Logging
import Platform

/// Another process, by its id and the words it was started with: the id alone may be another one's by now.
struct RunningProcess: Codable, Hashable, Sendable {
    var pid: Int32
    var arguments: [String]

    init(pid: Int32, arguments: [String]) { (self.pid, self.arguments) = (pid, arguments) }

    /// A process that runs; nil where the system does not say what it was started with.
    init?(_ pid: Int32) {
        guard let arguments = Self.arguments(of: pid) else { return nil }
        self.init(pid: pid, arguments: arguments)
    }

    /// A server that runs, as it says itself: where `nats-server` in `PATH` is a script, the process that was started
    /// is another.
    /// - Parameters:
    ///   - file: where it writes its process.
    ///   - configuration: what it was started with.
    init?(writtenTo file: String, configuration: String) {
        guard let text = try? PrivateFile.read(file).map({ String(decoding: $0, as: UTF8.self) }),
            let pid = text.split(whereSeparator: \.isWhitespace).first.flatMap({ pid_t($0) }), pid > 1
        else { return nil }
        self.init(pid)
        guard arguments.contains(configuration) else { return nil }
    }

    /// Whether it runs still.
    var isRunning: Bool { pid > 1 && Self.arguments(of: pid) == arguments }

    /// Ends processes that a host left behind, as one does that is killed where the kernel does not end its children
    /// too: by force where they take long.
    static func end(_ processes: [RunningProcess], _ log: Logger?) async throws(NetworkError) {
        let left = processes.filter(\.isRunning)
        for process in left {
            log?.notice("ending a process that a host left behind", metadata: ["pid": "\(process.pid)"])
            kill(process.pid, SIGTERM)
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while left.contains(where: \.isRunning) {
            let isLate = ContinuousClock.now > deadline
            if isLate { for process in left where process.isRunning { kill(process.pid, SIGKILL) } }
            try await Pause.sleep(.milliseconds(isLate ? 200 : 20))
        }
    }

    /// Whether a process runs. One that has ended does not, even where nobody has waited for it yet.
    ///
    /// Its arguments cannot tell: while a process begins another program, it has none.
    static func exists(_ pid: pid_t) -> Bool {
        guard pid > 0, kill(pid, 0) == 0 || errno == EPERM else { return false }
        guard let status = try? PrivateFile.read("/proc/\(pid)/stat") else { return true }
        // The state comes behind the name, which is in parentheses and may have any character in it.
        guard let name = status.lastIndex(of: UInt8(ascii: ")")) else { return true }
        let state = status[(name + 1)...].first { $0 != UInt8(ascii: " ") }
        return state != UInt8(ascii: "Z") && state != UInt8(ascii: "X")
    }

    /// The arguments of a process; nil when there is no such process or it may not be looked at.
    private static func arguments(of pid: pid_t) -> [String]? {
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
