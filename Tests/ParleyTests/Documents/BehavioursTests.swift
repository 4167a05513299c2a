import Foundation
import Testing

/// Documentation/Behaviours.md lists for each behaviour the files with tests that carry its number, and these only.
/// What Accounts.md and Security.md promise names its tests.
@Suite("Documents: behaviours")
struct BehavioursTests {
    /// A behaviour's part of the document.
    private struct Entry {
        let number: Int
        /// The files with tests that carry the number, by their path below Tests/.
        var files: Set<String> = []
        var saysThatThereAreNone = false
    }

    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("Every behaviour has one entry, in order")
    func complete() throws {
        let numbers = try Self.documented().map(\.number)
        #expect(numbers.count >= 62 && numbers == Set(numbers).sorted())
    }

    @Test("Each entry lists the files with tests that carry its number")
    func files() throws {
        let tested = try Self.tested()
        for entry in try Self.documented() {
            let expected = tested[entry.number, default: []]
            #expect(entry.files.subtracting(expected) == [], "files below B\(entry.number) that do not name it")
            #expect(expected.subtracting(entry.files) == [], "files missing below B\(entry.number)")
            #expect(entry.saysThatThereAreNone == entry.files.isEmpty, "what is said of none below B\(entry.number)")
        }
        let documented = try Set(Self.documented().map(\.number))
        let unknown = tested.filter { !documented.contains($0.key) }
        #expect(unknown.isEmpty, "a test carries a number that no behaviour has")
    }

    @Test("Each promise about users and walls names a test that there is", arguments: ["Accounts.md", "Security.md"])
    func promises(document: String) throws {
        let (names, files) = (try Self.displayNames(), try Self.files())
        let text = try String(
            contentsOf: Self.package.appendingPathComponent("Documentation/\(document)"), encoding: .utf8)
        var (isOfTests, count) = (false, 0)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("| "), let cell = line.split(separator: "|").last else {
                if !line.hasPrefix("|-") { isOfTests = false }
                continue
            }
            if cell.hasSuffix("test ") {
                isOfTests = true
            } else if isOfTests, !cell.hasPrefix(" none"), cell != " the same " {
                // Names stand in quotes, suites as code, by their file.
                let quoted = cell.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                    .filter { $0.offset % 2 == 1 }.map(\.element)
                let suites = cell.split(separator: "`").filter { $0.hasSuffix("Tests") && !$0.contains(" ") }
                #expect(!quoted.isEmpty || !suites.isEmpty, "\(line)")
                for name in quoted { #expect(names.contains(name), "there is no test \(name)") }
                for suite in suites where !suite.hasSuffix("IntegrationTests") {
                    let file = "\(suite.split(separator: "/").last ?? suite).swift"
                    #expect(files.contains { $0.hasSuffix("/" + file) }, "there is no \(file)")
                }
                count += 1
            }
        }
        #expect(count > 10)
    }

    // MARK: The document

    private static func documented() throws -> [Entry] {
        let document = package.appendingPathComponent("Documentation/Behaviours.md")
        var entries: [Entry] = []
        for line in try String(contentsOf: document, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("### ") {
                let heading = Self.number(line.dropFirst(4))
                entries.append(Entry(number: try #require(heading)))
            } else if line.hasPrefix("- `") {
                let parts = line.split(separator: "`")
                try #require(parts.count == 2 && !entries.isEmpty, "\(line)")
                let isNew = entries[entries.count - 1].files.insert(String(parts[1])).inserted
                #expect(isNew, "\(line) is listed twice")
            } else if line == "No test names it yet." {
                try #require(!entries.isEmpty)
                entries[entries.count - 1].saysThatThereAreNone = true
            }
        }
        return entries
    }

    // MARK: The tests

    private static let tests = package.appendingPathComponent("Tests")

    /// All files with tests, by their path below Tests/.
    private static func files() throws -> [String] {
        try #require(FileManager.default.enumerator(atPath: tests.path)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
    }

    /// The files with tests that carry each number.
    private static func tested() throws -> [Int: Set<String>] {
        var found: [Int: Set<String>] = [:]
        for file in try files() {
            for name in try displayNames(ofFile: file) {
                for number in numbers(in: name) { found[number, default: []].insert(file) }
            }
        }
        return found
    }

    /// All tests' display names.
    private static func displayNames() throws -> Set<Substring> {
        try files().reduce(into: []) { $0.formUnion(try displayNames(ofFile: $1)) }
    }

    private static func displayNames(ofFile file: String) throws -> [Substring] {
        displayNames(in: try String(contentsOf: tests.appendingPathComponent(file), encoding: .utf8))
    }

    /// The texts that follow each `@Test(`, on its line or on the next.
    private static func displayNames(in source: String) -> [Substring] {
        source.components(separatedBy: "@Test(").dropFirst().compactMap { rest -> Substring? in
            let text = rest.drop(while: { $0.isWhitespace })
            guard text.first == "\"" else { return nil }
            return text.dropFirst().prefix(while: { $0 != "\"" })
        }
    }

    /// The numbers in a display name, which are written one by one, as `B29, B30`, or as a range, `B1–B3`.
    private static func numbers(in name: Substring) -> Set<Int> {
        var found: Set<Int> = []
        for word in name.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "–" }) {
            let ends = word.split(separator: "–").compactMap { number($0) }
            if let first = ends.first, let last = ends.last, first <= last { found.formUnion(first...last) }
        }
        return found
    }

    /// The number of a word such as `B12`; nil for any other word.
    private static func number(_ word: Substring) -> Int? {
        word.hasPrefix("B") ? Int(word.dropFirst()) : nil
    }
}
