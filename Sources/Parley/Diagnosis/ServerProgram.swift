#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The `nats-server` of this machine, which the private network runs.
enum ServerProgram {
    /// Where it is, as the private network looks for it.
    enum Place: Hashable, Sendable {
        case found(String)
        /// `PARLEY_NATS_SERVER` names something that cannot be run.
        case notExecutable(String)
        case missing
    }

    static func find(_ environment: [String: String]) -> Place {
        if let named = environment["PARLEY_NATS_SERVER"], !named.isEmpty {
            return isExecutable(named) ? .found(named) : .notExecutable(named)
        }
        let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        let folders = path + ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"]
        return folders.map { "\($0)/nats-server" }.first(where: isExecutable).map(Place.found) ?? .missing
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// What the program says of its version, such as `2.9.10`; nil when it says nothing of the kind within the limit.
    /// Blocks.
    static func version(of path: String, within seconds: Int32) -> String? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        let (reader, writer) = (ends[0], ends[1])
        defer { close(reader) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        guard let process = start(path, output: writer) else {
            close(writer)
            return nil
        }
        close(writer)
        defer {
            // It has ended by itself, or has had its time.
            kill(process, SIGKILL)
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
        }
        let text = firstLine(from: reader, milliseconds: seconds * 1_000)
        guard text.hasPrefix("nats-server") else { return nil }
        let word = text.split { $0.isWhitespace }.last.map { $0.hasPrefix("v") ? $0.dropFirst() : $0 }
        guard let word, word.first?.isNumber == true else { return nil }
        return String(word.prefix(32))
    }

    private static func start(_ path: String, output: Int32) -> pid_t? {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        var arguments = [strdup(path), strdup("--version"), nil]
        defer { for argument in arguments { free(argument) } }
        var variables: [UnsafeMutablePointer<CChar>?] = [nil]
        var process: pid_t = 0
        guard posix_spawn(&process, path, &actions, nil, &arguments, &variables) == 0 else { return nil }
        return process
    }

    private static func firstLine(from descriptor: Int32, milliseconds: Int32) -> String {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 512)
        while bytes.count < 4_096, !bytes.contains(10) {
            let left = ContinuousClock.now.duration(to: end).components
            let wait = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard wait > 0, poll(&ready, 1, Int32(wait)) > 0 else { break }
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
    }
}
