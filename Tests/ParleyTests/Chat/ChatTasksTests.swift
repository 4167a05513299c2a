import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Parley

@Suite("The tasks of the chat's feeds")
struct ChatTasksTests {
    private static func waitForCancellation() async { while (try? await Task.sleep(for: .seconds(60))) != nil {} }

    @Test("The end cancels everything that was begun and waits for it; what begins later is cancelled at once")
    func ending() async {
        let tasks = ChatTasks()
        let ended = NIOLockedValueBox<[String]>([])
        async let running: Void = tasks.run()
        for name in ["first", "second"] {
            tasks.begin {
                await Self.waitForCancellation()
                ended.withLockedValue { $0.append(name) }
            }
        }
        tasks.end()
        await running
        #expect(ended.withLockedValue { $0.sorted() } == ["first", "second"])
        await tasks.begin { await Self.waitForCancellation() }.value
    }

    @Test("Whoever runs them and is cancelled ends them too")
    func cancelled() async throws {
        let tasks = ChatTasks()
        let running = Task { await tasks.run() }
        let task = tasks.begin { await Self.waitForCancellation() }
        running.cancel()
        await running.value
        await task.value
    }

    @Test("One can be cancelled before the others")
    func single() async {
        let tasks = ChatTasks()
        async let running: Void = tasks.run()
        let stays = tasks.begin { await Self.waitForCancellation() }
        let goes = tasks.begin { await Self.waitForCancellation() }
        goes.cancel()
        await goes.value
        #expect(!stays.isCancelled)
        tasks.end()
        await running
    }

    @Test("What is to be done one after the other is, in its order, and whoever waits for it hears of its end")
    func inOrder() async {
        let tasks = ChatTasks()
        async let running: Void = tasks.run()
        let serial = SerialTasks(tasks, EventQueue {})
        let done = NIOLockedValueBox<[Int]>([])
        for number in 1...100 {
            serial.add {
                await Task.yield()
                done.withLockedValue { $0.append(number) }
            }
        }
        await serial.finished()
        #expect(done.withLockedValue { $0 } == Array(1...100))
        tasks.end()
        await running
    }

    @Test("What waits behind something that is cancelled is not begun, and whoever waits for it hears of that")
    func cancelledInOrder() async {
        let tasks = ChatTasks()
        async let running: Void = tasks.run()
        let serial = SerialTasks(tasks, EventQueue {})
        let done = NIOLockedValueBox(0)
        serial.add { await Self.waitForCancellation() }
        for _ in 1...100 { serial.add { done.withLockedValue { $0 += 1 } } }
        tasks.end()
        await serial.finished()
        await running
        serial.add { done.withLockedValue { $0 += 1 } }
        await serial.finished()
        #expect(done.withLockedValue { $0 } == 0)
    }

    @Test("Whoever asks for more than can wait is told so")
    func limit() async {
        let tasks = ChatTasks()
        async let running: Void = tasks.run()
        let queue = EventQueue {}
        let serial = SerialTasks(tasks, queue)
        serial.add { await Self.waitForCancellation() }
        for _ in 0...EngineRun.limit { serial.add {} }
        #expect(queue.take()?.event == .notice(EngineRun.tooMuch, isFailure: true))
        tasks.end()
        await running
    }
}
