import NATS

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program in a pseudo-terminal, from its start until certain text is on the screen.
struct FirstFrame {
    private static let (rows, columns): (UInt16, UInt16) = (40, 120)
    private static let patience = 20.0

    let executable: String
    let arguments: [String]
    let environment: [String]

    /// The program `parley` beside this one; nil where there is none.
    static var executable: String? {
        var bytes = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0 else { return nil }
        let own = String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { return nil }
        let path = own[...slash] + "parley"
        return access(String(path), X_OK) == 0 ? String(path) : nil
    }

    #if os(Linux)
        // What the C library's headers keep from Swift: TIOCSPTLCK, TIOCGPTN and POSIX_SPAWN_SETSID.
        private static let unlock: UInt = 0x4004_5431
        private static let nameOfOther: UInt = 0x8004_5430
        private static let newSession: Int16 = 0x80

        /// Starts the program, and ends it once all marks were seen.
        ///
        /// - Returns: the seconds from the start until each of the marks was written.
        func seconds(until marks: [String]) throws -> [Double] {
            let begin = Meter.now()
            let (process, master) = try start()
            defer { close(master) }
            defer { Self.end(process, master) }
            return try Self.times(of: marks, master, from: begin)
        }

        /// Starts the program in a new terminal. The caller reads what it writes there, ends it, and closes the terminal.
        func start() throws -> (process: pid_t, master: Int32) {
            let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            guard master >= 0 else { throw Self.failure("there is no pseudo-terminal") }
            do {
                var (number, isLocked): (Int32, Int32) = (0, 0)
                guard ioctl(master, Self.unlock, &isLocked) == 0, ioctl(master, Self.nameOfOther, &number) == 0 else {
                    throw Self.failure("the pseudo-terminal cannot be used")
                }
                var size = winsize(ws_row: Self.rows, ws_col: Self.columns, ws_xpixel: 0, ws_ypixel: 0)
                _ = ioctl(master, UInt(TIOCSWINSZ), &size)
                let process = try start("/dev/pts/\(number)")
                return (process, master)
            } catch {
                close(master)
                throw error
            }
        }

        private static func times(
            of marks: [String], _ master: Int32, from begin: Double
        ) throws -> [Double] {
            let marks = marks.map { Array($0.utf8) }
            var times = [Double?](repeating: nil, count: marks.count)
            var seen: [UInt8] = []
            while Meter.now() - begin < patience {
                guard let bytes = output(master, within: 100) else { break }
                let now = Meter.now() - begin
                seen += bytes
                for (index, mark) in marks.enumerated() where times[index] == nil && contains(seen, mark) {
                    times[index] = now
                }
                let found = times.compactMap(\.self)
                if found.count == marks.count { return found }
            }
            throw failure("parley did not show what it was to show within \(Int(patience)) s")
        }

        /// What the program has written; nothing when it wrote nothing, nil when it has ended.
        static func output(_ master: Int32, within milliseconds: Int32) -> [UInt8]? {
            var state = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, milliseconds) > 0 else { return [] }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(master, &bytes, bytes.count)
            return count > 0 ? Array(bytes.prefix(count)) : nil
        }

        private static func contains(_ bytes: [UInt8], _ mark: [UInt8]) -> Bool {
            guard bytes.count >= mark.count else { return false }
            return (0...(bytes.count - mark.count)).contains { bytes[$0...].starts(with: mark) }
        }

        private func start(_ terminal: String) throws -> pid_t {
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            // The first terminal that the leader of a session opens is the session's own.
            posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
            posix_spawn_file_actions_adddup2(&actions, 0, 2)
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            posix_spawnattr_setflags(&attributes, Self.newSession)
            var words = ([executable] + arguments).map { strdup($0) } + [nil]
            var variables = environment.map { strdup($0) } + [nil]
            defer { for pointer in words + variables { free(pointer) } }
            var process: pid_t = 0
            let code = posix_spawn(&process, executable, &actions, &attributes, &words, &variables)
            guard code == 0 else { throw Self.failure("parley does not start: \(String(cString: strerror(code)))") }
            return process
        }

        /// Asks the program to end, and reads on meanwhile, as it waits for its terminal.
        static func end(_ process: pid_t, _ master: Int32) {
            kill(process, SIGTERM)
            let deadline = Meter.now() + 5
            var status: Int32 = 0
            while waitpid(process, &status, WNOHANG) == 0 {
                if Meter.now() > deadline { kill(process, SIGKILL) }
                // A terminal whose program has closed it answers at once with nothing, until the program is gone.
                if output(master, within: 20) == nil { usleep(20_000) }
            }
        }
    #else
        func seconds(until marks: [String]) throws -> [Double] {
            throw Self.failure("the first frame is measured on Linux alone")
        }
    #endif

    private static func failure(_ words: String) -> NATSError { .invalidArgument(words) }
}
