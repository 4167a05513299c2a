import NIOCore
import Testing

@testable import RelayFaults

extension FaultLane.Step {
    fileprivate static func bytes(_ length: Int) -> Self { .forward(ByteBuffer(repeating: 0, count: length)) }
}

extension FaultLane {
    fileprivate mutating func received(_ length: Int, at now: Duration) {
        _ = received(ByteBuffer(repeating: 0, count: length), at: now)
    }
}

/// A lane in a test's hands: what it decides until it rests.
private struct LaneDriver {
    var lane: FaultLane
    var now = Duration.zero
    var canForward = true

    init(_ faults: FaultProxy.Fault..., seed: UInt64 = 7) {
        lane = FaultLane(rules: FaultPlan(faults).fromServer, seed: seed)
    }

    mutating func set(_ faults: FaultProxy.Fault...) { lane.change(FaultPlan(faults).fromServer, at: now) }

    mutating func receive(_ length: Int) { lane.received(length, at: now) }

    /// The steps up to the first that waits or rests, and that one.
    mutating func steps() -> [FaultLane.Step] {
        var steps: [FaultLane.Step] = []
        while true {
            let step = lane.next(at: now, canForward: canForward)
            steps.append(step)
            switch step {
            case .wait, .rest, .reset, .cut: return steps
            case .forward, .swallow, .finish: continue
            }
        }
    }
}

@Suite("Faults: what happens to the bytes of one direction")
struct FaultLaneTests {
    @Test("Nothing goes wrong: reads are forwarded as they came, then the end")
    func passing() {
        var driver = LaneDriver()
        driver.receive(5)
        driver.receive(7)
        #expect(driver.steps() == [.bytes(5), .bytes(7), .rest])
        driver.receive(1)
        driver.lane.sourceEnded(isLost: false, at: driver.now)
        #expect(!driver.lane.wantsInput && !driver.lane.isOver)
        #expect(driver.steps() == [.bytes(1), .finish, .rest])
        #expect(driver.lane.isOver)
    }

    @Test("A destination that takes nothing stops the source at the limit, and no byte is lost")
    func backPressure() {
        var driver = LaneDriver()
        driver.canForward = false
        driver.receive(FaultLane.limit - 1)
        #expect(driver.steps() == [.rest])
        #expect(driver.lane.wantsInput)
        driver.receive(1)
        #expect(!driver.lane.wantsInput)
        driver.canForward = true
        #expect(driver.steps() == [.bytes(FaultLane.limit - 1), .bytes(1), .rest])
        #expect(driver.lane.wantsInput)
        driver.canForward = false
        for _ in 1..<FaultLane.readLimit { driver.receive(1) }
        #expect(driver.lane.wantsInput)
        driver.receive(1)
        #expect(!driver.lane.wantsInput)
    }

    @Test("A cut comes after exactly so many bytes, wherever the reads' borders are", arguments: 0...12)
    func cutting(after bytes: Int) {
        var plan = FaultPlan()
        plan.cut(after: bytes, .fromServer, .reset)
        var lane = FaultLane(rules: plan.fromServer, seed: 0)
        for length in [3, 1, 8] { lane.received(length, at: .zero) }
        var forwarded = 0
        while case .forward(let piece) = lane.next(at: .zero, canForward: true) { forwarded += piece.readableBytes }
        #expect(forwarded == bytes)
        #expect(plan.fromClient.cut == nil)
        var again = FaultLane(rules: plan.fromServer, seed: 0)
        for length in [3, 1, 8] { again.received(length, at: .zero) }
        var last = FaultLane.Step.rest
        repeat { last = again.next(at: .zero, canForward: true) } while last != .rest && last != .cut(.reset)
        #expect(last == .cut(.reset))
    }

    @Test("A black hole swallows and keeps even the end back; afterwards the end comes, the bytes do not")
    func blackhole() {
        var driver = LaneDriver(.blackhole(.fromServer))
        driver.receive(5)
        #expect(driver.steps() == [.swallow(5), .rest])
        driver.canForward = false
        driver.receive(2)
        #expect(driver.steps() == [.swallow(2), .rest])
        driver.lane.sourceEnded(isLost: false, at: .zero)
        #expect(driver.steps() == [.rest])
        driver.set(.passThrough)
        #expect(driver.steps() == [.finish, .rest])
        var lost = LaneDriver(.blackhole(.both))
        lost.lane.sourceEnded(isLost: true, at: .zero)
        #expect(lost.steps() == [.rest])
        lost.set()
        #expect(lost.steps() == [.reset])
        var other = LaneDriver(.blackhole(.fromClient))
        other.receive(5)
        #expect(other.steps() == [.bytes(5), .rest])
    }

