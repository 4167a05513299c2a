import NATS

/// Plays a driver without sockets and clocks: it carries the machine's actions out on paper and keeps the books.
package struct MachineDriver {
    package var machine: ConnectionMachine
    package private(set) var now = ContinuousClock.now
    package private(set) var timers: [ConnectionMachine.TimerID: ContinuousClock.Instant] = [:]
    package private(set) var sockets: Set<UInt64> = []
    package private(set) var dials: [UInt64] = []
    package private(set) var events: [ConnectionEvent] = []
    package private(set) var statuses: [ConnectionStatus] = []
    package private(set) var completions: [ConnectionReason?] = []
    package private(set) var ends: [ConnectionReason] = []
    package private(set) var probes = 0
    package private(set) var renewals = 0

    package init(_ policy: ReconnectPolicy = .rongcloud, seed: UInt64 = 1) {
        machine = ConnectionMachine(policy: policy, seed: seed)
    }

    package var status: ConnectionStatus { machine.status }
    package var state: ConnectionStatus.State { machine.status.state }
    package var generation: UInt64 { machine.generation }
    package var waiting: Duration? { status.nextRetryAt.map { $0 - now } }

    @discardableResult
    package mutating func handle(_ event: ConnectionMachine.Event) -> [ConnectionMachine.Action] {
        switch event {
        case .connectionFailed(let generation, _, _, _), .credentialsNeeded(let generation, _):
            sockets.remove(generation)
        default: break
        }
        let actions = machine.handle(event, at: now)
        for action in actions {
            switch action {
            case .dial(let generation, _):
                dials.append(generation)
                sockets.insert(generation)
            case .closeSocket(let generation): sockets.remove(generation)
            case .startTimer(let id, let moment): timers[id] = moment
            case .cancelTimer(let id): timers[id] = nil
            case .publish(let status): statuses.append(status)
            case .event(let event): events.append(event)
            case .completeConnect(let reason): completions.append(reason)
            case .ended(let reason): ends.append(reason)
            case .probe: probes += 1
            case .renewCredentials: renewals += 1
            case .restore: break
            }
        }
        return actions
    }

    /// Lets time pass, firing the timers that fall due in their order.
    package mutating func advance(_ duration: Duration) {
        let end = now + duration
        while let (id, moment) = timers.min(by: { $0.value < $1.value }), moment <= end {
            now = max(now, moment)
            timers[id] = nil
            handle(.timerFired(id))
        }
        now = end
    }

    /// Lets time pass while nothing can run, as when a laptop sleeps.
    package mutating func sleep(_ duration: Duration) { now += duration }

    /// Fires whatever is due, in the opposite of its order.
    package mutating func fireLate() {
        for (id, moment) in timers.sorted(by: { $0.value > $1.value }) where moment <= now && timers[id] != nil {
            timers[id] = nil
            handle(.timerFired(id))
        }
    }

    package mutating func connect(limit: Duration? = nil) { handle(.connectRequested(timeLimit: limit)) }

    /// The present dial succeeds and everything is restored.
    package mutating func succeed() {
        handle(.dialSucceeded(generation: generation))
        handle(.restored(generation: generation))
    }

    package mutating func fail(_ reason: ConnectionReason = .unreachable("refused")) {
        handle(.connectionFailed(generation: generation, reason: reason))
    }

    /// The present dial or connection fails, and other credentials are asked for.
    package mutating func needCredentials(_ reason: ConnectionReason = .tokenExpired) {
        handle(.credentialsNeeded(generation: generation, reason: reason))
    }

    /// A driver whose machine has been connected for a minute.
    package static func connected(_ policy: ReconnectPolicy = .rongcloud) -> MachineDriver {
        var driver = MachineDriver(policy)
        driver.connect()
        driver.succeed()
        driver.advance(.seconds(60))
        return driver
    }
}

extension ConnectionReason {
    /// The limit that was not kept, whatever was in the way.
    package var timeLimit: Duration? { if case .timeLimit(let limit, _) = self { limit } else { nil } }

    /// What was in the way of keeping a limit.
    package var hindrance: ConnectionReason? { if case .timeLimit(_, let cause) = self { cause } else { nil } }
}
