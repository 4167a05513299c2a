import Platform

#if os(Linux)
    /// The chat in a pseudo-terminal of 120 by 40 characters, which ``end()`` ends.
    final class BenchTerminal {
        // What the C library's headers keep from Swift: TIOCSPTLCK, TIOCGPTN and POSIX_SPAWN_SETSID.
        private static let (unlock, nameOfOther, newSession) = (UInt(0x4004_5431), UInt(0x8004_5430), Int16(0x80))

        private let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        private(set) var process: pid_t = 0

        /// Starts the program, whose files are all in `home`, and its store in `data` where that is another folder.
        init(_ executable: String, _ arguments: [String], home: String, data: String? = nil) throws {
            guard master >= 0 else { throw BenchFailure("there is no pseudo-terminal") }
            var (number, isLocked): (Int32, Int32) = (0, 0)
            guard ioctl(master, Self.unlock, &isLocked) == 0, ioctl(master, Self.nameOfOther, &number) == 0 else {
                throw BenchFailure("the pseudo-terminal cannot be used")
            }
            var size = winsize(ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
            _ = ioctl(master, UInt(TIOCSWINSZ), &size)
            let environment = [
                "HOME=\(home)", "XDG_DATA_HOME=\(data ?? home + "/data")", "XDG_CONFIG_HOME=\(home)/config",
                "XDG_STATE_HOME=\(home)/state", "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=/usr/bin:/bin",
            ]
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            // The first terminal that the leader of a session opens is the session's own.
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/pts/\(number)", O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
            posix_spawn_file_actions_adddup2(&actions, 0, 2)
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            posix_spawnattr_setflags(&attributes, Self.newSession)
            var words = ([executable] + arguments).map { strdup($0) } + [nil]
            var variables = environment.map { strdup($0) } + [nil]
            defer { for pointer in words + variables { free(pointer) } }
            let code = posix_spawn(&process, executable, &actions, &attributes, &words, &variables)
            guard code == 0 else { throw BenchFailure("parley does not start: \(String(cString: strerror(code)))") }
        }

        deinit { close(master) }

        /// What the program has written; nothing when it wrote nothing.
        func output(within milliseconds: Int32) throws -> [UInt8] {
            var state = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, milliseconds) > 0 else { return [] }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(master, &bytes, bytes.count)
            guard count > 0 else { throw BenchFailure("parley has ended") }
            return Array(bytes.prefix(count))
        }

        /// Types. A program that reads takes few bytes at once.
        func type(_ text: String) throws {
            let bytes = Array(text.utf8)
            guard write(master, bytes, bytes.count) == bytes.count else {
                throw BenchFailure("the terminal accepts no input")
            }
        }

        /// The moment in which each of these texts has been written.
        func moments(of texts: [String]) throws -> [Double] {
            let begin = Meter.now()
            let marks = texts.map { Array($0.utf8) }
            var (times, seen) = ([Double?](repeating: nil, count: marks.count), [UInt8]())
            while Meter.now() - begin < 20 {
                seen += try output(within: 100)
                for (index, mark) in marks.enumerated() where times[index] == nil && seen.contains(mark) {
                    times[index] = Meter.now()
                }
                let found = times.compactMap(\.self)
                if found.count == marks.count { return found }
            }
            throw BenchFailure("parley did not show \(texts.joined(separator: " and ")) within 20 s")
        }

        /// Asks the program to end, and reads on meanwhile, as it waits for its terminal.
        func end() {
            kill(process, SIGTERM)
            let deadline = Meter.now() + 5
            var status: Int32 = 0
            while waitpid(process, &status, WNOHANG) == 0 {
                if Meter.now() > deadline { kill(process, SIGKILL) }
                // A terminal whose program has closed it answers at once with nothing, until the program is gone.
                if (try? output(within: 20)) == nil { usleep(20_000) }
            }
        }
    }
#else
    /// Measured on Linux alone, where ``ThisProgram/parley(for:)`` finds a program to start.
    final class BenchTerminal {
        let process: pid_t = 0
        init(_ executable: String, _ arguments: [String], home: String, data: String? = nil) throws {
            throw BenchFailure("the chat is measured only on Linux")
        }
        func output(within milliseconds: Int32) throws -> [UInt8] { [] }
        func type(_ text: String) throws {}
        func moments(of texts: [String]) throws -> [Double] { [] }
        func end() {}
    }
#endif
