import NIOConcurrencyHelpers

/// What a terminal has taken from its program.
///
/// Unchecked: `contents`, which is not Sendable for its emulator, is touched under `lock` only and never leaves it.
final class TerminalState: @unchecked Sendable {
    struct Contents {
        let emulator: Emulator
        var modes = TerminalModes()
        var output: [UInt8] = []
        var outputCount = 0
        /// The kinds of the supervisor's marks that have come by.
        var marks: Set<UInt8> = []
        /// What was typed last.
        private(set) var typed: [UInt8] = []
        private var filter = MarkFilter()

        init(emulator: Emulator) { self.emulator = emulator }

        mutating func noteTyped(_ bytes: [UInt8]) {
            typed.append(contentsOf: bytes)
            if typed.count > 2_000 { typed.removeFirst(typed.count - 1_000) }
        }

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

    private let lock = NIOLock()
    private var contents: Contents

    init(rows: Int, columns: Int) throws {
        contents = Contents(emulator: try Emulator(rows: rows, columns: columns))
    }

    func withLock<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
        lock.withLock { body(&contents) }
    }
}
