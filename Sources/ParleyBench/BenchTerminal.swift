import NATS
import Platform

#if os(Linux)
    /// A program in a pseudo-terminal of 120 by 40 characters, which ``end()`` ends.
    final class BenchTerminal {
        private static let (rows, columns): (UInt16, UInt16) = (40, 120)

        // What the C library's headers keep from Swift: TIOCSPTLCK, TIOCGPTN and POSIX_SPAWN_SETSID.
        private static let unlock: UInt = 0x4004_5431
        private static let nameOfOther: UInt = 0x8004_5430
        private static let newSession: Int16 = 0x80

        private let master: Int32
        let process: pid_t

        /// Starts the program.
        init(_ executable: String, _ arguments: [String], environment: [String]) throws {
            let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            guard master >= 0 else { throw Self.failure("there is no pseudo-terminal") }
            do {
                var (number, isLocked): (Int32, Int32) = (0, 0)
                guard ioctl(master, Self.unlock, &isLocked) == 0, ioctl(master, Self.nameOfOther, &number) == 0 else {
                    throw Self.failure("the pseudo-terminal cannot be used")
                }
                var size = winsize(ws_row: Self.rows, ws_col: Self.columns, ws_xpixel: 0, ws_ypixel: 0)
                _ = ioctl(master, UInt(TIOCSWINSZ), &size)
                process = try Self.start(executable, arguments, environment, "/dev/pts/\(number)")
                self.master = master
            } catch {
                close(master)
                throw error
            }
        }

        private static func start(
            _ executable: String, _ arguments: [String], _ environment: [String], _ terminal: String
        ) throws -> pid_t {
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
            posix_spawnattr_setflags(&attributes, newSession)
            var words = ([executable] + arguments).map { strdup($0) } + [nil]
            var variables = environment.map { strdup($0) } + [nil]
            defer { for pointer in words + variables { free(pointer) } }
            var process: pid_t = 0
            let code = posix_spawn(&process, executable, &actions, &attributes, &words, &variables)
            guard code == 0 else { throw failure("parley does not start: \(String(cString: strerror(code)))") }
            return process
        }

        /// What the program has written; nothing when it wrote nothing, nil when it has ended.
        func output(within milliseconds: Int32) -> [UInt8]? {
            var state = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, milliseconds) > 0 else { return [] }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(master, &bytes, bytes.count)
            return count > 0 ? Array(bytes.prefix(count)) : nil
        }

        /// Types. A program that reads takes few bytes at once.
        func type(_ bytes: [UInt8]) throws {
            guard write(master, bytes, bytes.count) == bytes.count else {
                throw Self.failure("the terminal takes no input")
            }
        }

        /// Asks the program to end, and reads on meanwhile, as it waits for its terminal.
        func end() {
            kill(process, SIGTERM)
            let deadline = Meter.now() + 5
            var status: Int32 = 0
            while waitpid(process, &status, WNOHANG) == 0 {
                if Meter.now() > deadline { kill(process, SIGKILL) }
                // A terminal whose program has closed it answers at once with nothing, until the program is gone.
                if output(within: 20) == nil { usleep(20_000) }
            }
            close(master)
        }

        /// Whether these bytes are among others.
        static func contains(_ bytes: [UInt8], _ mark: [UInt8]) -> Bool {
            guard bytes.count >= mark.count else { return false }
            return (0...(bytes.count - mark.count)).contains { bytes[$0...].starts(with: mark) }
        }

        private static func failure(_ words: String) -> NATSError { .invalidArgument(words) }
    }
#endif
