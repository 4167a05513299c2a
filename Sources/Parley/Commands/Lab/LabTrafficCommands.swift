import ArgumentParser
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayLab
import RelayNetwork

struct LabSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send numbered messages, and report the outcome of each.",
        discussion: "Each says “lab WRITER NUMBER”. The exit status is 1 if one was not acknowledged.")

    @OptionGroup var connection: ConnectionTarget

    @Option(help: ArgumentHelp("The number of messages.", valueName: "number"))
    var count = 10

    @Option(help: ArgumentHelp("The time between two messages, such as 100ms.", valueName: "length"))
    var every: String?

    @Option(help: ArgumentHelp("The writer's name in the messages; a new one by default.", valueName: "name"))
    var writer: String?

    @Option(help: ArgumentHelp("How long the last acknowledgement may take, such as 30s.", valueName: "length"))
    var timeout = "30s"

    @Flag(help: "Print one JSON object for each event.")
    var json = false

    @Argument(help: "The topic.")
    var topic: String

    func validate() throws {
        guard (1...LabAct.maximumCount).contains(count) else {
            throw ValidationError("--count takes a number from 1 to \(LabAct.maximumCount).")
        }
        for (name, text) in [("--every", every), ("--timeout", timeout)] {
            guard let text, LabDuration.read(text) == nil else { continue }
            throw ValidationError("\(name) takes a duration such as 100ms or 2s.")
        }
        if let writer, !LabNumber.isWriter(writer) {
            throw ValidationError("--writer takes up to 64 letters, digits, dashes and underscores.")
        }
    }

    func run() async throws {
        let (writer, topic, json) = (writer ?? Lab.writer(), topic, json)
        do throws(TopicError) { _ = try Topic(topic) } catch { throw RelayError.invalidTopic("\(error)") }
        let connector = try Connector(connection.plan(), for: .work)
        let client = try await connector.connect()
        let patience = LabDuration.read(timeout) ?? .seconds(30)
        let (count, pause) = (count, every.flatMap { LabDuration.read($0) } ?? .zero)
        let failed = NIOLockedValueBox(0)
        try await client.whileInSession {
            let start = ContinuousClock.now
            @Sendable func show(_ kind: LabEvent.Kind) {
                Lab.show(LabEvent(at: LabTime(start.duration(to: .now)), kind), json: json)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for value in 1...count {
                    guard let number = LabNumber(writer: writer, value: value) else { continue }
                    let pending = try await client.enqueueLine(topic: topic, text: number.text)
                    show(.sent(number))
                    group.addTask {
                        do throws(RelayError) {
                            _ = try await pending.receipt(within: patience)
                            show(.acknowledged(number))
                        } catch {
                            failed.withLockedValue { $0 += 1 }
                            if case .uncertain = error { return show(.uncertain(number)) }
                            show(.notSent(number, reason: error.words))
                        }
                    }
                    if pause > .zero, value < count { try await Task.sleep(for: pause) }
                }
                try await group.waitForAll()
            }
        }
        await client.close()
        let missed = failed.withLockedValue(\.self)
        if !json { Output.line("\(writer): \(count) sent, \(count - missed) acknowledged") }
        if missed > 0 { throw Lab.failed }
    }
}

