import NATS
import TestSupport
import Testing

@Suite struct ConnectionMachinePropertyTests {
    private static let reasons: [ConnectionReason] = [
        .connectionLost("x"), .unreachable("x"), .networkUnavailable, .tlsFailure("x"), .unknown(7), .unknown(1_006),
        .connectionLost("y"), .unreachable("y"), .tokenExpired, .authenticationFailed("x"), .kicked(by: nil),
        .banned("x"), .unknown(4_100),
    ]

    /// What holds over a whole life, checked after every event.
    private struct Books {
        var status = ConnectionStatus.initialized
        var socket: UInt64?
        var newest: UInt64 = 0
        var timers: Set<ConnectionMachine.TimerID> = []
        var inSession = false
        var connectPending = false
        var announced: ConnectionEvent?
        var faults: [String] = []
        var sessions = 0

        mutating func expect(_ holds: Bool, _ fault: StaticString) {
            if !holds, faults.count < 10 { faults.append("\(fault), in \(status)") }
        }

        /// A call of connect: it opens a session unless one is open.
        mutating func noteConnect() {
            connectPending = true
            guard !inSession else { return }
            inSession = true
            announced = nil
            sessions += 1
        }

        /// - Parameter isConnect: whether the event was a call of connect, which may end an old session whose limit has
        ///   passed and open the next.
        mutating func note(_ actions: [ConnectionMachine.Action], isConnect: Bool) {
            for action in actions {
                switch action {
                case .dial(let generation, let attempt):
                    expect(inSession, "a dial outside a session")
                    expect(socket == nil, "a dial while there is a socket")
                    expect(generation == newest + 1 && attempt >= 1, "a dial out of order")
                    newest = generation
                    socket = generation
                case .restore(let generation): expect(socket == generation, "restore of a lost socket")
                case .probe(let generation): expect(socket == generation, "probe of a lost socket")
                case .renewCredentials(let generation):
                    expect(socket == nil && generation == newest, "renewal with an open socket")
                case .closeSocket(let generation): if socket == generation { socket = nil }
                case .startTimer(let id, _):
                    expect(!timers.contains { $0.kind == id.kind }, "two timers of a kind")
                    expect(inSession, "a timer outside a session")
                    timers.insert(id)
                case .cancelTimer(let id): expect(timers.remove(id) != nil, "cancelled a timer that does not run")
                case .publish(let next): noteStatus(next)
                case .event(let event): noteEvent(event)
                case .completeConnect(let reason):
                    expect(connectPending, "completed twice")
                    let isConnected = status.state == .connected
                    expect((reason == nil) == isConnected, "completed in the wrong state")
                    connectPending = false
                case .ended(let reason):
                    expect(!inSession && status.reason == reason, "an end within a session")
                    if isConnect { noteConnect() }
                }
            }
        }

        private mutating func noteStatus(_ next: ConnectionStatus) {
            expect(next != status, "published twice")
            if next.state != status.state {
                let isAllowed = status.state.successors.contains(next.state)
                expect(isAllowed, "an edge that is not allowed")
            }
            expect(
                next.nextRetryAt == nil || [.connecting, .reconnecting].contains(next.state),
                "a retry in the wrong state")
            expect(next.roundTripTime == nil || next.state == .connected, "a round trip in the wrong state")
            expect(next.silentSince == nil || next.state == .connected, "silence in the wrong state")
            expect(next.silentSince == nil || next.roundTripTime == nil, "a round trip of a silent server")
            status = next
        }

        private mutating func noteEvent(_ event: ConnectionEvent) {
            switch event {
            case .connected: expect(announced == nil, "CONNECTED twice")
            case .reconnecting: expect(announced == .connected || announced == .reconnected, "RECONNECTING again")
            case .reconnected: expect(announced == .reconnecting, "RECONNECTED without an outage")
            case .reconnectFailed: expect(announced == .reconnecting, "RECONN_FAILED without an outage")
            case .disconnected:
                expect(inSession && announced != .disconnected, "DISCONNECTED twice")
                inSession = false
            }
            announced = event
        }
    }

