import Foundation
import TestSupport
import Testing

@testable import RelayLab

/// A browser without a window, where the machine has one.
private enum Browser {
    /// Where it is: named by `PARLEY_TEST_CHROMIUM`, or found under a usual name.
    static let path: String? = {
        let environment = ProcessInfo.processInfo.environment
        if let named = environment["PARLEY_TEST_CHROMIUM"] { return named }
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let names = [
            "chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "google-chrome-stable",
        ]
        return names.lazy.flatMap { name in folders.map { "\($0)/\(name)" } }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// What it makes of a page.
    static func open(_ page: URL, in folder: TemporaryDirectory, _ arguments: String...) async throws -> String {
        let program = try #require(path)
        let result = try await ChildProcess.run(
            program,
            [
                "--headless", "--disable-gpu", "--no-sandbox", "--no-first-run", "--disable-extensions",
                "--user-data-dir=\(folder.path("profile"))",
            ] + arguments + [page.absoluteString])
        #expect(result.status.isSuccess, "\(result)")
        return result.output
    }
}

/// The report as a browser shows it.
@Suite(
    "Lab: the report's page in a browser", .realProcesses,
    .enabled(
        if: Browser.path != nil,
        "neither chromium nor google-chrome was found; PARLEY_TEST_CHROMIUM names one"))
struct ReportPageTests {
    /// A run with an outage, in which a message is lost and one comes twice.
    private static func run() throws -> LabRun {
        var run = LabRun()
        var now: Int64 = 0
        func tell(_ kind: LabEvent.Kind) {
            now += 40_000
            run.take(LabEvent(at: LabTime(microseconds: now), kind))
        }
        tell(.began(LabHeading(title: "a cut & <more>", seed: 7, policy: "parley", server: "nats-server 2.10.0")))
        tell(.status(LabStatus(state: "connected")))
        tell(.roundTrip(LabTime(microseconds: 420)))
        tell(.fault(LabFault("cut", .struck)))
        tell(.status(LabStatus(state: "reconnecting", attempt: 1)))
        let numbers = try (1...12).map { try #require(LabNumber(writer: "w", value: $0)) }
        for number in numbers { tell(.sent(number)) }
        tell(.queued(12))
        tell(.status(LabStatus(state: "connected")))
        for number in numbers { tell(.acknowledged(number)) }
        for number in numbers.dropLast() + [numbers[3]] { tell(.received(number, isRecovered: true)) }
        run.end(at: LabTime(microseconds: now + 40_000))
        return run
    }

    @Test("The page's numbers in the browser are the ledger's and the log's, and it prints")
    func figures() async throws {
        let run = try LabRun(LabLog(parsing: Array(Self.run().log.text.utf8)))
        let folder = try TemporaryDirectory("report")
        let page = URL(fileURLWithPath: try folder.write(LabReport(run).page, to: "report.html"))
        let shown = try await Browser.open(page, in: folder, "--dump-dom")
        var found: [String: String] = [:]
        for match in shown.matches(of: /<td data-figure="([^"]+)">([^<]*)<\/td>/) {
            found[String(match.1)] = String(match.2)
        }
        guard case .ended(let logged, let passed)? = run.log.events.last?.kind else {
            Issue.record("the log has no end")
            return
        }
        #expect(!passed && logged == run.ledger.figures)
        for (name, _, value) in logged.rows { #expect(found[name] == value, "\(name)") }
        #expect(found.count == logged.rows.count && found["lost"] == "1" && found["doubled"] == "1")
        // Nothing of the page was taken for something else.
        #expect(shown.contains("<h1>a cut &amp; &lt;more&gt;</h1>") && shown.contains("data-verdict=\"failed\""))
        #expect(
            shown.contains("<td>reconnecting</td>") && shown.contains("Acknowledged and never delivered: w 12."))

        let paper = folder.path("report.pdf")
        _ = try await Browser.open(page, in: folder, "--print-to-pdf=\(paper)", "--no-pdf-header-footer")
        let printed = try Data(contentsOf: URL(fileURLWithPath: paper))
        #expect(printed.starts(with: Data("%PDF-".utf8)) && printed.count > 5_000, "\(printed.count) bytes")
    }
}
