import NATS
import Relay
import Testing

@Suite struct LifecycleMachineTests {
    /// Carries out the machine's actions on paper.
    struct Driver {
        var machine: LifecycleMachine
        var now = ContinuousClock.now
        var timer: (id: LifecycleMachine.TimerID, at: ContinuousClock.Instant)?
        var calls: [LifecycleMachine.Action] = []

        init(_ policy: LifecyclePolicy = .suspend(after: .seconds(120)), connected: Bool = true) {
            machine = LifecycleMachine(policy: policy)
            if connected { handle(.userConnected) }
        }

        mutating func handle(_ event: LifecycleMachine.Event) {
            for action in machine.handle(event, at: now) {
                switch action {
                case .startTimer(let id, let moment): timer = (id, moment)
                case .cancelTimer(let id): if timer?.id == id { timer = nil }
                case .suspend, .rest, .resume, .probe, .replace: calls.append(action)
                }
            }
        }

        mutating func advance(_ duration: Duration) {
            let end = now + duration
            if let (id, moment) = timer, moment <= end {
                now = moment
                timer = nil
                handle(.timerFired(id))
            }
            now = end
        }
    }

    @Test("B21: a quick look elsewhere costs nothing")
    func debounce() {
        var driver = Driver()
        driver.handle(.signal(.background))
        driver.advance(.milliseconds(999))
        driver.handle(.signal(.foreground))
        driver.advance(.seconds(1_000))
        #expect(driver.calls.isEmpty && driver.timer == nil)
    }

    @Test("B24: a client that never connected stays down")
    func neverConnected() {
        var driver = Driver(connected: false)
        driver.handle(.signal(.background))
        driver.advance(.seconds(1_000))
        driver.handle(.signal(.foreground))
        #expect(driver.calls.isEmpty)
    }

    @Test("B24: a disconnect stays, also one made in the background, before or after the suspension")
    func manualDisconnect() {
        var driver = Driver()
        driver.handle(.userDisconnected)
        driver.handle(.signal(.background))
        driver.advance(.seconds(1_000))
        driver.handle(.signal(.foreground))
        #expect(driver.calls.isEmpty)

        driver = Driver()
        driver.handle(.signal(.background))
        driver.advance(.seconds(10))
        driver.handle(.userDisconnected)
        #expect(driver.timer == nil)
        driver.advance(.seconds(1_000))
        driver.handle(.signal(.foreground))
        #expect(driver.calls.isEmpty)

        driver = Driver()
        driver.handle(.signal(.background))
        driver.advance(.seconds(1_000))
        driver.handle(.userDisconnected)
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend])
    }

    @Test("B25: a connection that was kept is probed once on return")
    func probe() {
        var driver = Driver(.ignore)
        driver.handle(.signal(.background))
        driver.advance(.seconds(30))
        driver.handle(.signal(.foreground))
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.probe] && driver.timer == nil)

        driver = Driver()
        driver.handle(.signal(.background))
        driver.advance(.seconds(60))
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.probe])
    }

    @Test("B27: a process that was stopped beyond its grace period probes on return; its late timer does nothing")
    func stopped() throws {
        var driver = Driver()
        driver.handle(.signal(.background))
        let late = try #require(driver.timer).id
        driver.now += .seconds(3_600)
        driver.handle(.signal(.foreground))
        driver.handle(.timerFired(late))
        #expect(driver.calls == [.probe] && !driver.machine.isSuspended)
    }

    @Test("A connect in the background gets a grace period of its own")
    func connectInBackground() {
        var driver = Driver(connected: false)
        driver.handle(.signal(.background))
        driver.handle(.userConnected)
        driver.advance(.seconds(120))
        #expect(driver.calls == [.suspend])
        driver.handle(.userConnected)
        #expect(!driver.machine.isSuspended)
        driver.advance(.seconds(120))
        #expect(driver.calls == [.suspend, .suspend])
    }
}
