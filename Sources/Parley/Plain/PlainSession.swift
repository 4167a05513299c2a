import ArgumentParser
import Dispatch
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork
import Terminal

/// The interactive client without a screen, which reads and writes lines. It uses the same model as the screen.
struct PlainSession {
    private enum Input {
        case lines([String])
        /// A line that was dropped; reading continues.
        case longLine(CommandFailure)
        case failed(CommandFailure)
        case end
        case signal(Int32)
    }

    /// Wide, so that nothing is cut.
    private static let size = Size(rows: 24, columns: 400)
    /// How long the last lines may take to be sent or answered after the end of the input.
    private static let patience = Duration.seconds(10)

    /// The events handled before the input is checked again.
    private static let portion = 100

    private let queue: EventQueue
    private let engine: EngineRun
    // The session blocks its thread on these.
    private let wakes = DispatchSemaphore(value: 0)
    private let inputs = NIOLockedValueBox<[Input]>([])
    private let taken = DispatchSemaphore(value: 0)
    private let model: ChatModel
    /// The longest line in bytes; longer ones are dropped. Far more than a message may have, so that the core refuses
    /// and keeps a text that is too long.
    private static let lineLimit = 4 << 20
    private var announcer = PlainAnnouncer()
    private var refusals = PlainRefusals()
    /// Whether failed lines fail the session: not at a terminal, where the user sees the failure at once.
    private let isScript = !ClosedTerminal.isCharacterDevice(STDIN_FILENO)
    /// The lines that wait for the local store to open, or for earlier answers.
    private var waiting: [String] = []
    private var hasEnded = false
    private var isOver = false

    /// Runs until the user quits, or the input has ended and everything is sent.
    ///
    /// - Throws: ``CommandFailure`` if something was refused or is still unsent, or the input cannot be read; the exit
    ///   status of a signal.
    static func run(_ connector: Connector, topics: [String], configuration: ChatConfiguration) throws {
        var session = PlainSession(connector, configuration)
        defer { EngineRun.end([session.engine]) }
        try session.run(topics, connector, configuration)
    }

    private init(_ connector: Connector, _ configuration: ChatConfiguration) {
        queue = EventQueue { [wakes] in wakes.signal() }
        engine = EngineRun(queue: queue)
        model = ChatModel(
            identity: .init(user: connector.user, network: connector.network, isNamed: connector.isNamed),
            size: Self.size, now: .now, status: .initialized, origin: RelayClient.newID())
        model.configure(configuration.settings)
        model.attention.suspension.time = connector.configuration.lifecycle.grace
        model.spoken = ChatModel.Spoken()
        // In characters, which have at least a byte each, so that no line is cut.
        model.compose.editor = LineEditor(limit: Self.lineLimit + LineReader.portion)
    }

    private mutating func run(_ topics: [String], _ connector: Connector, _ configuration: ChatConfiguration) throws {
        let store = connector.configuration.store
        let signals = EndingSignals(stops: true)
        defer { signals.cancel(endsProcess: true) }
        let watcher = Task.detached { [numbers = signals.numbers, inputs, wakes] in
            for await number in numbers {
                inputs.withLockedValue { $0.append(.signal(number)) }
                wakes.signal()
            }
        }
        defer { watcher.cancel() }
        let isNothingNamed = topics.isEmpty && configuration.settings.join.isEmpty && !store.isFile
        apply(.start(topics: isNothingNamed ? [ChatModel.firstTopic] : topics, keeps: store.isFile))
        engine.start(connector, configuration)
        readInput()
        var deadline: ContinuousClock.Instant?
        var deleted: Int?
        var hasMore = false
        while !isOver {
            if !hasMore { wait(until: [deadline, model.attention.absence?.due].compactMap(\.self).min()) }
            // Time during which the process was stopped does not count.
            if try takeInputs(signals) { deadline = nil }
            hasMore = takeNews()
            // What the user missed is announced once all of it has arrived.
            if let due = model.attention.absence?.due, due <= .now { apply(.tick(.now)) }
            takeWaiting()
            if waiting.isEmpty, model.connectionGivenUp != nil { break }
            guard hasEnded, !isOver else { continue }
            if waiting.isEmpty, model.isSettled { break }
            // Deleting many letters takes time; any progress extends the deadline.
            if model.network.inbox.deletion.run?.done != deleted {
                deleted = model.network.inbox.deletion.run?.done
                deadline = nil
            }
            let end = deadline ?? .now + Self.patience
            deadline = end
            if .now >= end { break }
        }
        // Refused messages come first: unlike waiting ones, no later run sends them.
        if let failure = refusals.failure ?? model.connectionGivenUp { throw failure }
        let keeps = model.network.opening == nil ? model.network.keepsOutbox : store.isFile
        guard hasEnded, let undone = model.undone(keeps: keeps) else { return }
        throw CommandFailure(model.network.status.codeOfEnd, undone + model.network.status.hindrance)
    }

