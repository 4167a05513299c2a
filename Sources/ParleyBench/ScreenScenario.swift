import NATS
import Platform

/// The chat's screen, without a terminal: how long after it was pressed a key is in the frame, while a conversation
/// that has received `n` (100000) messages takes none, 100 and 5,000 a second, and 20,000 over four topics, with `keys`
/// (500) under each load; and how many messages a second the screen's thread takes. Beside them stands the least that
/// any program of the kind does: filling a frame's cells and comparing them, and keeping messages in an array and a
/// dictionary.
///
/// The program itself measures, since nothing else has its screen; this starts it.
enum ScreenScenario {
    /// The scenario's name on the command line.
    static let name = "screen"

    /// Nil where there is no `parley` beside this program.
    @concurrent
    static func run(_ words: Words) async throws -> Measurement? {
        guard let executable = FirstFrame.executable else {
            Meter.remark("screen is left out: there is no parley beside parley-bench")
            return nil
        }
        let arguments = [
            "measure-screen", "--messages", String(words.number("n", 100_000)), "--keys",
            String(words.number("keys", 500)),
        ]
        var result = Measurement(name)
        for line in try output(of: executable, arguments).split(separator: "\n") {
            let parts = line.split(separator: "=")
            guard parts.count == 2, let value = Double(parts[1]) else {
                throw NATSError.invalidArgument("parley measured “\(line)”")
            }
            result = result.adding(String(parts[0]), value)
        }
        return result
    }

    #if os(Linux)
        /// Runs a program to its end, and returns what it has printed.
        private static func output(of executable: String, _ arguments: [String]) throws -> String {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw failure("there is no pipe") }
            defer { close(ends[0]) }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            posix_spawn_file_actions_addclose(&actions, ends[0])
            posix_spawn_file_actions_addclose(&actions, ends[1])
            var words = ([executable] + arguments).map { strdup($0) } + [nil]
            var variables: [UnsafeMutablePointer<CChar>?] = [strdup("LANG=C.UTF-8"), nil]
            defer { for pointer in words + variables { free(pointer) } }
            var process: pid_t = 0
            let code = posix_spawn(&process, executable, &actions, nil, &words, &variables)
            close(ends[1])
            guard code == 0 else { throw failure("parley does not start: \(String(cString: strerror(code)))") }
            var printed: [UInt8] = []
            var bytes = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(ends[0], &bytes, bytes.count)
                if count > 0 {
                    printed += bytes[..<count]
                } else if count == 0 || errno != EINTR {
                    break
                }
            }
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            guard status == 0 else { throw failure("parley measure-screen failed") }
            return String(decoding: printed, as: UTF8.self)
        }
    #else
        private static func output(of executable: String, _ arguments: [String]) throws -> String {
            throw failure("the screen is measured on Linux alone")
        }
    #endif

    private static func failure(_ words: String) -> NATSError { .invalidArgument(words) }
}