struct LabWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Keep the ledger of a topic's numbered messages, whoever sends them.",
        discussion:
            "A message has a number if it says “lab WRITER NUMBER”, bare or in a chat line, or is an object with "
            + "lab and n. The exit status is 1 if one was lost, duplicated or out of order.")

    @OptionGroup var connection: ConnectionTarget

    @Option(help: ArgumentHelp("End once each writer's message with this number has arrived.", valueName: "number"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time, such as 30s.", valueName: "length"))
    var length: String?

    @OptionGroup var begin: SinceOption

    @Option(help: ArgumentHelp("A log file of all events, as lines of JSON.", valueName: "file"))
    var log: String?

    @Flag(help: "Print one JSON object for each event.")
    var json = false

    @Argument(help: "The topic.")
    var topic: String

    func validate() throws {
        if let count, !(1...LabNumber.maximum).contains(count) {
            throw ValidationError("--count takes a number from 1 to \(LabNumber.maximum).")
        }
        if let length, LabDuration.read(length) == nil {
            throw ValidationError("--for takes a duration such as 30s or 5min.")
        }
    }

    private struct State {
        var watch: LabWatch
        var shown = 0
    }

    func run() async throws {
        let start = begin.start
        let connector = try Connector(connection.plan(), for: .presence)
        defer { connector.tokenCommand?.end() }
        let client = try await connector.connect()
        let began = ContinuousClock.now
        let heading = LabHeading(
            title: topic, seed: 0, policy: "none", server: connector.network, time: WallClock.now.iso8601)
        let state = NIOLockedValueBox(State(watch: LabWatch(heading)))
        let (json, count, limit) = (json, count, length.flatMap { LabDuration.read($0) })
        /// Changes the watch and prints the new events.
        @Sendable func change(_ body: (inout LabWatch, LabTime) -> Void) {
            state.withLockedValue { state in
                body(&state.watch, LabTime(began.duration(to: .now)))
                let events = state.watch.run.log.events
                for event in events[state.shown...] { Lab.show(event, json: json) }
                state.shown = events.count
            }
        }
        change { _, _ in }
        let events = try await client.messages(topic: topic, from: start, withPayload: true)
        do {
            try await client.whileInSession {
                try await Self.follow(events, for: limit) { message in
                    guard let number = LabNumber(message: message.message) else { return true }
                    var isDone = false
                    change { watch, now in
                        watch.take(number, isRecovered: message.isRecovered, at: now)
                        isDone = count.map { watch.hasAll(count: $0) } ?? false
                    }
                    return !isDone
                }
            }
        } catch let status as ExitCode where status.rawValue > 128 {
            // ^C ends the watch; what was received so far counts.
        }
        change { watch, now in
            if let count { watch.conclude(count: count, at: now) }
            watch.end(at: now)
        }
        await client.close()
        let run = state.withLockedValue(\.watch.run)
        if let log { try Lab.write(run.log.text, to: log) }
        let report = LabReport(run)
        Lab.show(report, json: json)
        let isMissing = count != nil && run.ledger.figures.received == 0
        if !report.verdict.isPassed || isMissing { throw Lab.failed }
    }

    /// Hands messages over until the body returns false or the time is up.
    private static func follow(
        _ events: TopicEvents, for limit: Duration?, _ body: @escaping @Sendable (TopicMessage) -> Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var iterator = events.makeAsyncIterator()
                while let event = try await iterator.next() {
                    if case .message(let message) = event, !body(message) { return }
                }
            }
            if let limit { group.addTask { try? await Task.sleep(for: limit) } }
            defer { group.cancelAll() }
            _ = try await group.next()
        }
    }
}

struct LabReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Report on a rehearsal's log, here or as an HTML page.",
        discussion: "The page needs no scripts or other files, and can be printed.")

    @Option(help: ArgumentHelp("The HTML file; by default the report is printed here.", valueName: "file"))
    var out: String?

    @Flag(help: "Print the figures as one JSON object.")
    var json = false

    @Argument(help: "A log file written by lab run.")
    var log: String

    func run() throws {
        let data = try contents(ofFile: log)
        let read: LabLog
        do throws(LabLogError) { read = try LabLog(parsing: data) } catch {
            throw CommandFailure(.badData, "\(log):\(error.line): \(error.words).")
        }
        let report = LabReport(LabRun(read))
        if let out { try Lab.write(report.page, to: out) }
        if json {
            Output.json(
                ["verdict": .string(report.verdict.isPassed ? "passed" : "failed")], report.figures.json)
        } else if out == nil {
            for line in report.lines(columns: 80, ascii: Lab.isASCII) { Output.line(line) }
        }
    }
}
