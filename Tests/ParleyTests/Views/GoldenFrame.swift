import Terminal
import Testing

@testable import Parley

/// A frame as a golden has it: the text of each row, and the role of each cell that has a style, in short.
///
/// A line of styles names a row, or several that are alike, and its runs of cells from the left: a letter for the role
/// and how many cells it has. A capital is the role in bold, `*` is bold text without a role, `=` a selected cell, `_`
/// underlined (found) and `.` plain; plain cells at the end of a row, and rows of them, are left out.
///
///     0: t21 r18 .1 c18 t22
///     13-20: .20 r1
enum GoldenFrame {
    /// The letter of each role.
    static func letter(_ role: ThemeRole) -> Character {
        switch role {
        case .title: "t"
        case .connected: "c"
        case .waiting: "w"
        case .broken: "b"
        case .heading: "h"
        case .rule: "r"
        case .unread: "u"
        case .mention: "y"
        case .time: "i"
        case .dimmed: "d"
        case .marker: "m"
        case .failure: "f"
        case .hintKey: "k"
        case .hint: "e"
        case .question: "q"
        case .overlay: "v"
        case .code: "x"
        case .quote: "g"
        case .link: "l"
        }
    }

    private static let nameColor = Color.indexed(255)

    /// Paints each role in a colour of its own, so that what is painted tells the role.
    static let theme = Theme(
        names: [nameColor],
        styles: ThemeRole.allCases.map {
            Style(foreground: .indexed(UInt8($0.rawValue) + 16), attributes: $0.look.attributes)
        })

    /// The letter for a cell of a frame that was painted in `theme`.
    static func letter(_ style: Style) -> Character {
        if style.foreground == .standard {
            if style.attributes.contains(.reverse) { return "=" }
            if style.attributes.contains(.underline) { return "_" }
            return style.attributes.contains(.bold) ? "*" : "."
        }
        let role = ThemeRole.allCases.first { theme[$0].foreground == style.foreground }
        let letter: Character = role.map { Self.letter($0) } ?? (style.foreground == nameColor ? "n" : "?")
        let added = style.attributes.subtracting(role?.look.attributes ?? [])
        if added.contains(.underline) { return "_" }
        return added.contains(.bold) ? Character(letter.uppercased()) : letter
    }

    // MARK: Styles in short

    /// The styles of a frame, as a golden has them.
    static func styles(_ frame: Canvas) -> [String] {
        var lines: [(first: Int, last: Int, runs: String)] = []
        for row in 0..<frame.size.rows {
            let runs = short((0..<frame.size.columns).map { letter(frame[row, $0].style) })
            if let last = lines.last, last.runs == runs, last.last == row - 1 {
                lines[lines.count - 1].last = row
            } else {
                lines.append((row, row, runs))
            }
        }
        return lines.filter { !$0.runs.isEmpty }.map { line in
            (line.first == line.last ? "\(line.first): " : "\(line.first)-\(line.last): ") + line.runs
        }
    }

    private static func short(_ letters: [Character]) -> String {
        var runs: [(letter: Character, count: Int)] = []
        for letter in letters {
            if runs.last?.letter == letter { runs[runs.count - 1].count += 1 } else { runs.append((letter, 1)) }
        }
        if runs.last?.letter == "." { runs.removeLast() }
        return runs.map { "\($0.letter)\($0.count)" }.joined(separator: " ")
    }

