import NIOCore
import NIOEmbedded
import Testing

@testable import NATS

@Suite("Readers that wait until a deadline")
struct WaitingReadersTests {
    private func moment(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    @Test("a thousand waits that end early need one alarm")
    func oneAlarm() {
        var readers = WaitingReaders()
        var alarms: [NIODeadline] = []
        var woken = 0
        for wait in 0..<1_000 {
            let added = readers.add(until: moment(20) + .milliseconds(Int64(wait)))
            alarms += [added.alarm].compactMap { $0 }
            woken += readers.takeAll().count
        }
        #expect(alarms == [moment(20)] && woken == 1_000)
        let rung = readers.ring(moment(20), now: moment(20))
        #expect(rung.late.isEmpty && rung.alarm == nil)
        let next = readers.add(until: moment(30))
        #expect(next.alarm == moment(30))
    }

    @Test("whoever waits when it rings is late, or has it set again")
    func late() {
        var readers = WaitingReaders()
        let first = readers.add(until: moment(10))
        let woken = readers.takeAll()
        #expect(first.alarm == moment(10) && woken.count == 1)
        let second = readers.add(until: moment(12))
        let third = readers.add(until: moment(15))
        #expect(second.alarm == nil && third.alarm == nil)
        let early = readers.ring(moment(10), now: moment(10))
        #expect(early.late.isEmpty && early.alarm == moment(12))
        let rung = readers.ring(moment(12), now: moment(13))
        #expect(rung.late.count == 1 && rung.late.first === second.wakeup && rung.alarm == moment(15))
        readers.remove(third.wakeup)
        let rest = readers.takeAll()
        #expect(rest.isEmpty)
    }

    @Test("an earlier deadline takes the alarm's place, and no timer is left over")
    func earlier() {
        let loop = EmbeddedEventLoop()
        func timer() -> Scheduled<Void> { loop.scheduleTask(in: .hours(1)) {} }
        var readers = WaitingReaders()
        let late = readers.add(until: moment(20))
        let replaced = readers.keep(timer(), for: moment(20))
        #expect(late.alarm == moment(20) && replaced == nil)
        let early = readers.add(until: moment(5))
        let former = readers.keep(timer(), for: moment(5))
        #expect(early.alarm == moment(5) && former != nil)
        let outrun = readers.keep(timer(), for: moment(20))
        #expect(outrun != nil)
        let patient = readers.add(until: .distantFuture)
        #expect(patient.alarm == nil)
        let end = readers.end()
        #expect(end.readers.count == 3 && end.timer != nil)
        let again = readers.end()
        #expect(again.readers.isEmpty && again.timer == nil)
        let useless = readers.keep(timer(), for: moment(5))
        #expect(useless != nil)
    }

    @Test("a reader hears of its deadline, on each of its waits")
    func deadline() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let buffer = SubscriptionBuffer(sid: 2, subject: "s", queueGroup: nil, limits: BufferLimits())
        var batch: [NATSMessage] = []
        for wait in 1...2 {
            let deadline = loop.now + .seconds(1)
            guard case .wait(let wakeup, let alarm?) = buffer.take(into: &batch, until: deadline) else {
                Issue.record("no alarm is set for wait \(wait)")
                return
            }
            buffer.setAlarm(alarm, on: loop)
            await loop.advanceTime(by: .seconds(1))
            #expect(await wakeup.value() == .deadline)
        }
        buffer.end(.finished)
        await loop.shutdownGracefully()
    }
}
