import ArgumentParser
import Platform
import Relay
import RelayLab
import RelayNetwork

struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab", abstract: "Rehearse faults: of the link, of the server, by the administrator.",
        discussion: "The exit status of a rehearsal is 0 if it passed, and 1 if it did not.",
        subcommands: [
            LabRunCommand.self, LabListCommand.self, LabRecordCommand.self, LabProxyCommand.self, LabSendCommand.self,
            LabWatchCommand.self, LabReportCommand.self,
        ])
}

enum Lab {
    static let failed = ExitCode(1)

    /// Reads a scenario from a file, or one that comes with Parley by its name.
    static func named(_ name: String) throws -> LabScenario {
        if !FileManager.default.fileExists(atPath: name), let shipped = ShippedScenario.named(name) {
            return try shipped.scenario()
        }
        return try scenario(name)
    }

    static func scenario(_ path: String) throws(CommandFailure) -> LabScenario {
        let data = try contents(ofFile: path)
        do throws(LabScenarioError) { return try LabScenario(parsing: data) } catch {
            throw CommandFailure(.badData, "\(path):\(error)")
        }
    }

    static func write(_ text: String, to path: String) throws(CommandFailure) {
        do { try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw CommandFailure(.cannotCreate, "\(path) cannot be written.")
        }
    }

    /// A unique name for the run's messages.
    static func writer() -> String { String(RelayClient.newID().prefix(8)) }

    /// Whether the terminal lacks symbols, according to the environment.
    static var isASCII: Bool { Appearance(environment: ProcessInfo.processInfo.environment).usesPlainSymbols }

    /// Prints an event: an object for scripts, or a line for people if it is worth one.
    static func show(_ event: LabEvent, json: Bool) {
        if json { return Output.json(event.json) }
        guard let words = words(event.kind) else { return }
        let time = "\(event.at)"
        Output.line(String(repeating: " ", count: max(0, 11 - time.count)) + time + "  " + Output.safe(words))
    }

    private static func words(_ kind: LabEvent.Kind) -> String? {
        switch kind {
        case .began(let heading): "\(heading.title) (seed \(heading.seed))"
        case .status(let status):
            status.state + (status.isSilent ? ", no answer" : "")
                + (status.attempt > 0 ? ", attempt \(status.attempt)" : "")
                + (status.words.map { ". \($0)" } ?? "")
        case .fault(let fault) where fault.phase == .ended: "\(fault.name) is over"
        case .fault(let fault):
            fault.name + (fault.phase == .began ? " begins" : "")
                + (fault.detail.isEmpty ? "" : ": \(fault.detail)")
        case .expectation(let result):
            (result.isMet ? "as expected: " : "NOT as expected: ") + result.words
                + (result.instead.map { "; there was \($0)" } ?? "")
        case .note(let words): words
        case .failed(let words): "failed: \(words)"
        case .notSent(let number, let reason): "not sent: \(number). \(reason)"
        case .uncertain(let number): "uncertain: \(number)"
        case .missed(let topic, let count): "missing on \(topic): \(count)"
        case .roundTrip, .queued, .sent, .acknowledged, .received, .arrived, .ended: nil
        }
    }

    /// Prints a run's report for people; scripts had all of it as events.
    static func show(_ report: LabReport, json: Bool) {
        guard !json else { return }
        Output.line("")
        for line in report.lines(columns: 80, ascii: isASCII) { Output.line(line) }
    }
}
