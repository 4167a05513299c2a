import CVTerm

/// A terminal emulator in memory: bytes in, cells and answers out. Not Sendable: its owner keeps it behind a lock.
final class Emulator {
    private let terminal: OpaquePointer
    private let screen: OpaquePointer
    private let answers = Answers()
    private var columns: Int

    private final class Answers {
        var bytes: [UInt8] = []
    }

    init(rows: Int, columns: Int) throws {
        guard let terminal = vterm_new(Int32(rows), Self.width(columns)), let screen = vterm_obtain_screen(terminal)
        else { throw TestFailure("the terminal emulator cannot be made") }
        self.columns = columns
        self.terminal = terminal
        self.screen = screen
        vterm_set_utf8(terminal, 1)
        let user = Unmanaged.passUnretained(answers).toOpaque()
        vterm_output_set_callback(
            terminal,
            { bytes, count, user in
                guard let bytes, let user else { return }
                let raw = UnsafeRawBufferPointer(start: bytes, count: count)
                Unmanaged<Answers>.fromOpaque(user).takeUnretainedValue().bytes.append(contentsOf: raw)
            }, user)
        vterm_screen_enable_altscreen(screen, 1)
        vterm_screen_reset(screen, 1)
    }

    deinit { vterm_free(terminal) }

    /// Takes what a program wrote; returns what the terminal answers.
    func feed(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { raw in
            guard let base = raw.bindMemory(to: CChar.self).baseAddress else { return }
            _ = vterm_input_write(terminal, base, raw.count)
        }
        defer { answers.bytes = [] }
        return answers.bytes
    }

    func resize(rows: Int, columns: Int) {
        self.columns = columns
        vterm_set_size(terminal, Int32(rows), Self.width(columns))
    }

    /// In a single column the library writes a wide character beyond the screen, which ends the process: it gets a
    /// second one, which nobody sees.
    private static func width(_ columns: Int) -> Int32 { Int32(max(2, columns)) }

    var size: (rows: Int, columns: Int) {
        var rows: Int32 = 0
        vterm_get_size(terminal, &rows, nil)
        return (Int(rows), columns)
    }

    var cursor: (row: Int, column: Int) {
        var position = VTermPos()
        vterm_state_get_cursorpos(vterm_obtain_state(terminal), &position)
        return (Int(position.row), min(Int(position.col), columns - 1))
    }

    /// A row's text without the blanks at its end.
    func text(row: Int) -> String {
        var text = ""
        var blanks = 0
        var column = 0
        let columns = size.columns
        while column < columns {
            let cell = raw(row: row, column: column)
            column += max(1, Int(cell.width))
            if cell.chars.0 == 0 || cell.chars.0 == 0x20 && cell.chars.1 == 0 {
                blanks += 1
                continue
            }
            text += String(repeating: " ", count: blanks)
            blanks = 0
            Self.append(cell, to: &text)
        }
        return text
    }

    func cell(row: Int, column: Int) -> TerminalCell {
        let cell = raw(row: row, column: column)
        var text = ""
        Self.append(cell, to: &text)
        return TerminalCell(
            text: cell.chars.0 == 0 ? " " : text, width: Int(cell.width), isBold: cell.attrs.bold != 0,
            isUnderlined: cell.attrs.underline != 0, isItalic: cell.attrs.italic != 0,
            isReversed: cell.attrs.reverse != 0, foreground: Self.color(cell.fg, standard: VTERM_COLOR_DEFAULT_FG),
            background: Self.color(cell.bg, standard: VTERM_COLOR_DEFAULT_BG))
    }

    private func raw(row: Int, column: Int) -> VTermScreenCell {
        var cell = VTermScreenCell()
        _ = vterm_screen_get_cell(screen, VTermPos(row: Int32(row), col: Int32(column)), &cell)
        return cell
    }

    private static func append(_ cell: VTermScreenCell, to text: inout String) {
        let (a, b, c, d, e, f) = cell.chars
        for value in [a, b, c, d, e, f] {
            guard value != 0, value != .max, let scalar = Unicode.Scalar(value) else { return }
            text.unicodeScalars.append(scalar)
        }
    }

    private static func color(_ color: VTermColor, standard: VTermColorType) -> TerminalCell.Color {
        if UInt32(color.type) & UInt32(standard.rawValue) != 0 { return .standard }
        if UInt32(color.type) & UInt32(VTERM_COLOR_TYPE_MASK.rawValue) == UInt32(VTERM_COLOR_INDEXED.rawValue) {
            return .indexed(color.indexed.idx)
        }
        return .rgb(color.rgb.red, color.rgb.green, color.rgb.blue)
    }
}
