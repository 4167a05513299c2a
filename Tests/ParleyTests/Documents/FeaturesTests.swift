import Foundation
import Testing

@testable import Parley

@Suite("Documents: features")
struct FeaturesTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

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
