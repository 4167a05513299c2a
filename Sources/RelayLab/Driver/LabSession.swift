import Relay

/// A client under test, its link, its server's side and their run: for a scenario, or for acts by hand.
public actor LabSession {
    private let subject: (any LabSubject)?
    private let link: (any LabLink)?
    private let server: (any LabServerSide)?
    private let (topic, writer): (String, String)
    private let heading: LabHeading
    private let clock: any Timekeeper
    private let start: ContinuousClock.Instant
    private let tell: @Sendable (LabEvent) -> Void

    /// The run so far.
    public private(set) var run = LabRun()

    /// The acts and statuses since ``record()``; nil before.
    public private(set) var recording: LabRecording?

    // The statuses since the last act, for expectations.
    private var heard: [LabStatus] = []
    private var seenOfHeard = 0
    private var attemptsSinceAct = 0
    private var status = LabStatus(state: ConnectionStatus.State.initialized.rawValue)
    private var roundTrip: Duration?
    private var queued = 0

    private var lastNumber = 0
    private var recordingBegan = LabTime.zero
    private var isEnding = false

    private struct Lasting {
        let act: LabAct
        /// Tells it from a later one of the same act.
        let number: UInt64
        /// When it ends automatically; nil if it does not.
        var end: LabTime?
    }

    /// The lasting faults, in the order in which they began.
    private var lasting: [Lasting] = []
    private var lastBeginning: UInt64 = 0
    /// The current faults of the link.
    private var conditions: [LabAct] { lasting.map(\.act).filter(\.name.isCondition) }
    /// Whether the client's reader is paused.
    private var isPaused = false
    private var watch: Task<Void, Never>?
    private var reading: Task<Void, Never>?
    /// Acts that send or end automatically, and messages whose outcome is awaited.
    private var underWay: [UInt64: (isAct: Bool, task: Task<Void, Never>)] = [:]
    private var nextTask: UInt64 = 0
    /// The minimum time for an expectation in a run that is faster than real time.
    private static let leastPatience = Duration.seconds(15)
    /// The maximum number of statuses kept since an act.
    private static let mostHeard = 1_000
    /// The interval of polling.
    private static let step = Duration.milliseconds(5)

    /// - Parameters:
    ///   - subject: the client under test; nil if it is another program, of which nothing is known.
    ///   - link: its link; nil if no fault can be injected into it.
    ///   - server: the server's side; nil on networks that Parley did not start.
    ///   - writer: the client's name as a writer, which no other run uses on this topic.
    ///   - tell: receives each event.
    public init(
        subject: (any LabSubject)?, link: (any LabLink)?, server: (any LabServerSide)?, topic: String = "lab",
        writer: String, heading: LabHeading, tell: @escaping @Sendable (LabEvent) -> Void = { _ in }
    ) {
        self.init(subject, link, server, topic, writer, heading, SystemTime(), tell)
    }

    package init(
        _ subject: (any LabSubject)?, _ link: (any LabLink)?, _ server: (any LabServerSide)?, _ topic: String,
        _ writer: String, _ heading: LabHeading, _ clock: any Timekeeper,
        _ tell: @escaping @Sendable (LabEvent) -> Void = { _ in }
    ) {
        (self.subject, self.link, self.server) = (subject, link, server)
        (self.topic, self.writer, self.heading) = (topic, writer, heading)
        (self.clock, self.tell) = (clock, tell)
        start = clock.now
    }

    /// The time since the start.
    public var now: LabTime { LabTime(start.duration(to: clock.now)) }

    /// Runs a scenario and returns the finished run. A nil speed-up factor stands for the scenario's own.
    public func run(_ scenario: LabScenario, speed: Double? = nil) async -> LabRun {
        await begin()
        await act(scenario, speed: speed)
        if Task.isCancelled { add(.failed("The run was interrupted.")) }
        return await end()
    }

    /// Carries out the steps of a scenario, with a speed as for ``run(_:speed:)``.
    public func act(_ scenario: LabScenario, speed: Double? = nil) async {
        let speed = speed ?? scenario.speed
        let begin = clock.now
        for step in scenario.steps {
            guard run.failure == nil, !Task.isCancelled else { return }
            if let after = step.after { try? await clock.sleep(for: after / speed) }
            if let at = step.at { try? await clock.sleep(until: begin + at / speed) }
            guard !Task.isCancelled else { return }
            switch step.kind {
            case .act(var act, let lasting):
                act.every = act.every / speed
                do { try await perform(act, lasting: lasting.map { $0 / speed }) } catch {
                    add(.failed("“\(act.name.rawValue)” could not be done: \(error)"))
                }
            case .expectation(let expectation, let within):
                // The machine itself is no faster.
                let least = speed <= 1 ? .zero : min(within, Self.leastPatience)
                await expect(expectation, within: max(within / speed, least))
            }
        }
    }

    /// Follows the topic and connects.
    public func begin(connects: Bool = true) async {
        add(.began(heading))
        guard let subject else { return }
        let statuses = subject.statuses
        watch = Task { [weak self] in
            for await status in statuses { await self?.hear(status) }
        }
        do {
            if let reader = try await subject.read(topic: topic) {
                reading = Task { [weak self] in await self?.read(reader) }
            }
        } catch {
            add(.failed("The topic \(topic) cannot be followed: \(error)"))
        }
        if connects { await subject.connect() }
    }

    /// Removes every fault, waits until sent messages have their outcomes and are delivered, and closes the client.
    ///
    /// - Parameters:
    ///   - waits: whether to finish sending, and let faults with a time run out, before any is removed.
    ///   - settle: called after every fault has ended, to wait for messages of others.
    public func end(
        patience: Duration = .seconds(15), waits: Bool = true, settle: @Sendable () async -> Void = {}
    ) async -> LabRun {
        isEnding = true
        while waits, underWay.values.contains(where: \.isAct), await pause() {}
        await undo()
        await settle()
        let limit = clock.now + patience
        while clock.now < limit {
            // An ended session delivers nothing more.
            let isOver = status.state == ConnectionStatus.State.disconnected.rawValue
            if run.ledger.unsettled.isEmpty, isOver || run.ledger.lost.isEmpty { break }
            guard await pause() else { break }
        }
        await subject?.close()
        // The client's pending messages have ended with it.
        let last = clock.now + .seconds(5)
        while underWay.values.contains(where: { !$0.isAct }), clock.now < last, await pause() {}
        for (_, task) in underWay.values { task.cancel() }
        watch?.cancel()
        reading?.cancel()
        let wasOver = run.isOver
        run.end(at: now)
        if let event = run.log.events.last, !wasOver { tell(event) }
        return run
    }

    /// The run so far, small enough for a screen.
    public var report: LabReport {
        LabReport(
            run, at: now,
            lasting: lasting.map { fault in
                let detail = fault.act.name.isCondition ? fault.act.detail : ""
                return LabReport.Lasting(name: fault.act.name, detail: detail, end: fault.end)
            })
    }

    /// Adds an event to the run, such as a message that another reader has delivered.
    public func add(_ kind: LabEvent.Kind) {
        let event = LabEvent(at: now, kind)
        guard !run.isOver else { return }
        run.take(event)
        tell(event)
    }

    /// Waits briefly; false if the task was cancelled.
    private func pause() async -> Bool { (try? await clock.sleep(for: Self.step)) != nil }

    /// The opposites of the lasting faults that are not of the link.
    public var opposites: [LabAct.Name] {
        lasting.compactMap { $0.act.name.isCondition ? nil : $0.act.name.opposite }
    }

    /// Records a requested reconnection, which a replay has to repeat.
    public func reconnected() { recording?.did(LabAct(.connect), lasting: nil, at: now - recordingBegan) }

    /// Records a scenario from now on. Times start now.
    public func record() {
        recording = LabRecording()
        recordingBegan = now
    }

    // MARK: Hearing

    private func hear(_ new: ConnectionStatus) {
        if let measured = new.roundTripTime, measured != roundTrip, new.state == .connected {
            add(.roundTrip(LabTime(measured)))
        }
        roundTrip = new.roundTripTime
        let next = LabStatus(
            state: new.state.rawValue, reason: new.reason?.labName, words: new.reason?.words, attempt: new.attempt,
            retryIn: new.nextRetryAt.map { LabTime(max(.zero, clock.now.duration(to: $0))) },
            isSilent: new.silentSince != nil)
        if next.isSilent != status.isSilent, next.state == status.state {
            // A silence does not meet expectations of a state.
            status = next
            return add(.status(next))
        }
        guard
            next.state != status.state || next.attempt != status.attempt || next.reason != status.reason
                || (next.retryIn == nil) != (status.retryIn == nil) || run.timeline.states.isEmpty
        else { return }
        if next.attempt > 0, next.retryIn == nil { attemptsSinceAct += 1 }
        status = next
        if heard.count < Self.mostHeard { heard.append(next) }
        add(.status(next))
        if !isEnding { recording?.heard(next, at: now - recordingBegan) }
        countQueued()
    }

    private func read(_ next: LabReader) async {
        while !Task.isCancelled {
            while isPaused, await pause() {}
            do {
                guard let delivery = try await next() else { return }
                // Other runs may write to the same topic.
                guard delivery.number.writer == writer else { continue }
                add(.received(delivery.number, isRecovered: delivery.isRecovered))
            } catch {
                return add(.note("The topic is no longer followed: \(error)"))
            }
        }
    }

    /// Updates the number of messages waiting or in flight. Events do so automatically; messages that someone else
    /// gives to the client are known to it only a moment later.
    public func countQueued() {
        guard let count = subject?.queuedCount, count != queued else { return }
        queued = count
        add(.queued(count))
    }

    // MARK: Acting

    /// Carries out an act, or throws why it cannot. A lasting fault ends after its time or by its opposite.
    public func perform(_ act: LabAct, lasting time: Duration? = nil) async throws {
        if act.name.needsNetwork, server == nil { throw LabActError.needsNetwork(act.name) }
        if act.name.isOfLink, link == nil { throw LabActError.needsLink(act.name) }
        (heard, seenOfHeard, attemptsSinceAct) = ([], 0, 0)
        recording?.did(act, lasting: time, at: now - recordingBegan)
        let beginning = begin(act)
        do { try await carryOut(act) } catch {
            // A failed act does not last and is not replayed.
            recording?.takeBack(act, lasting: time)
            over { $0.number == beginning }
            throw error
        }
        guard let time, let index = lasting.firstIndex(where: { $0.number == beginning }) else { return }
        let moment = clock.now + time
        lasting[index].end = now + LabTime(time)
        keep(isAct: true) { session, clock in
            if (try? await clock.sleep(until: moment)) != nil { await session.hasLasted(beginning) }
        }
    }

    /// Adds a fault before it is carried out, so that its consequences follow it; returns the number of a fault.
    private func begin(_ act: LabAct) -> UInt64? {
        let name = act.name
        // An act ends its opposite, and a repeated one replaces the first.
        over { $0.act.name.opposite == name || $0.act.name == name }
        guard name.isFault else { return nil }
        let lasts = name.opposite != nil
        add(.fault(LabFault(name.rawValue, detail: act.detail, lasts ? .began : .struck)))
        lastBeginning += 1
        if lasts { lasting.append(Lasting(act: act, number: lastBeginning)) }
        return lastBeginning
    }

    private func over(_ isMeant: (Lasting) -> Bool) {
        for fault in lasting where isMeant(fault) { add(.fault(LabFault(fault.act.name.rawValue, .ended))) }
        lasting.removeAll(where: isMeant)
    }

    private func hasLasted(_ beginning: UInt64?) async {
        if let fault = lasting.first(where: { $0.number == beginning }) { await end(fault) }
    }

    private func end(_ fault: Lasting) async {
        guard let opposite = fault.act.name.opposite else { return }
        over { $0.number == fault.number }
        do { try await carryOut(LabAct(opposite)) } catch {
            add(.failed("“\(fault.act.name.rawValue)” could not be ended: \(error)"))
        }
    }

    /// Ends all lasting faults, those of the link together and last.
    private func undo() async {
        for fault in lasting where !fault.act.name.isCondition { await end(fault) }
        guard !lasting.isEmpty else { return }
        over { _ in true }
        do { try await link?.set([]) } catch { add(.failed("The link could not be restored: \(error)")) }
    }

    private func carryOut(_ act: LabAct) async throws {
        switch act.name.row.deed {
        case .condition, .restore: try await link?.set(conditions)
        case .strike, .message: try await link?.strike(act)
        case .server, .administrator: try await server?.perform(act)
        case .client(let body): if let subject { try await body(subject, act) }
        case .send: send(act)
        case .reading(let isPaused): self.isPaused = isPaused
        }
    }

    // MARK: Sending

    private func send(_ act: LabAct) {
        keep(isAct: true) { session, clock in
            var next = clock.now
            for _ in 0..<act.count {
                await session.sendOne()
                next += act.every
                if act.every > .zero, (try? await clock.sleep(until: next)) == nil { break }
            }
        }
    }

    /// Makes the client send a message.
    public func sendOne() async {
        lastNumber += 1
        guard let subject, let number = LabNumber(writer: writer, value: lastNumber) else { return }
        add(.sent(number))
        do {
            let outcome = try await subject.send(number, topic: topic)
            keep(isAct: false) { session, _ in await session.ended(number, await outcome()) }
        } catch {
            add(.notSent(number, reason: "\(error)"))
        }
        countQueued()
    }

    /// Counts a message that someone else gives to the client, such as a person who types, as sent by this session.
    /// Returns its number, or nil if the maximum is reached.
    public func handedOver() -> LabNumber? {
        guard !run.isOver, let number = LabNumber(writer: writer, value: lastNumber + 1) else { return nil }
        lastNumber += 1
        recording?.did(LabAct(.send), lasting: nil, at: now - recordingBegan)
        add(.sent(number))
        countQueued()
        return number
    }

    /// Records the outcome of a message.
    public func ended(_ number: LabNumber, _ outcome: LabOutcome) {
        switch outcome {
        case .acknowledged: add(.acknowledged(number))
        case .notSent(let reason): add(.notSent(number, reason: reason))
        case .uncertain: add(.uncertain(number))
        }
        countQueued()
    }

    private func keep(isAct: Bool, _ body: @escaping @Sendable (LabSession, any Timekeeper) async -> Void) {
        nextTask += 1
        let (number, clock) = (nextTask, clock)
        let task = Task { [weak self] in
            guard let self else { return }
            await body(self, clock)
            await self.forget(number)
        }
        underWay[number] = (isAct, task)
    }

    private func forget(_ number: UInt64) { underWay[number] = nil }

    // MARK: Expecting

    /// Waits until the expectation is met or patience ends.
    @discardableResult
    public func expect(_ expectation: LabExpectation, within patience: Duration) async -> LabExpectationResult {
        let began = now
        let limit = clock.now + patience
        var instead = instead(of: expectation)
        while !instead.isEmpty, clock.now < limit, run.failure == nil, await pause() {
            instead = self.instead(of: expectation)
        }
        let result = LabExpectationResult(
            words: expectation.words, isMet: instead.isEmpty, took: now - began,
            instead: instead.isEmpty ? nil : instead.joined(separator: ", "))
        add(.expectation(result))
        return result
    }

    /// What differs from the expectation; empty if nothing does.
    private func instead(of expectation: LabExpectation) -> [String] {
        var words = expectation.unmet(by: run.ledger.figures)
        if let attempts = expectation.attempts, attemptsSinceAct < attempts {
            words.append("attempts \(attemptsSinceAct)")
        }
        guard expectation.status != nil || expectation.reason != nil else { return words }
        func fits(_ status: LabStatus) -> Bool {
            (expectation.status.map { $0.rawValue == status.state } ?? true)
                && (expectation.reason.map { $0 == status.reason } ?? true)
        }
        // A momentary status counts too.
        guard let index = heard[seenOfHeard...].firstIndex(where: fits) else {
            return fits(status)
                ? words : ["status \(status.state)" + (status.reason.map { ", reason \($0)" } ?? "")] + words
        }
        // Once met, the next expectation starts there.
        if words.isEmpty { seenOfHeard = index }
        return words
    }
}

/// Why an act is not possible.
public enum LabActError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It affects the server or is the administrator's, and Parley did not start the network.
    case needsNetwork(LabAct.Name)
    /// It affects the link, and there is none.
    case needsLink(LabAct.Name)
    /// It affects the server itself, which others use too.
    case notHere(LabAct.Name)
    /// It affects single messages, and the link is encrypted.
    case encrypted(LabAct.Name)
    /// It affects the client's server, and the client is not connected.
    case needsConnection(LabAct.Name)

    /// A sentence.
    public var description: String {
        switch self {
        case .needsNetwork(let name):
            "“\(name.rawValue)” is for a network that Parley started; on others it is the administrator's affair."
        case .needsLink(let name): "“\(name.rawValue)” needs a link through the lab's proxy."
        case .notHere(let name): "“\(name.rawValue)” is not for a network that others use too."
        case .encrypted(let name):
            "“\(name.rawValue)” needs a link without TLS: the proxy cannot see encrypted messages."
        case .needsConnection(let name):
            "“\(name.rawValue)” is for the server that you are connected to, but you are not connected."
        }
    }
}
