import NATS
import TestSupport
import Testing

@Suite struct ConnectionMachineConnectTests {
    @Test("B7: callers of connect share one dial and one outcome")
    func coalesced() {
        var driver = MachineDriver()
        for _ in 0..<10 { driver.connect() }
        #expect(driver.dials == [1])
        driver.handle(.dialSucceeded(generation: 1))
        driver.connect()
        #expect(driver.completions.isEmpty)
        driver.handle(.restored(generation: 1))
        #expect(driver.completions == [nil])
        driver.connect()
        #expect(driver.dials == [1] && driver.completions == [nil, nil])
    }

    @Test("B11, B13: connected is reached only after subscriptions and outbox are restored")
    func connectedAfterRestore() {
        var driver = MachineDriver()
        driver.connect()
        #expect(driver.handle(.dialSucceeded(generation: 1)) == [.restore(generation: 1)])
        #expect(driver.state == .connecting && driver.events.isEmpty)
        driver.handle(.restored(generation: 1))
        #expect(driver.state == .connected && driver.events == [.connected])
        #expect(driver.timers.isEmpty)
        #expect(driver.status == ConnectionStatus(state: .connected))
    }

    @Test("B8: at exactly the time limit connect fails, and nothing is tried afterwards")
    func timeLimit() {
        var driver = MachineDriver()
        driver.connect(limit: .seconds(10))
        let begin = driver.now
        driver.fail()
        while driver.now - begin < .milliseconds(9_999) {
            driver.advance(.milliseconds(1))
            if driver.sockets.count == 1 { driver.fail() }
        }
        #expect(driver.state == .connecting)
        driver.advance(.milliseconds(1))
        let reason = ConnectionReason.timeLimit(.seconds(10), after: .unreachable("refused"))
        #expect(driver.status.reason == reason && driver.state == .disconnected)
        #expect(driver.completions == [reason])
        #expect(driver.events == [.disconnected])
        let dials = driver.dials
        driver.advance(.seconds(3_600))
        driver.handle(.nudged)
        driver.handle(.networkReturned)
        driver.handle(.resumeRequested)
        #expect(driver.dials == dials && driver.timers.isEmpty && driver.sockets.isEmpty)
    }

    @Test("B8: where every attempt would fail alike, a session that was never connected ends, and another one goes on")
    func hopeless() {
        let reason = ConnectionReason.tlsFailure("set tlsFirst")
        var driver = MachineDriver()
        driver.connect(limit: .seconds(60))
        driver.handle(.connectionFailed(generation: driver.generation, reason: reason, isHopeless: true))
        #expect(driver.status == ConnectionStatus(state: .disconnected, reason: reason))
        #expect(driver.completions == [reason] && driver.timers.isEmpty)

        var connected = MachineDriver.connected()
        connected.fail()
        connected.advance(.seconds(64))
        connected.handle(.connectionFailed(generation: connected.generation, reason: reason, isHopeless: true))
        #expect(connected.state == .reconnecting && connected.status.nextRetryAt != nil)
    }

    @Test("B8: without a limit, attempts go on for ever", arguments: [nil, .zero, .seconds(-1)] as [Duration?])
    func noLimit(_ limit: Duration?) {
        var driver = MachineDriver()
        driver.connect(limit: limit)
        for _ in 0..<500 {
            driver.fail()
            driver.advance(.seconds(64))
        }
        #expect(driver.dials.count == 501 && driver.state == .connecting && driver.completions.isEmpty)
    }

    @Test("The earliest limit of several callers holds; success before it cancels it")
    func severalLimits() {
        var driver = MachineDriver()
        driver.connect(limit: .seconds(30))
        driver.connect(limit: .seconds(5))
        driver.connect(limit: .seconds(60))
        #expect(driver.timers.count == 2)
        driver.succeed()
        driver.advance(.seconds(100))
        #expect(driver.state == .connected && driver.completions == [nil])

        driver = MachineDriver()
        driver.connect(limit: .seconds(30))
        driver.connect(limit: .seconds(5))
        driver.advance(.seconds(5))
        #expect(driver.status.reason?.timeLimit == .seconds(5))
    }

