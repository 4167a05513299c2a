import NATS
import Platform

/// The program in a pseudo-terminal, from its start until certain text is on the screen.
struct FirstFrame {
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
        /// Starts the program, and ends it once all marks were seen.
        ///
        /// - Returns: the seconds from the start until each of the marks was written.
        func seconds(until marks: [String]) throws -> [Double] {
            let begin = Meter.now()
            let terminal = try BenchTerminal(executable, arguments, environment: environment)
            defer { terminal.end() }
            return try Self.times(of: marks, terminal, from: begin)
        }

        private static func times(
            of marks: [String], _ terminal: BenchTerminal, from begin: Double
        ) throws -> [Double] {
            let marks = marks.map { Array($0.utf8) }
            var times = [Double?](repeating: nil, count: marks.count)
            var seen: [UInt8] = []
            while Meter.now() - begin < patience {
                guard let bytes = terminal.output(within: 100) else { break }
                let now = Meter.now() - begin
                seen += bytes
                for (index, mark) in marks.enumerated() where times[index] == nil {
                    if BenchTerminal.contains(seen, mark) { times[index] = now }
                }
                let found = times.compactMap(\.self)
                if found.count == marks.count { return found }
            }
            throw failure("parley did not show what it was to show within \(Int(patience)) s")
        }
    #else
        func seconds(until marks: [String]) throws -> [Double] {
            throw Self.failure("the first frame is measured on Linux alone")
        }
    #endif

    private static func failure(_ words: String) -> NATSError { .invalidArgument(words) }
}
