import Synchronization

/// What a terminal has taken from its program.
final class TerminalState: Sendable {
    struct Contents: ~Copyable {
        let emulator: Emulator
        var modes = TerminalModes()
        var output: [UInt8] = []
        var outputCount = 0
        /// The kinds of the supervisor's marks that have come by.
        var marks: Set<UInt8> = []
        private var filter = MarkFilter()

        init(emulator: consuming sending Emulator) { self.emulator = emulator }

        /// Takes bytes; returns what the terminal answers.
        mutating func receive(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
            let (text, kinds) = filter.feed(bytes)
            marks.formUnion(kinds)
            modes.feed(text)
            output.append(contentsOf: text)
            outputCount += text.count
            if output.count > PseudoTerminal.outputLimit { output.removeFirst(output.count / 2) }
            return emulator.feed(text)
        }

        var screen: TerminalScreen {
            let size = emulator.size
            return TerminalScreen(
                rows: (0..<size.rows).map { emulator.text(row: $0) }, columns: size.columns,
                cursorRow: emulator.cursor.row, cursorColumn: emulator.cursor.column, modes: modes)
        }
    }

    private let contents: Mutex<Contents>

    init(rows: Int, columns: Int) throws {
        contents = Mutex(Contents(emulator: try Emulator(rows: rows, columns: columns)))
    }

    func withLock<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
        contents.withLock { body(&$0) }
    }
}
