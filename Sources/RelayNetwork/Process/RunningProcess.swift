import Logging
import Platform

/// Another process, by its id and arguments: the id alone may be another one's by now.
struct RunningProcess: Codable, Hashable, Sendable {
    var pid: Int32
    var arguments: [String]

    init(pid: Int32, arguments: [String]) { (self.pid, self.arguments) = (pid, arguments) }

    init?(_ pid: Int32) {
        guard let arguments = Self.arguments(of: pid) else { return nil }
        self.init(pid: pid, arguments: arguments)
    }

    /// A running server, by its pid file: if `nats-server` in `PATH` is a script, the process started was another one.
    init?(writtenTo file: String, configuration: String) {
        guard let text = try? PrivateFile.read(file).map({ String(decoding: $0, as: UTF8.self) }),
            let pid = text.split(whereSeparator: \.isWhitespace).first.flatMap({ pid_t($0) }), pid > 1
        else { return nil }
        self.init(pid)
        guard arguments.contains(configuration) else { return nil }
    }

    var isRunning: Bool { pid > 1 && Self.arguments(of: pid) == arguments }

    /// Ends processes that a killed host left behind, by force if they take long.
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

    /// Whether a process is running; a zombie is not. Its arguments cannot tell: during an exec there are none.
    static func exists(_ pid: pid_t) -> Bool {
        guard pid > 0, kill(pid, 0) == 0 || errno == EPERM else { return false }
        guard let status = try? PrivateFile.read("/proc/\(pid)/stat") else { return true }
        // The state follows the name, which is in parentheses and may contain any character.
        guard let name = status.lastIndex(of: UInt8(ascii: ")")) else { return true }
        let state = status[(name + 1)...].first { $0 != UInt8(ascii: " ") }
        return state != UInt8(ascii: "Z") && state != UInt8(ascii: "X")
    }

    private static func arguments(of pid: pid_t) -> [String]? {
        #if canImport(Darwin)
            // The kernel returns the number of arguments, the path, zeros, then the arguments, each ended by a zero.
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

enum Pause {
    static func sleep(_ duration: Duration) async throws(NetworkError) {
        do { try await Task.sleep(for: duration) } catch { throw .cancelled }
    }

    static func untilCancelled() async throws(NetworkError) {
        while true { try await sleep(.seconds(3_600)) }
    }
}

/// Polls until there is a result; throws `NetworkError.timedOut(what)`.
func awaited<R>(
    _ what: String, within limit: Duration, every pause: Duration = .milliseconds(20),
    _ look: () async throws(NetworkError) -> R?
) async throws(NetworkError) -> R {
    let deadline = ContinuousClock.now + limit
    while true {
        if let found = try await look() { return found }
        guard ContinuousClock.now < deadline else { throw .timedOut(what) }
        try await Pause.sleep(pause)
    }
}

func persist<R>(
    until end: ContinuousClock.Instant, every pause: Duration, where mayPass: (NetworkError) -> Bool = { _ in true },
    _ body: () async throws -> R
) async throws(NetworkError) -> R {
    while true {
        do throws(NetworkError) { return try await reached(body) } catch {
            if Task.isCancelled { throw .cancelled }
            guard mayPass(error), ContinuousClock.now < end else { throw error }
        }
        try await Pause.sleep(pause)
    }
}

/// Runs all of these until the first ends, and cancels the others. Returns its result once all have ended.
func untilOneEnds<R: Sendable>(_ works: (@Sendable () async throws -> R)...) async throws(NetworkError) -> R {
    try await untilOneEnds(among: works)
}

func untilOneEnds<R: Sendable>(among works: [@Sendable () async throws -> R]) async throws(NetworkError) -> R {
    let first = await withTaskGroup(of: Result<R, NetworkError>.self) { group in
        for work in works {
            group.addTask {
                do { return .success(try await work()) } catch { return .failure(NetworkError(error)) }
            }
        }
        let first = await group.next()
        group.cancelAll()
        await group.waitForAll()
        return first
    }
    return try (first ?? .failure(.cancelled)).get()
}

/// Runs the body for all elements at once; the results keep their order.
func inParallel<Thing: Sendable, R: Sendable>(
    _ things: [Thing], _ body: @escaping @Sendable (Thing) async -> R
) async -> [R] {
    await withTaskGroup(of: (Int, R).self) { group in
        for (index, thing) in things.enumerated() { group.addTask { (index, await body(thing)) } }
        let found = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        return things.indices.compactMap { found[$0] }
    }
}
