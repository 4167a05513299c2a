import Foundation
import Testing

@testable import Parley

/// Documentation/Features.md names for each feature that Parley has the tests that show it.
@Suite("Documents: features")
struct FeaturesTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The cells of each row of the table: the feature, four other clients, Parley, how, and the tests.
    private static func rows() throws -> [[String]] {
        let document = package.appendingPathComponent("Documentation/Features.md")
        return try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| feature") }
            .map { line in
                line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                    .map { $0.trimmingCharacters(in: .whitespaces) }
            }
    }

    @Test("The table has all features, and says of each whether Parley has it")
    func complete() throws {
        let rows = try Self.rows()
        #expect(rows.count == 43 && Set(rows.map { $0.first ?? "" }).count == 43)
        for row in rows {
            #expect(row.count == 8, "\(row)")
            #expect(row.count > 5 && ["yes", "not yet"].contains(row[5]), "\(row)")
        }
    }

    @Test("Each feature that is there names tests, and each of these tests there is")
    func tests() throws {
        for row in try Self.rows() where row.count == 8 && row[5] == "yes" {
            let tests = row[7].components(separatedBy: "; “")
            #expect(!row[7].isEmpty, "\(row[0])")
            for test in tests {
                let parts = test.components(separatedBy: "” in `")
                try #require(parts.count == 2, "\(test)")
                let words = parts[0].drop { $0 == "“" }
                let file = parts[1].prefix { $0 != "`" }
                let place = Self.package.appendingPathComponent("Tests/\(file)")
                let source = try String(contentsOf: place, encoding: .utf8)
                #expect(source.contains(words), "\(file) has no test “\(words)”")
            }
        }
    }

    @Test("For those who come from other clients only commands and keys are named that there are")
    func fromOthers() throws {
        let document = Self.package.appendingPathComponent("Documentation/Features.md")
        let text = try String(contentsOf: document, encoding: .utf8)
        let part = try #require(text.components(separatedBy: "## For those who know").last)
        let commands = part.components(separatedBy: "`").filter { $0.hasPrefix("/") }
        #expect(commands.count >= 6)
        for command in commands {
            let name = command.dropFirst().prefix { $0 != " " }
            #expect(SlashCommand.entry(named: name) != nil, "\(command)")
        }
        let known = Set(KeyMap.standard.tables.flatMap { $0.entries.flatMap { $0.sequences.map(\.label) } })
        let words = part.split { $0.isWhitespace || ".,;".contains($0) }.map(String.init)
        let keys = words.filter { word in
            ["Alt-", "Ctrl-", "Shift-", "^", "Pg"].contains { word.hasPrefix($0) }
                || word.first == "F" && word.dropFirst().allSatisfy(\.isNumber)
        }
        #expect(keys.count >= 12)
        for key in keys { #expect(known.contains(key), "\(key)") }
    }
}