    @Test(
        "B11, B13, B16, B17, B20: 120,000 random events never break a rule", .processorBound,
        arguments: [ReconnectPolicy.parley, .relayx, .rongcloud, .supabase]
    ) func randomLife(_ policy: ReconnectPolicy) async {
        var random = SeededGenerator(seed: 11)
        var machine = ConnectionMachine(policy: policy, seed: 12)
        var books = Books()
        var now = ContinuousClock.now
        var reached: Set<ConnectionStatus.State> = []
        for step in 0..<30_000 {
            if step % 1_000 == 0 { await Task.yield() }
            now += .milliseconds(Int64.random(in: 0...2_000, using: &random) << Int64.random(in: 0...4, using: &random))
            let event = randomEvent(&random, machine, books)
            var isConnect = false
            switch event {
            case .connectRequested:
                isConnect = true
                books.noteConnect()
            case .connectionFailed(let generation, _, _, _), .credentialsNeeded(let generation, _):
                if books.socket == generation { books.socket = nil }
            case .timerFired(let id): books.timers.remove(id)
            default: break
            }
            books.note(machine.handle(event, at: now), isConnect: isConnect)
            let isPublished = machine.status == books.status
            let isTimed = machine.runningTimers == books.timers
            books.expect(isPublished, "a status was not published")
            books.expect(isTimed, "the timers differ")
            if !books.inSession {
                let isClean = books.timers.isEmpty && books.socket == nil
                let isResting = books.status.state == .initialized || books.status.state == .disconnected
                books.expect(isClean && isResting, "something survived the session")
            }
            reached.insert(machine.status.state)
            if !books.faults.isEmpty { break }
        }
        #expect(books.faults == [])
        #expect(reached == Set(ConnectionStatus.State.allCases) && books.sessions > 100)
    }

    private func randomEvent(
        _ random: inout SeededGenerator,
        _ machine: ConnectionMachine,
        _ books: Books
    ) -> ConnectionMachine.Event {
        // Mostly the present generation, sometimes an older or an impossible one.
        let stale = Int.random(in: 0..<6, using: &random) == 0
        let generation = stale ? UInt64.random(in: 0...(machine.generation + 1), using: &random) : machine.generation
        let reason = Self.reasons[Int.random(in: 0..<Self.reasons.count, using: &random)]
        switch Int.random(in: 0..<35, using: &random) {
        case 0: return .connectRequested(timeLimit: nil)
        case 1: return .connectRequested(timeLimit: .seconds(Int64.random(in: -1...60, using: &random)))
        case 2...7: return .dialSucceeded(generation: generation)
        case 8...13: return .restored(generation: generation)
        case 14...18: return .connectionFailed(generation: generation, reason: reason)
        case 19: return .disconnectRequested
        case 20: return .suspendRequested
        case 21, 22: return .resumeRequested
        case 23: return .networkLost
        case 24: return .networkReturned
        case 25: return .nudged
        case 26: return .roundTrip(generation: generation, .milliseconds(Int64.random(in: 0...9, using: &random)))
        case 27: return .serverControl(generation: generation, reason: reason)
        case 28: return .credentialsRenewed(generation: generation)
        case 29: return .credentialsUnavailable(generation: generation)
        case 30: return .silence(generation: generation, since: Bool.random(using: &random) ? .now : nil)
        case 31, 32: return .credentialsNeeded(generation: generation, reason: reason)
        default:
            let late = ConnectionMachine.TimerID(kind: .retry, serial: UInt64.random(in: 0...5, using: &random))
            let running = books.timers.sorted { $0.serial < $1.serial }
            return .timerFired(stale ? late : running.randomElement(using: &random) ?? late)
        }
    }
}
