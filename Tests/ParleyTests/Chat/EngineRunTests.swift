import Foundation
import NATS
import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("What is there behind the first frame")
struct EngineRunTests {
    private struct Failure: Error {}

    /// The way to a server that never answers, with a local store.
    private static func connector(to silent: LoopbackSocket, keepingIn path: String) throws -> Connector {
        var plan = ConnectionPlan(
            target: .servers([ServerAddress(host: "127.0.0.1", port: silent.port)], .none, user: "alice"))
        plan.store = path
        return try Connector(plan, for: .chat(.ignore))
    }

    @Test("What is asked of an engine that is not there yet waits for it, up to a limit")
    func limit() {
        let engine = EngineRun(queue: EventQueue {})
        let taken = (0..<EngineRun.limit).count { _ in engine.send(.effect(.connection(.nudge))) }
        #expect(taken == EngineRun.limit)
        #expect(!engine.send(.effect(.connection(.nudge))))
        // Nothing is there that could be let go or ended.
        EngineRun.letGo([engine])
        EngineRun.end([engine])
    }

    @Test("What was asked for before the end is done in its order and kept, and nothing that was begun goes on")
    func end() async throws {
        let folder = try TemporaryDirectory("engine")
        let path = folder.path("alice.sqlite")
        let silent = try LoopbackSocket.listening()
        let queue = EventQueue {}
        let engine = ChatEngine(try Self.connector(to: silent, keepingIn: path), queue: queue)
        let (stream, requests) = AsyncStream.makeStream(of: ChatEngine.Request.self)
        let (kept, letGo) = (Gate(), Gate())
        let line = KeptLine("typed")
        let (begun, ended) = (folder.path("begun"), folder.path("ended"))
        requests.yield(.effect(.store(.open)))
        requests.yield(.effect(.store(.keepLine(line))))
        requests.yield(
            .effect(
                .runNotifier(
                    "touch '\(begun)'; sleep 600; touch '\(ended)'", TerminalNotification(title: "t", body: "b"))))
        requests.yield(.letGo(letGo))
        async let running: Void = engine.run(stream, kept: kept)
        try await eventually("the notifier") { FileManager.default.fileExists(atPath: begun) }
        queue.close()
        requests.finish()
        await running
        #expect(kept.wait(atMost: .zero) && letGo.wait(atMost: .zero))
        #expect(!FileManager.default.fileExists(atPath: ended))
        let store = try LocalStore.open(path)
        #expect(try await store.desk().lines == [line])
        try await store.close()
    }

    @Test("What was still held when the chat ends is done, too")
    func held() async throws {
        let folder = try TemporaryDirectory("engine")
        let path = folder.path("alice.sqlite")
        let silent = try LoopbackSocket.listening()
        let configuration = try ChatConfiguration(flag: nil, profile: nil, ["HOME": folder.path("")])
        nonisolated(unsafe) let run = EngineRun(queue: EventQueue {})
        run.start(try Self.connector(to: silent, keepingIn: path), configuration)
        run.hold(.store(.open))
        run.hold(.store(.keepLine(KeptLine("typed"))))
        await blocking { EngineRun.end([run]) }
        let store = try LocalStore.open(path)
        #expect(try await store.desk().lines == [KeptLine("typed")])
        try await store.close()
    }

    @Test("What is prepared is there when its waiter is woken, and so is why it could not be")
    func prepared() async {
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self)
        var iterator = wakes.makeAsyncIterator()
        let preparation = Preparation(wake: { continuation.yield() }) { 7 }
        _ = await iterator.next()
        #expect((try? preparation.result?.get()) == 7)
        let failing = Preparation<Int>(wake: { continuation.yield() }) { throw Failure() }
        _ = await iterator.next()
        #expect(throws: Failure.self) { _ = try failing.result?.get() }
    }
}