    @Test("A delay is kept for bytes and end; ending it lets go at once")
    func delaying() {
        var driver = LaneDriver(.delay(.seconds(2)))
        driver.receive(5)
        driver.now = .seconds(1)
        driver.receive(6)
        driver.lane.sourceEnded(isLost: false, at: driver.now)
        #expect(driver.steps() == [.wait(until: .seconds(2))])
        driver.now = .seconds(2)
        #expect(driver.steps() == [.bytes(5), .wait(until: .seconds(3))])
        driver.now = .seconds(3)
        #expect(driver.steps() == [.bytes(6), .finish, .rest])
        var ended = LaneDriver(.delay(.seconds(60)))
        ended.receive(5)
        #expect(ended.steps() == [.wait(until: .seconds(60))])
        ended.set(.passThrough)
        #expect(ended.steps() == [.bytes(5), .rest])
    }

    @Test("Jitter is repeatable, within its bounds, and changes no order")
    func jitter() {
        func dues(seed: UInt64) -> [Duration] {
            var driver = LaneDriver(.delay(.milliseconds(10), jitter: .milliseconds(90)), seed: seed)
            var dues: [Duration] = []
            for _ in 0..<50 {
                driver.receive(1)
                while true {
                    let step = driver.lane.next(at: driver.now, canForward: true)
                    guard case .wait(let due) = step else { break }
                    dues.append(due - driver.now)
                    driver.now = due
                }
            }
            return dues
        }
        let first = dues(seed: 3)
        #expect(first == dues(seed: 3))
        #expect(first != dues(seed: 4))
        #expect(first.allSatisfy { (.milliseconds(10) ... .milliseconds(100)).contains($0) })
        #expect(Set(first).count > 40)
        var together = LaneDriver(.delay(.zero, jitter: .seconds(1)))
        for length in 1...20 { together.receive(length) }
        var order: [Int] = []
        while order.count < 20 {
            switch together.lane.next(at: together.now, canForward: true) {
            case .forward(let piece): order.append(piece.readableBytes)
            case .wait(let due): together.now = due
            case .swallow, .finish, .reset, .cut, .rest: Issue.record("nothing else is due")
            }
        }
        #expect(order == Array(1...20))
    }

    @Test("A rate lets its bytes through in its time; no rate at all holds them", arguments: [1, 50, 1_000, 99_999])
    func throttling(rate: Int) {
        var driver = LaneDriver(.throttle(bytesPerSecond: rate))
        let length = rate * 3
        driver.receive(length)
        var forwarded = 0
        while forwarded < length {
            switch driver.lane.next(at: driver.now, canForward: true) {
            case .forward(let piece): forwarded += piece.readableBytes
            case .wait(let due): driver.now = due
            case .swallow, .finish, .reset, .cut, .rest:
                Issue.record("nothing else is due")
                return
            }
        }
        #expect((.seconds(2.9) ... .seconds(3.01)).contains(driver.now) || rate == 1 && driver.now == .seconds(2))
        driver.set(.throttle(bytesPerSecond: 0))
        driver.receive(3)
        #expect(driver.steps() == [.rest])
        driver.set()
        #expect(driver.steps() == [.bytes(3), .rest])
    }

    @Test("Bytes are split into pieces; faults of several kinds hold together")
    func splitting() {
        var driver = LaneDriver(.split(2), .delay(.seconds(1)))
        driver.receive(5)
        #expect(driver.steps() == [.wait(until: .seconds(1))])
        driver.now = .seconds(1)
        #expect(driver.steps() == [.bytes(2), .bytes(2), .bytes(1), .rest])
        #expect(FaultPlan([.split(0)]).fromClient.pieceLength == 1)
        #expect(FaultPlan([.throttle(bytesPerSecond: -1)]).fromClient.bytesPerSecond == 0)
        #expect(FaultPlan([.delay(.seconds(-1))]).fromClient.delay == .zero)
    }

    @Test("After a half close the destination has ended and all else is thrown away")
    func halfClose() {
        var driver = LaneDriver()
        driver.canForward = false
        driver.receive(5)
        driver.lane.halfClose()
        #expect(driver.steps() == [.finish, .swallow(5), .rest])
        driver.receive(6)
        #expect(driver.steps() == [.swallow(6), .rest])
        driver.lane.sourceEnded(isLost: false, at: .zero)
        #expect(driver.steps() == [.rest])
        #expect(driver.lane.isOver)
    }

    @Test("A lost source resets after what it sent; a lost destination takes nothing more")
    func losses() {
        var driver = LaneDriver()
        driver.receive(5)
        driver.lane.sourceEnded(isLost: true, at: .zero)
        #expect(driver.steps() == [.bytes(5), .reset])
        var other = LaneDriver()
        other.lane.destinationLost()
        other.receive(5)
        #expect(other.steps() == [.swallow(5), .rest])
    }

    @Test("Refusal and silence differ from the other faults; silence swallows the bytes of open connections")
    func plans() {
        #expect(FaultPlan([.refuse]).isRefusing)
        let silent = FaultPlan([.silent])
        #expect(silent.isSilent && silent.fromClient.swallows && silent.fromServer.swallows)
        #expect(FaultPlan([.passThrough]) == FaultPlan())
    }
}
