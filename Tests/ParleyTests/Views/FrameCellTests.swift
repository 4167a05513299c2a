import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

/// What holds of every cell of a frame, whatever is written in it, on whichever screen, in whichever theme.
@Suite("Cells of frames")
struct FrameCellTests {
    /// A message in each script, which has room on the smallest screen, who wrote it, and what of it is drawn.
    private static let samples: [(name: String, text: String, drawn: String)] = [
        ("李小龍", "日本語と中文", "日本語と中文"),
        ("bob", "한국어도 됩니다", "한국어도 됩니다"),
        ("zoë", "👩‍👩‍👧 👍🏽 ❤️ 🏳️‍🌈 1️⃣", "👩 👍 \u{2764} \u{1F3F3} 1"),
        ("zoë", "🇩🇪🇯🇵 🇧🇷", "🇩🇪🇯🇵 🇧🇷"),
        ("נועה", "שלום English עולם", "שלום English עולם"),
        ("ليلى", "مرحبا 123 بالعالم", "مرحبا 123 بالعالم"),
        ("carol", "e\u{301} a\u{308}\u{323} n\u{303}", "\u{E9} \u{E4}\u{323} \u{F1}"),
    ]

    private static func frame(_ desk: Desk, _ look: ScreenLook) -> Canvas {
        render(desk.model, size: desk.model.size, now: desk.model.now.instant, theme: look.theme)
    }

    /// What is wrong with a frame: the first few cells.
    private static func mistakes(in frame: Canvas, _ size: Size, _ look: ScreenLook) -> [String] {
        var found: [String] = []
        if frame.size != size { found.append("it has \(frame.size)") }
        for row in 0..<frame.size.rows {
            var columns = 0
            for column in 0..<frame.size.columns {
                let cell = frame[row, column]
                columns += cell.cluster.width
                if let words = mistake(at: row, column, in: frame, look) {
                    found.append("row \(row), column \(column), “\(cell.cluster.text)”: \(words)")
                }
            }
            if columns != size.columns { found.append("row \(row) takes \(columns) columns") }
        }
        return Array(found.prefix(8))
    }

    private static func mistake(at row: Int, _ column: Int, in frame: Canvas, _ look: ScreenLook) -> String? {
        let cell = frame[row, column]
        guard look.has(cell.style.foreground), look.has(cell.style.background) else {
            return "\(cell.style.foreground) on \(cell.style.background)"
        }
        if cell.cluster == .continuation {
            return column > 0 && frame[row, column - 1].cluster.width == 2 ? nil : "the right half of nothing"
        }
        if cell.cluster.width == 2 {
            let isWhole = column + 1 < frame.size.columns && frame[row, column + 1].cluster == .continuation
            guard isWhole else { return "it is cut" }
            guard frame[row, column + 1].style == cell.style else { return "its halves have two looks" }
        }
        guard cell.cluster.ascii == 0 else { return nil }
        let scalars = Array(cell.cluster.text.unicodeScalars)
        if look == .ascii, scalars.count == 1, PlainSymbols.table[scalars[0]] != nil { return "a symbol" }
        return mistake(in: scalars, columns: cell.cluster.width)
    }

    /// What no cell may have.
    private static func mistake(in scalars: [Unicode.Scalar], columns: Int) -> String? {
        if (0x1F1E6...0x1F1FF).contains(scalars.first?.value ?? 0) {
            let isFlag = scalars.count == 2 && (0x1F1E6...0x1F1FF).contains(scalars[1].value)
            return columns == 2 && isFlag || columns == 1 && scalars.count == 1 ? nil : "half a flag"
        }
        for scalar in scalars {
            switch scalar.value {
            case 0xFFFD: return "a substitute"
            // Alone it is the sign of a connection being made.
            case 0x25CC where scalars.count > 1: return "a substitute"
            case 0x200D, 0xFE0E, 0xFE0F, 0x20E3, 0x1F3FB...0x1F3FF: return "a part of a joined emoji"
            case 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: return "a control of the direction"
            case 0..<0x20, 0x7F..<0xA0, 0x200B, 0x200C, 0x2060, 0xFEFF, 0xE0000...0xE007F: return "something hidden"
            default: break
            }
        }
        return nil
    }

    // MARK: Tests

    @Test("All that a theme draws with are colours of its terminal", arguments: ScreenLook.allCases)
    func palette(look: ScreenLook) {
        let theme = look.theme
        for role in ThemeRole.allCases {
            #expect(look.has(theme[role].foreground) && look.has(theme[role].background), "\(role)")
        }
        #expect(theme.names.allSatisfy(look.has))
        #expect(theme.names.isEmpty == (look == .none))
    }

    @Test(
        "In every size and theme no cell of any screen is cut, hides anything, or has a colour that the terminal has not",
        .processorBound, arguments: ScreenLook.allCases, ScreenLook.sizes)
    func screens(look: ScreenLook, size: Size) async {
        let scenes: [(name: String, desk: Desk)] = [
            ("scripts", Scene.scripts(size)), ("chat", Scene.chat(size)), ("outage", Scene.outage(size)),
            ("inbox", Scene.inbox(size)), ("log", Scene.log(size)), ("help", Scene.help(size)),
            ("commands", Scene.commands(size)), ("places", Scene.places(size)),
        ]
        for (name, desk) in scenes {
            await Task.yield()
            let found = Self.mistakes(in: Self.frame(desk, look), size, look)
            #expect(found.isEmpty, "\(name): \(found.joined(separator: "\n"))")
        }
    }

    @Test(
        "In every size and theme each script is drawn as it is stored, each joined emoji and flag in one place",
        .processorBound, arguments: ScreenLook.allCases, ScreenLook.sizes)
    func scripts(look: ScreenLook, size: Size) async {
        for (name, text, drawn) in Self.samples {
            await Task.yield()
            var desk = Desk.joined("chat.lobby", size: size)
            desk.receive([message(1, text, from: name)])
            let frame = Self.frame(desk, look)
            let found = Self.mistakes(in: frame, size, look)
            #expect(found.isEmpty, "\(text): \(found.joined(separator: "\n"))")
            // Lines are broken where there is a blank, or where one ends; what is beside them is blank.
            let shown = Self.scalars(frame, in: desk.model.layout(on: size).main)
            let wanted = drawn.unicodeScalars.filter { $0 != " " }
            #expect(Self.contains(Array(wanted), in: shown), "\(text) in \(frame.rows)")
        }
    }

    /// What is drawn in a part of a screen, from its top left, without blanks.
    private static func scalars(_ frame: Canvas, in area: Rect) -> [Unicode.Scalar] {
        var found: [Unicode.Scalar] = []
        for row in area.row..<area.endRow {
            for column in area.column..<area.endColumn {
                found += frame[row, column].cluster.text.unicodeScalars.filter { $0 != " " }
            }
        }
        return found
    }

    private static func contains(_ part: [Unicode.Scalar], in whole: [Unicode.Scalar]) -> Bool {
        whole.indices.contains { whole[$0...].starts(with: part) }
    }
}
