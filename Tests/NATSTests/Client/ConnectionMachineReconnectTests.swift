import NATS
import TestSupport
import Testing

@Suite struct ConnectionMachineReconnectTests {
    /// The waits before the first retries of an outage.
    private func waits(_ policy: ReconnectPolicy, count: Int) -> [Duration] {
        var driver = MachineDriver.connected(policy)
        var waits: [Duration] = []
        for _ in 0..<count {
            driver.fail()
            waits.append(driver.waiting ?? .seconds(-1))
            driver.advance(waits.last ?? .zero)
        }
        return waits
    }

    @Test("B14: the presets wait as their systems do")
    func schedules() {
        #expect(
            waits(.rongcloud, count: 12)
                == [0.05, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 64, 64].map { Duration.milliseconds(Int($0 * 1_000)) }
        )
        #expect(waits(.supabase, count: 6) == [7, 14, 28, 30, 30, 30].map { Duration.seconds($0) })
        #expect(waits(.relayx, count: 5) == Array(repeating: .seconds(1), count: 5))
    }

    @Test("B15: jitter can be repeated, is real and bounded, and the compatible presets have none")
    func jitter() {
        var first = SeededGenerator(seed: 9)
        var second = SeededGenerator(seed: 9)
        var seen: Set<Duration> = []
        for attempt in 1...2_000 {
            let wait = ReconnectPolicy.parley.delay(attempt: attempt, using: &first)
            #expect(wait == ReconnectPolicy.parley.delay(attempt: attempt, using: &second))
            #expect(wait >= .zero && wait <= .seconds(30))
            seen.insert(wait)
        }
        #expect(seen.count > 1_900)
        #expect(seen.contains { $0 < .seconds(5) } && seen.contains { $0 > .seconds(25) })
        for policy in [ReconnectPolicy.relayx, .rongcloud, .supabase] { #expect(policy.jitter == .none) }
        #expect(ReconnectPolicy(schedule: []).delay(attempt: 0, using: &first) == .zero)
        #expect(ReconnectPolicy.named("supabase") == .supabase && ReconnectPolicy.named("other") == nil)
    }

    @Test("B60: a failure that is over soon has a longer wait cut short, and leaves a shorter one")
    func soonOver() {
        var driver = MachineDriver.connected(.supabase)
        driver.fail()
        for _ in 0..<3 {
            driver.advance(driver.waiting ?? .zero)
            driver.handle(
                .connectionFailed(
                    generation: driver.generation, reason: .unreachable("full"), retryWithin: .seconds(10)))
            #expect(driver.waiting == .seconds(10))
        }
        var soon = MachineDriver.connected(.rongcloud)
        soon.handle(
            .connectionFailed(generation: soon.generation, reason: .unreachable("full"), retryWithin: .seconds(10)))
        #expect(soon.waiting == .milliseconds(50))
    }

    @Test("B13: one RECONNECTING and one RECONNECTED an outage, whatever the attempts")
    func eventsOfAnOutage() {
        var driver = MachineDriver.connected()
        for outage in 1...3 {
            for _ in 0..<7 {
                driver.fail()
                driver.advance(.seconds(64))
            }
            #expect(driver.status.attempt == 7)
            driver.handle(.dialSucceeded(generation: driver.generation))
            #expect(driver.state == .reconnecting)
            driver.handle(.restored(generation: driver.generation))
            #expect(driver.status == ConnectionStatus(state: .connected, recoveries: outage))
            driver.advance(.seconds(60))
        }
        #expect(
            driver.events == [.connected] + Array(repeating: [.reconnecting, .reconnected], count: 3).flatMap(\.self))
    }

    @Test("B13, B14: RelayX's window ends the outage after 120 s by the clock: RECONN_FAILED, then DISCONNECTED once")
    func window() {
        var driver = MachineDriver.connected(.relayx)
        let begin = driver.now
        driver.fail(.connectionLost("reset"))
        while driver.state == .reconnecting {
            #expect(driver.now - begin < .seconds(120))
            driver.advance(.milliseconds(250))
            if !driver.sockets.isEmpty { driver.fail() }
        }
        #expect(driver.now - begin == .seconds(120))
        #expect(driver.events == [.connected, .reconnecting, .reconnectFailed, .disconnected])
        #expect(driver.status.reason == .windowExpired && driver.ends == [.windowExpired])
        let dials = driver.dials.count
        driver.advance(.seconds(600))
        #expect(driver.dials.count == dials && driver.timers.isEmpty && driver.sockets.isEmpty)
    }

    @Test("B14: a window that passed while the machine slept ends the outage before anything is tried")
    func windowPassedInSleep() {
        var driver = MachineDriver.connected(.relayx)
        driver.fail()
        let dials = driver.dials
        driver.sleep(.seconds(3_600))
        driver.fireLate()
        driver.handle(.nudged)
        #expect(driver.dials == dials && driver.status.reason == .windowExpired && driver.timers.isEmpty)
        #expect(driver.events == [.connected, .reconnecting, .reconnectFailed, .disconnected])

        // Asking for a connection at that moment ends the old session and opens a new one.
        driver = MachineDriver.connected(.relayx)
        driver.fail()
        driver.sleep(.seconds(3_600))
        driver.connect()
        driver.succeed()
        #expect(driver.events == [.connected, .reconnecting, .reconnectFailed, .disconnected, .connected])
    }

    @Test("The initial connect has no window, and an outage that ends in time leaves none behind")
    func windowScope() {
        var driver = MachineDriver(.relayx)
        driver.connect()
        for _ in 0..<300 {
            driver.fail()
            driver.advance(.seconds(1))
        }
        #expect(driver.state == .connecting)
        driver.succeed()
        driver.fail()
        driver.advance(.seconds(1))
        driver.succeed()
        driver.advance(.seconds(600))
        #expect(driver.state == .connected && driver.timers.isEmpty)
    }

    @Test("After two minutes the status says that the outage is long, and the attempts go on")
    func longOutage() {
        var driver = MachineDriver.connected(.parley)
        driver.fail()
        let begin = driver.now
        #expect(driver.status.outageBegan == begin && !driver.status.isLongOutage)
        while driver.now - begin < .seconds(600) {
            #expect(driver.status.isLongOutage == (driver.now - begin >= .seconds(120)))
            #expect((driver.waiting ?? .zero) <= .seconds(30))
            driver.advance(.seconds(1))
            if !driver.sockets.isEmpty { driver.fail() }
        }
        #expect(driver.status.words.contains("long"))
        driver.advance(.seconds(30))
        driver.succeed()
        #expect(!driver.status.isLongOutage && driver.status.outageBegan == nil)
    }

    @Test("B16: a disconnect ends everything at once, in every state")
    func manualDisconnect() {
        var starts: [MachineDriver] = []
        var driver = MachineDriver(.relayx)
        driver.connect(limit: .seconds(60))
        starts.append(driver)
        driver.handle(.dialSucceeded(generation: 1))
        starts.append(driver)
        driver.fail()
        starts.append(driver)
        driver.advance(.seconds(1))
        driver.succeed()
        starts.append(driver)
        driver.fail()
        starts.append(driver)
        driver.advance(.seconds(1))
        starts.append(driver)
        driver.handle(.suspendRequested)
        starts.append(driver)
        driver.handle(.networkLost)
        driver.handle(.resumeRequested)
        starts.append(driver)
        for var driver in starts {
            let dials = driver.dials
            driver.handle(.disconnectRequested)
            #expect(driver.status.state == .disconnected && driver.status.reason == .closedByUser)
            #expect(driver.timers.isEmpty && driver.sockets.isEmpty)
            #expect(driver.handle(.disconnectRequested).isEmpty)
            for event in [
                .networkReturned, .resumeRequested, .suspendRequested, .nudged, .networkLost,
                .restored(generation: driver.generation),
                .connectionFailed(generation: driver.generation, reason: .connectionLost("")),
            ] as [ConnectionMachine.Event] {
                #expect(driver.handle(event).isEmpty)
            }
            driver.advance(.seconds(3_600))
            #expect(driver.dials == dials)
            #expect(driver.events.count { $0 == .disconnected } == 1 && !driver.events.contains(.reconnectFailed))
            #expect(driver.ends == [.closedByUser])
        }
        #expect(starts[0].machine.handleDisconnect().contains(.completeConnect(.closedByUser)))
        var untouched = MachineDriver()
        #expect(untouched.handle(.disconnectRequested).isEmpty && untouched.state == .initialized)
    }

    @Test("B19: without a network attempts pause with their count; its return tries at once, the schedule anew")
    func network() {
        var driver = MachineDriver.connected()
        for _ in 0..<5 {
            driver.fail()
            driver.advance(driver.waiting ?? .zero)
        }
        driver.fail()
        driver.handle(.networkLost)
        #expect(driver.status.attempt == 5 && driver.status.nextRetryAt == nil)
        #expect(driver.status.reason == .networkUnavailable)
        let dials = driver.dials.count
        driver.advance(.seconds(3_600))
        driver.handle(.nudged)
        #expect(driver.dials.count == dials && driver.status.attempt == 5)
        driver.handle(.networkReturned)
        #expect(driver.dials.count == dials + 1 && driver.status.attempt == 1)
        driver.fail()
        #expect(driver.waiting == .milliseconds(50))
    }

    @Test("B19: losing the network does not close a socket that works; its failure then waits for the network")
    func networkLostWhileConnected() {
        var driver = MachineDriver.connected()
        driver.handle(.networkLost)
        #expect(driver.state == .connected)
        driver.fail(.connectionLost(""))
        #expect(driver.state == .reconnecting && driver.waiting == nil)
        driver.advance(.seconds(100))
        #expect(driver.dials.count == 1)
        driver.handle(.networkReturned)
        driver.succeed()
        #expect(driver.state == .connected)
        driver.handle(.networkReturned)
        #expect(driver.probes == 1, "Another network may have broken the connection unnoticed")
    }

    @Test("B20: what a replaced socket says is ignored, and a dial that succeeds too late is closed")
    func generations() {
        var driver = MachineDriver.connected()
        driver.fail()
        driver.advance(.seconds(1))
        driver.succeed()
        let healthy = driver.status
        for event in [
            .connectionFailed(generation: 1, reason: .banned(nil)), .restored(generation: 1),
            .roundTrip(generation: 1, .seconds(9)), .serverControl(generation: 1, reason: .deactivated(nil)),
            .connectionFailed(generation: 3, reason: .connectionLost("")), .dialSucceeded(generation: 2),
            .restored(generation: 2),
        ] as [ConnectionMachine.Event] {
            #expect(driver.machine.handle(event, at: driver.now).isEmpty)
        }
        #expect(driver.status == healthy)
        #expect(driver.handle(.dialSucceeded(generation: 1)) == [.closeSocket(generation: 1)])
        driver.handle(.suspendRequested)
        #expect(driver.handle(.dialSucceeded(generation: 2)) == [.closeSocket(generation: 2)])
    }

    @Test("B61: silence is part of the status, with no round trip beside it, and changes no state")
    func silence() {
        var driver = MachineDriver.connected()
        driver.handle(.roundTrip(generation: 1, .milliseconds(4)))
        let events = driver.events
        let since = driver.now - .seconds(2)
        #expect(driver.handle(.silence(generation: 2, since: since)).isEmpty)
        driver.handle(.silence(generation: 1, since: since))
        #expect(driver.state == .connected && driver.status.silentSince == since && driver.status.roundTripTime == nil)
        #expect(driver.status.words == "Connected, but the server is not answering.")
        driver.handle(.silence(generation: 1, since: nil))
        #expect(driver.status.silentSince == nil && driver.status.words == "Connected.")
        // An answer ends it too, and so does the end of the connection, of which alone RelayX's events tell.
        driver.handle(.silence(generation: 1, since: since))
        driver.handle(.roundTrip(generation: 1, .seconds(3)))
        #expect(driver.status.silentSince == nil && driver.status.roundTripTime == .seconds(3))
        driver.handle(.silence(generation: 1, since: since))
        #expect(driver.events == events)
        driver.fail()
        #expect(driver.state == .reconnecting && driver.status.silentSince == nil)
        #expect(driver.handle(.silence(generation: 1, since: since)).isEmpty)
    }

    @Test("B13 B43: RECONNECTED waits for topics that fail for a passing reason, and for no others")
    func failingSubscriptions() {
        var driver = MachineDriver.connected()
        driver.fail()
        driver.advance(.seconds(1))
        driver.handle(.dialSucceeded(generation: driver.generation))
        driver.handle(.followingChanged(failing: ["room", "secret"], isComplete: false))
        driver.handle(.restored(generation: driver.generation))
        #expect(driver.state == .connected && driver.status.failingSubscriptions == ["room", "secret"])
        #expect(driver.events == [.connected, .reconnecting])
        driver.handle(.followingChanged(failing: ["secret"], isComplete: true))
        #expect(driver.status.failingSubscriptions == ["secret"])
        #expect(driver.events == [.connected, .reconnecting, .reconnected])
        // A topic that fails later is named, and says nothing about the connection.
        driver.handle(.followingChanged(failing: ["room", "secret"], isComplete: false))
        driver.handle(.followingChanged(failing: [], isComplete: true))
        #expect(driver.status.failingSubscriptions == [] && driver.events.count == 3)
    }

    @Test("B40: a reader that is too slow shows in the status of its connection")
    func slowReader() {
        var driver = MachineDriver.connected()
        driver.handle(.readerFellBehind(generation: 1))
        driver.handle(.readerFellBehind(generation: 1))
        #expect(driver.status.slowReaders == 2 && driver.state == .connected)
        driver.fail()
        driver.handle(.readerFellBehind(generation: 1))
        #expect(driver.status.slowReaders == 0)
    }

    @Test("B13 B43: an outage that comes before all topics are live is the same one, and reported once")
    func secondOutage() {
        var driver = MachineDriver.connected()
        for _ in 0..<2 {
            driver.fail()
            driver.advance(.seconds(1))
            driver.handle(.dialSucceeded(generation: driver.generation))
            driver.handle(.followingChanged(failing: ["room"], isComplete: false))
            driver.handle(.restored(generation: driver.generation))
        }
        #expect(driver.events == [.connected, .reconnecting])
        driver.fail()
        driver.advance(.seconds(1))
        driver.succeed()
        #expect(driver.events == [.connected, .reconnecting, .reconnected] && driver.status.failingSubscriptions == [])
    }

    @Test("A key tries at once and keeps the count; keys in a row keep their distance")
    func nudge() {
        var driver = MachineDriver.connected()
        for _ in 0..<6 {
            driver.fail()
            driver.advance(driver.waiting ?? .zero)
        }
        driver.fail()
        #expect(driver.waiting == .seconds(8))
        driver.advance(.seconds(1))
        driver.handle(.nudged)
        #expect(driver.dials.count == 8 && driver.status.attempt == 7)
        driver.handle(.nudged)
        #expect(driver.dials.count == 8, "Nothing is nudged while an attempt runs")
        driver.fail()
        #expect(driver.waiting == .seconds(16))
        driver.handle(.nudged)
        #expect(driver.waiting == .milliseconds(500))
        driver.advance(.milliseconds(500))
        #expect(driver.dials.count == 9)
    }

    @Test("A connection that never lasts does not start the schedule anew")
    func flapping() {
        var driver = MachineDriver(.rongcloud)
        driver.connect()
        var waits: [Duration] = []
        for _ in 0..<6 {
            driver.succeed()
            driver.fail(.connectionLost("reset"))
            waits.append(driver.waiting ?? .zero)
            driver.advance(waits.last ?? .zero)
        }
        #expect(waits == [50, 250, 500, 1_000, 2_000, 4_000].map { Duration.milliseconds($0) })
        driver.succeed()
        driver.advance(.seconds(5))
        driver.fail()
        #expect(driver.waiting == .milliseconds(50))
    }

    @Test("B22, B23: the background ends an attempt; the foreground tries at once with the schedule anew")
    func background() {
        var driver = MachineDriver.connected()
        for _ in 0..<6 {
            driver.fail()
            driver.advance(driver.waiting ?? .zero)
        }
        driver.handle(.suspendRequested)
        #expect(driver.state == .suspended && driver.status.reason == .backgrounded)
        #expect(driver.timers.isEmpty && driver.sockets.isEmpty)
        let dials = driver.dials.count
        driver.advance(.seconds(3_600))
        driver.handle(.nudged)
        driver.handle(.networkReturned)
        #expect(driver.dials.count == dials)
        driver.handle(.resumeRequested)
        #expect(driver.dials.count == dials + 1 && driver.state == .reconnecting && driver.status.attempt == 1)
        driver.handle(.suspendRequested)
        driver.handle(.dialSucceeded(generation: driver.generation))
        #expect(driver.state == .suspended && driver.sockets.isEmpty)
        driver.handle(.resumeRequested)
        driver.fail()
        #expect(driver.waiting == .milliseconds(50))
        driver.advance(.milliseconds(50))
        driver.succeed()
        #expect(driver.events == [.connected, .reconnecting, .reconnected])
    }

    @Test("A suspension before the first connection keeps connect's callers and their limit")
    func suspendedWhileConnecting() {
        var driver = MachineDriver()
        driver.connect(limit: .seconds(60))
        driver.handle(.suspendRequested)
        driver.handle(.resumeRequested)
        #expect(driver.state == .connecting)
        driver.succeed()
        #expect(driver.events == [.connected] && driver.completions == [nil])

        driver = MachineDriver()
        driver.connect(limit: .seconds(60))
        driver.handle(.suspendRequested)
        driver.advance(.seconds(60))
        #expect(driver.completions == [.timeLimit(.seconds(60))])
        #expect(driver.statuses.map(\.state) == [.connecting, .suspended, .disconnected])
    }

    @Test("B11: connect in the background wakes the connection")
    func connectWhileSuspended() {
        var driver = MachineDriver.connected()
        driver.handle(.suspendRequested)
        driver.connect()
        driver.succeed()
        #expect(driver.state == .connected && driver.completions == [nil, nil])
    }
}

extension ConnectionMachine {
    fileprivate func handleDisconnect() -> [Action] {
        var copy = self
        return copy.handle(.disconnectRequested, at: .now)
    }
}