    /// The letters of each row that lines of a golden name; nil for a line that is none.
    static func letters(_ golden: String, _ size: Size) -> [[Character]]? {
        var rows = Array(repeating: Array(repeating: Character("."), count: size.columns), count: size.rows)
        for line in golden.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            let bounds = (parts.first ?? "").split(separator: "-").compactMap { Int($0) }
            guard parts.count == 2, let first = bounds.first, let last = bounds.last, first <= last,
                rows.indices.contains(first), rows.indices.contains(last)
            else { return nil }
            var letters: [Character] = []
            for run in parts[1].split(separator: " ") {
                guard let letter = run.first, let count = Int(run.dropFirst()), (1...size.columns).contains(count)
                else { return nil }
                letters += Array(repeating: letter, count: count)
            }
            guard letters.count <= size.columns else { return nil }
            letters += Array(repeating: ".", count: size.columns - letters.count)
            for row in first...last { rows[row] = letters }
        }
        return rows
    }

    // MARK: Comparison

    /// What differs, in words that name the cells: at most `limit` places.
    static func differences(_ frame: Canvas, text: String, styles: String?, limit: Int = 12) -> [String] {
        var found: [String] = []
        let golden = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if golden.count != frame.size.rows {
            found.append("the golden has \(golden.count) rows, the frame \(frame.size.rows)")
        }
        for row in 0..<min(golden.count, frame.size.rows) {
            found += textDifferences(frame, row: row, SafeText(golden[row]))
        }
        guard let styles else { return Array(found.prefix(limit)) }
        guard let rows = letters(styles, frame.size) else {
            return found + ["the styles cannot be read, or name cells outside the frame"]
        }
        for row in 0..<frame.size.rows { found += styleDifferences(frame, row: row, rows[row]) }
        return Array(found.prefix(limit))
    }

    /// The first cell of a row that shows something else.
    private static func textDifferences(_ frame: Canvas, row: Int, _ golden: SafeText) -> [String] {
        var column = 0
        for cluster in golden.clusters + SafeText.spaces(max(0, frame.size.columns - golden.width)).clusters {
            let shown = frame[row, column].cluster
            if column >= frame.size.columns || shown != cluster {
                return [
                    "row \(row), column \(column): expected “\(cluster.text)”, found “\(shown.text)” in “\(frame.text(row: row))”"
                ]
            }
            column += max(1, cluster.width)
        }
        return []
    }

    /// The runs of a row's cells that have another role.
    private static func styleDifferences(_ frame: Canvas, row: Int, _ golden: [Character]) -> [String] {
        var found: [String] = []
        var column = 0
        while column < frame.size.columns {
            let (expected, shown) = (golden[column], letter(frame[row, column].style))
            let first = column
            repeat {
                column += 1
            } while column < frame.size.columns && golden[column] == expected
                && letter(frame[row, column].style) == shown
            guard expected != shown else { continue }
            let columns = column - first == 1 ? "column \(first)" : "columns \(first) to \(column - 1)"
            let text = (first..<column).map { frame[row, $0].cluster.text }.joined()
            found.append("row \(row), \(columns), “\(text)”: expected \(name(expected)), found \(name(shown))")
        }
        return found
    }

    private static func name(_ letter: Character) -> String {
        switch letter {
        case ".": return "plain (.)"
        case "*": return "bold (*)"
        case "=": return "selected (=)"
        case "_": return "found (_)"
        case "n": return "name (n)"
        case "N": return "name in bold (N)"
        default:
            if let role = ThemeRole.allCases.first(where: { Self.letter($0) == letter }) {
                return "\(role) (\(letter))"
            }
            let bold = ThemeRole.allCases.first { Self.letter($0).uppercased() == String(letter) }
            return bold.map { "\($0) in bold (\(letter))" } ?? "something without a name (\(letter))"
        }
    }
}

/// Expects a screen to look like a golden: each row's text, and where `styles` are given each cell's role. A failure
/// names the cells, and shows the whole frame as a golden would have it.
func expectScreen(
    _ desk: Desk, _ text: String, styles: String? = nil, theme: Theme = GoldenFrame.theme,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant, theme: theme)
    let differences = GoldenFrame.differences(frame, text: text, styles: styles)
    guard !differences.isEmpty else { return }
    let whole = frame.rows + (styles == nil ? [] : GoldenFrame.styles(frame))
    Issue.record(
        "\(differences.joined(separator: "\n"))\nThe frame:\n\(whole.joined(separator: "\n"))",
        sourceLocation: sourceLocation)
}