    private func wait(until deadline: ContinuousClock.Instant?) {
        guard let deadline else { return wakes.wait() }
        _ = wakes.wait(timeout: .now() + max(0, ContinuousClock.now.duration(to: deadline) / .seconds(1)))
    }

    // MARK: Input

    /// Reads lines on a thread of its own, and the next ones once these are taken.
    private func readInput() {
        // Reading blocks its thread, so it must not run in the cooperative pool.
        DispatchQueue(label: "standard input").async { [inputs, wakes, taken] in
            var reader = LineReader(limit: Self.lineLimit)
            while true {
                let input: Input
                do throws(CommandFailure) {
                    input = try reader.next().map { .lines($0) } ?? .end
                } catch {
                    input = reader.isInLongLine ? .longLine(error) : .failed(error)
                }
                inputs.withLockedValue { $0.append(input) }
                wakes.signal()
                switch input {
                case .lines, .longLine: taken.wait()
                case .failed, .end, .signal: return
                }
            }
        }
    }

    /// - Returns: whether the process was stopped meanwhile.
    private mutating func takeInputs(_ signals: EndingSignals) throws -> Bool {
        var wasStopped = false
        for input in inputs.withLockedValue({ exchange(&$0, with: []) }) {
            switch input {
            case .lines(let lines): waiting += lines
            // The lines before it are taken already, since the reader waits for that.
            case .longLine(let failure):
                let most = Wording.grouped(model.network.messageBytes)
                let words = "\(failure.text) It was dropped: a message has \(most) at most."
                refusals.lineDropped(words)
                Output.line(words)
                taken.signal()
            case .end: hasEnded = true
            // Ends with SIGHUP's status, whether the signal arrives before or after.
            case .failed(.hangUp) where EndingSignals.hangUp() != .ignored:
                throw ExitCode(of: CommandFailure.hangUp.code)
            // Lines read before are still carried out.
            case .failed(let failure):
                hasEnded = true
                refusals.input = failure
            case .signal(EndingSignals.stopping):
                suspend(signals)
                wasStopped = true
            case .signal(let number): throw ExitCode(128 + number)
            }
        }
        return wasStopped
    }

    /// Closes the connection, stops the process as requested, and resumes when it is continued.
    private mutating func suspend(_ signals: EndingSignals) {
        apply(.suspending)
        EngineRun.letGo([engine])
        signals.stop()
        apply(.resumed)
    }

    /// Handles waiting lines, once the local store is open.
    private mutating func takeWaiting() {
        guard model.network.opening == nil, !waiting.isEmpty else { return }
        while !isOver, let line = waiting.first, !model.holds(line) {
            waiting.removeFirst()
            apply(.line(line))
        }
        if waiting.isEmpty { taken.signal() }
    }

    // MARK: Events

    /// Handles a portion of the news, so that lines are not held up by a flood of it.
    ///
    /// - Returns: whether there may be more.
    private mutating func takeNews() -> Bool {
        for _ in 0..<Self.portion {
            guard let (event, _) = queue.take() else { return false }
            apply(event)
        }
        return true
    }

    private mutating func apply(_ event: ChatEvent) {
        let due = update(model, .tick(.now))
        let notice = model.notices.shown
        let effects = due + update(model, event)
        let failure = model.notices.shown.flatMap { $0 != notice && $0.kind == .failure && isScript ? $0.text : nil }
        refusals.note(event, effects.core, failure: failure)
        for effect in effects.core where !engine.send(.effect(effect)) {
            model.giveUp(effect)
            Output.line(EngineRun.tooMuch)
        }
        if effects.screen.contains(.quit) { isOver = true }
        for line in announcer.lines(after: event, effects.core, model) { Output.line(line) }
    }
}
