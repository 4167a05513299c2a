import Foundation
import Terminal
import Testing

@testable import Parley

/// A screen in one theme, as a file has it: each row's text, then for each row its runs of cells of one look, then what
/// the looks are. The letters are given in the order in which the looks come.
private struct GoldenFile {
    let rows: [String]
    /// The look of each cell, in words.
    let looks: [[String]]

    private static let divider = "----"

    init(_ frame: Canvas) {
        rows = frame.rows
        looks = (0..<frame.size.rows).map { row in
            (0..<frame.size.columns).map { Self.words(frame[row, $0].style) }
        }
    }

    /// Nil for what no file of this kind says.
    init?(_ text: String, _ size: Size) {
        let parts = text.components(separatedBy: "\n\(Self.divider)\n")
        guard parts.count == 3 else { return nil }
        rows = parts[0].components(separatedBy: "\n")
        var names: [Character: String] = [".": "plain"]
        for line in parts[2].split(separator: "\n") {
            guard let letter = line.first, line.dropFirst().hasPrefix(": ") else { return nil }
            names[letter] = String(line.dropFirst(3))
        }
        var looks: [[String]] = []
        for line in parts[1].components(separatedBy: "\n") {
            var row: [String] = []
            for run in line.split(separator: " ") {
                guard let name = run.first.flatMap({ names[$0] }), let count = Int(run.dropFirst()), count > 0,
                    count <= size.columns
                else { return nil }
                row += Array(repeating: name, count: count)
            }
            guard row.count <= size.columns else { return nil }
            looks.append(row + Array(repeating: "plain", count: size.columns - row.count))
        }
        self.looks = looks
    }

    var text: String {
        var letters: [String: Character] = ["plain": "."]
        var legend: [String] = []
        let alphabet = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        let lines = looks.map { row -> String in
            var runs: [(look: String, count: Int)] = []
            for look in row {
                if runs.last?.look == look { runs[runs.count - 1].count += 1 } else { runs.append((look, 1)) }
            }
            if runs.last?.look == "plain" { runs.removeLast() }
            return runs.map { run in
                if letters[run.look] == nil {
                    let letter = alphabet[min(legend.count, alphabet.count - 1)]
                    letters[run.look] = letter
                    legend.append("\(letter): \(run.look)")
                }
                return "\(letters[run.look] ?? "?")\(run.count)"
            }.joined(separator: " ")
        }
        return [rows.joined(separator: "\n"), lines.joined(separator: "\n"), legend.joined(separator: "\n")]
            .joined(separator: "\n\(Self.divider)\n") + "\n"
    }

    /// Where the frame is another, in words that name the cells: the first few.
    func differences(from golden: GoldenFile) -> [String] {
        var found: [String] = []
        for row in 0..<max(rows.count, golden.rows.count) {
            let (here, there) = (
                rows.indices.contains(row) ? rows[row] : "", golden.rows.indices.contains(row) ? golden.rows[row] : ""
            )
            if here != there { found.append("row \(row): expected “\(there)”, found “\(here)”") }
            guard looks.indices.contains(row), golden.looks.indices.contains(row) else { continue }
            let columns = looks[row].indices.filter {
                !golden.looks[row].indices.contains($0) || looks[row][$0] != golden.looks[row][$0]
            }
            if let first = columns.first, let last = columns.last {
                found.append(
                    "row \(row), columns \(first) to \(last): expected \(golden.looks[row][first]), found \(looks[row][first])"
                )
            }
        }
        return Array(found.prefix(8))
    }

    private static func words(_ style: Style) -> String {
        guard style != .plain else { return "plain" }
        var parts: [String] = []
        if let color = words(style.foreground) { parts.append(color) }
        if let color = words(style.background) { parts.append("on \(color)") }
        for (attribute, name) in [
            (Attributes.bold, "bold"), (.dim, "dim"), (.italic, "italic"), (.underline, "underline"),
            (.reverse, "reverse"),
        ] where style.attributes.contains(attribute) {
            parts.append(name)
        }
        return parts.isEmpty ? "plain" : parts.joined(separator: " ")
    }

    private static func words(_ color: Color) -> String? {
        switch color {
        case .standard: nil
        case .indexed(let entry): "\(entry)"
        case .rgb(let red, let green, let blue): "\(red)/\(green)/\(blue)"
        }
    }
}

/// A screen with all kinds of writing, and a conversation with all that there is in one and around it, at each size and
/// in each theme, cell by cell. With `PARLEY_WRITE_GOLDENS` set the
/// files are written anew, and read by whoever commits them.
@Suite("Goldens in every theme")
struct GoldenFileTests {
    /// The others differ from these in the terminal's numbers for colours alone.
    private static let looks: [ScreenLook] = [.dark, .light, .sixteen, .sixteenLight, .none, .ascii]

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Goldens")

    @Test("Every cell has its character and its look, in every script", arguments: looks, ScreenLook.sizes)
    func scripts(look: ScreenLook, size: Size) throws { try compare("scripts", Scene.scripts(size), look, size) }

    @Test(
        "Every cell has its character and its look: what is new, who calls, what waits and what failed",
        arguments: looks, ScreenLook.sizes)
    func chat(look: ScreenLook, size: Size) throws { try compare("chat", Scene.talk(size), look, size) }

    @Test(
        "Every cell has its character and its look: the lab while the link is cut", arguments: looks, ScreenLook.sizes)
    func lab(look: ScreenLook, size: Size) throws { try compare("lab", Scene.lab(size), look, size) }

    @Test("Every cell has its character and its look: the lab's ledger", arguments: looks, ScreenLook.sizes)
    func ledger(look: ScreenLook, size: Size) throws { try compare("ledger", Scene.ledger(size), look, size) }

    private func compare(_ scene: String, _ desk: Desk, _ look: ScreenLook, _ size: Size) throws {
        let frame = render(desk.model, size: size, now: desk.model.now.instant, theme: look.theme)
        let found = GoldenFile(frame)
        let name = "\(scene)-\(size.columns)x\(size.rows)-\(look).txt"
        let file = Self.folder.appendingPathComponent(name)
        if ProcessInfo.processInfo.environment["PARLEY_WRITE_GOLDENS"] != nil {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            try found.text.write(to: file, atomically: true, encoding: .utf8)
        }
        let golden = try #require(GoldenFile(String(contentsOf: file, encoding: .utf8), size), "\(name)")
        let differences = found.differences(from: golden)
        #expect(differences.isEmpty, "\(name): \(differences.joined(separator: "\n"))")
        #expect(found.looks == golden.looks && found.rows == golden.rows, "\(name)")
        // What a file says is what a frame says.
        #expect(GoldenFile(found.text, size)?.looks == found.looks)
    }
}