    @Test(
        "B8: a limit that passes says what the last attempt failed with",
        arguments: [
            .unreachable("nothing answers at 127.0.0.1:1"), .unreachable("the host has no address"),
            .tlsFailure("unknown authority"), .connectionLost("nobody answers"), .networkUnavailable,
        ] as [ConnectionReason])
    func causeOfTimeLimit(_ cause: ConnectionReason) {
        for isDialing in [false, true] where cause != .networkUnavailable || !isDialing {
            var driver = MachineDriver(ReconnectPolicy(schedule: [.seconds(isDialing ? 1 : 60)]))
            driver.connect(limit: .seconds(5))
            if cause == .networkUnavailable { driver.handle(.networkLost) }
            driver.fail(cause)
            driver.advance(.seconds(5))
            #expect(driver.status.reason == .timeLimit(.seconds(5), after: cause), "\(isDialing)")
            let detail = cause == .networkUnavailable ? "There is no network." : cause.words
            #expect(
                driver.completions.first??.words == "No connection within 5 seconds. \(detail)\(Self.advice(cause))")
        }
    }

    private static func advice(_ cause: ConnectionReason) -> String {
        cause == .networkUnavailable ? " Connect again when it is back." : ""
    }

    @Test("B8: a limit that passes during the first attempt says what was waited for")
    func firstAttemptAtTimeLimit() {
        var driver = MachineDriver()
        driver.connect(limit: .seconds(5))
        driver.advance(.seconds(5))
        #expect(driver.status.reason?.hindrance == .unreachable("no server has answered yet"))

        driver = MachineDriver()
        driver.connect(limit: .seconds(5))
        driver.handle(.dialSucceeded(generation: 1))
        driver.advance(.seconds(5))
        #expect(driver.status.reason?.words.contains("took the login") == true)
    }

    @Test(
        "B5, B17: a final reason ends the session at once, at every step of it",
        arguments: [
            .invalidCredentials(""), .authenticationFailed("x"), .tokenExpired, .credentialsRevoked("lost"),
            .kicked(by: "root"),
            .kickedByOtherDevice("phone"), .banned(nil), .appBlocked(nil), .deactivated(nil), .proxyUnavailable(""),
            .unknown(4_000), .unknown(4_999),
        ] as [ConnectionReason]
    ) func finalReasons(_ reason: ConnectionReason) {
        #expect(reason.isFinal)
        for step in 0..<3 {
            var driver = MachineDriver(.relayx)
            driver.connect()
            if step > 0 { driver.handle(.dialSucceeded(generation: 1)) }
            if step > 1 { driver.handle(.restored(generation: 1)) }
            driver.fail(reason)
            #expect(driver.status == ConnectionStatus(state: .disconnected, reason: reason))
            #expect(driver.events == (step > 1 ? [.connected, .disconnected] : [.disconnected]))
            #expect(driver.ends == [reason])
            driver.advance(.seconds(1_000))
            driver.handle(.nudged)
            #expect(driver.dials == [1] && driver.timers.isEmpty && driver.sockets.isEmpty)
        }
    }

    @Test(
        "B14: other reasons are retried",
        arguments: [
            .connectionLost(""), .unreachable(""), .networkUnavailable, .tlsFailure(""), .store(""), .unknown(1_006),
            .unknown(3_999), .unknown(5_000),
        ] as [ConnectionReason]
    ) func passingReasons(_ reason: ConnectionReason) {
        var driver = MachineDriver.connected()
        driver.fail(reason)
        driver.advance(.seconds(1))
        #expect(
            driver.dials == [1, 2] && driver.state == .reconnecting
                && driver.status.reason == (reason == .networkUnavailable ? nil : reason))
    }

    @Test("B18: the administrator's word before the socket closes is the reason the client shows")
    func control() {
        var driver = MachineDriver.connected()
        driver.handle(.serverControl(generation: 1, reason: .kickedByOtherDevice("laptop")))
        driver.fail(.connectionLost("closed"))
        #expect(driver.status.reason == .kickedByOtherDevice("laptop"))
        #expect(driver.events == [.connected, .disconnected])
        #expect(driver.sockets.isEmpty)

        driver.connect()
        driver.succeed()
        driver.handle(.serverControl(generation: 1, reason: .banned(nil)))
        #expect(driver.state == .connected, "A word from an older socket does not count")
        driver.handle(.serverControl(generation: 2, reason: .store("low on space")))
        #expect(driver.state == .connected, "A word that is not final ends nothing")
    }

    @Test("B5: nothing is dialled while another token is asked for, and at once when it has come")
    func renewal() {
        var driver = MachineDriver(.rongcloud)
        driver.connect()
        for (round, reason) in [ConnectionReason.tokenExpired, .authenticationFailed("x")].enumerated() {
            driver.needCredentials(reason)
            #expect(driver.renewals == round + 1 && driver.state == .connecting && driver.status.reason == reason)
            driver.advance(.seconds(100))
            #expect(driver.dials.count == round + 1, "Nothing is dialled while the provider works")
            driver.handle(.credentialsRenewed(generation: driver.generation))
            #expect(driver.dials.count == round + 2)
        }
        driver.fail(.authenticationFailed("y"))
        #expect(driver.status.reason == .authenticationFailed("y") && driver.state == .disconnected)
        #expect(driver.completions == [.authenticationFailed("y")])
    }

    @Test("B5, B6: a connection whose token ends is an outage; a failing provider ends the session without attempts")
    func renewalAfterConnection() {
        var driver = MachineDriver.connected(.rongcloud)
        driver.needCredentials()
        #expect(driver.state == .reconnecting && driver.events == [.connected, .reconnecting])
        #expect(driver.sockets.isEmpty)
        driver.handle(.credentialsRenewed(generation: 1))
        driver.succeed()
        driver.advance(.seconds(5))
        driver.needCredentials()
        #expect(driver.renewals == 2)
        driver.handle(.credentialsNeeded(generation: 1, reason: .tokenExpired))
        #expect(driver.renewals == 2, "A word from an older socket does not count")
        driver.handle(.credentialsUnavailable(generation: 1))
        #expect(driver.state == .reconnecting, "An answer for an older dial does not count")
        driver.handle(.credentialsUnavailable(generation: 2))
        driver.advance(.seconds(100))
        #expect(driver.state == .disconnected && driver.dials == [1, 2])
        driver.handle(.credentialsRenewed(generation: 2))
        #expect(driver.dials == [1, 2])
    }

    @Test("A new connect after the end opens a new session")
    func newSession() {
        var driver = MachineDriver.connected()
        driver.fail()
        driver.advance(.seconds(1))
        driver.succeed()
        #expect(driver.status.recoveries == 1)
        driver.handle(.disconnectRequested)
        driver.connect()
        driver.succeed()
        #expect(driver.events == [.connected, .reconnecting, .reconnected, .disconnected, .connected])
        #expect(driver.status.recoveries == 0)
    }
}
