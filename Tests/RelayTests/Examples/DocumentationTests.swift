import Platform
import Relay
import Testing

/// The articles say what the code does: their examples are files that tests compile and most of which they run, and
/// their tables name every row of the vocabularies and tests that exist. The description of the architecture names the
/// folders that there are.
@Suite("Documentation")
struct DocumentationTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func article(_ name: String) throws -> String {
        try String(
            contentsOf: Self.package.appendingPathComponent("Sources/Relay/Relay.docc/\(name).md"), encoding: .utf8)
    }

    @Test("Each Swift example of the documents and articles is part of a file that the tests compile, line for line")
    func examples() throws {
        let folder = Self.package.appendingPathComponent("Sources/Relay/Relay.docc")
        let articles = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
        let documents =
            ["README.md", "Documentation/Libraries.md"].map(Self.package.appendingPathComponent)
            + articles.map(folder.appendingPathComponent)
        let files = try Self.exampleFiles()
        var count = 0
        for document in documents {
            let parts = try String(contentsOf: document, encoding: .utf8).components(separatedBy: "```swift\n")
                .dropFirst()
            for block in parts.map({ $0.components(separatedBy: "\n```")[0] }) {
                let lines = Self.lines(of: block)
                let (imports, code) = (lines.filter { $0.hasPrefix("import ") }, lines.drop { $0.hasPrefix("import ") })
                let isCompiled = files.contains { file in
                    imports.allSatisfy(file.contains) && file.firstRange(of: code) != nil
                }
                #expect(isCompiled, "\(document.lastPathComponent): \(block)")
                count += 1
            }
        }
        #expect(count >= 10)
    }

    /// The lines of each file with examples, of whichever part of the tests.
    private static func exampleFiles() throws -> [[Substring]] {
        let tests = package.appendingPathComponent("Tests")
        let paths = try #require(FileManager.default.enumerator(atPath: tests.path)).compactMap { $0 as? String }
        return try paths.filter { $0.contains("/Examples/") && $0.hasSuffix("Example.swift") }.map { path in
            lines(of: try String(contentsOf: tests.appendingPathComponent(path), encoding: .utf8))
        }
    }

    /// The lines of a text without their margins, but for empty ones and the comment that says what a file is.
    private static func lines(of text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty && !$0.hasPrefix("// The ") }
    }

    /// The rows of an article's table under a heading, cell by cell.
    private func rows(_ heading: String) throws -> [[String]] {
        let section = try #require(
            try article("StatusVocabularies").components(separatedBy: "\n## ").first { $0.hasPrefix(heading) })
        return section.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
            line.split(separator: "|", omittingEmptySubsequences: true).map {
                $0.split(whereSeparator: { " `".contains($0) }).joined(separator: " ")
            }
        }
    }

    @Test("B12 the tables have every row of the five vocabularies")
    func complete() throws {
        #expect(try Set(rows("RelayX").map { $0[0] }) == Set(SystemEvent.allCases.map(\.rawValue)))
        #expect(
            try Set(rows("Sudo").map { $0[0] })
                == Set(
                    [.initialized, .connecting, .connected, .disconnected, .error(.cancelled)].map {
                        (status: PlatformSubscriptionStatus) in status.name
                    }))
        #expect(
            try Set(rows("Nexconn").compactMap { Int($0[0]) })
                == Set(NexconnConnectionStatus.known.map(\.rawValue) + [-1]))
        #expect(try Set(rows("Supabase").map { $0[0] }) == Set(SupabaseStatus.allCases.map(\.rawValue)))
        let vocabulary = Self.package.appendingPathComponent(
            "Sources/Relay/OtherSystems/RongCloudCode.swift")
        let codes = try String(contentsOf: vocabulary, encoding: .utf8).split(separator: "\n").compactMap { line in
            line.contains("public static let") ? line.split(separator: "=").last?.filter(\.isNumber) : nil
        }
        #expect(codes.count > 20)
        #expect(try Set(rows("RongCloud").map { $0[0] }) == Set(codes.map { String($0) }))
    }

    /// What a line of a document has between backquotes.
    private static func quoted(_ line: Substring) -> [String] {
        line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    @Test("The architecture's table has every part and every folder of it, and its other tables files that there are")
    func rooms() throws {
        let root = Self.package.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
        let parts = Set(files.filter { !$0.contains("/") && !$0.hasPrefix(".") })
        let folders = Set(
            files.filter { $0.hasSuffix(".swift") }.map { $0.split(separator: "/").dropLast().joined(separator: "/") })
        let names = Set(files.compactMap { $0.split(separator: "/").last.map(String.init) })
        let document = Self.package.appendingPathComponent("Documentation/Architecture.md")
        let lines = try String(contentsOf: document, encoding: .utf8).split(separator: "\n")

        var named: Set<String> = []
        for row in lines.drop(while: { !$0.hasPrefix("| part |") }).dropFirst(2).prefix(while: { $0.hasPrefix("|") }) {
            let cells = row.split(separator: "|")
            try #require(cells.count == 3, "\(row)")
            let part = try #require(Self.quoted(cells[0]).first)
            named.formUnion(Self.quoted(cells[0]))
            let inside = folders.filter { $0.hasPrefix("\(part)/") }.map { String($0.dropFirst(part.count + 1)) }
            #expect(Set(Self.quoted(cells[2])) == Set(inside), "\(part)")
        }
        #expect(named == parts)

        let paths = lines.flatMap(Self.quoted).filter { path in parts.contains { path.hasPrefix("\($0)/") } }
        #expect(paths.count > 50)
        for path in paths { #expect(files.contains(path), "there is no \(path)") }
        for name in lines.flatMap(Self.quoted) where name.hasSuffix(".swift") && !name.contains("/") {
            #expect(names.contains(name), "there is no \(name)")
        }
    }
}
