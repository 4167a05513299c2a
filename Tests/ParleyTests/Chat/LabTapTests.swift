import Relay
import RelayLab
import Testing

@testable import Parley

@Suite("What the lab sees of the chat's messages")
struct LabTapTests {
    /// A client under test that says and sends nothing.
    private struct Nobody: LabSubject {
        let statuses = AsyncStream<ConnectionStatus> { $0.finish() }
        let queuedCount = 0

        func connect() async {}
        func close() async {}
        func lifecycleChanged(_ event: LifecycleEvent) async {}
        func signIn(on device: String) async throws {}
        func read(topic: String) async throws -> LabReader? { { nil } }
        func send(_ number: LabNumber, topic: String) async throws -> @Sendable () async -> LabOutcome {
            { .uncertain }
        }
    }

    private static func begun() async -> (LabTap, LabSession) {
        let session = LabSession(
            subject: Nobody(), link: nil, server: nil, writer: "you",
            heading: LabHeading(title: "t", seed: 1, policy: "parley"))
        await session.begin(connects: false)
        return (LabTap(session), session)
    }

    @Test(
        "Every message counts once, whoever sent it: by its place in the stream, and by one subscription of its topic")
    func others() async {
        let (tap, session) = await Self.begun()
        func take(_ sequences: ClosedRange<UInt64>, by subscription: String, isRecovered: Bool = false) async {
            for sequence in sequences {
                await tap.take([.message(message(sequence, "m", isRecovered: isRecovered))], of: subscription)
            }
        }
        await take(1...3, by: "chat.lobby")
        await take(1...3, by: "chat.>")
        await take(4...5, by: "chat.lobby", isRecovered: true)
        await tap.take([.unreadable(sequence: 6, topic: "chat.lobby", bytes: 9)], of: "chat.lobby")
        await tap.take([.message(message(6, "m", topic: "chat.qa"))], of: "chat.>")
        var figures = await session.run.ledger.figures
        #expect(figures.received == 7 && figures.recovered == 2 && figures.doubled == 0 && figures.sent == 0)
        #expect(await session.run.verdict.isPassed)
        // Where the one that was counted ends, the other goes on.
        tap.leave("chat.lobby")
        await take(7...7, by: "chat.>")
        await take(5...5, by: "chat.>")
        await tap.take([.gap(lost: 2)], of: "chat.>")
        figures = await session.run.ledger.figures
        #expect(figures.received == 8 && figures.doubled == 1 && figures.lost == 2)
        // A stream that was made anew gives its places out again.
        await tap.take([.restarted], of: "chat.>")
        await take(1...2, by: "chat.>")
        figures = await session.run.ledger.figures
        #expect(figures.received == 10 && figures.doubled == 1)
    }

    @Test("What the person sent counts by its number, and not a second time as another's")
    func own() async {
        let (tap, session) = await Self.begun()
        await tap.handsOver("own-1", to: "chat.lobby")
        let line = message(1, "hello", id: "own-1")
        #expect(!tap.counts(line) && tap.counts(message(2, "other")))
        await tap.take(PublishNews(id: "own-1", state: .acknowledged(sequence: 1)))
        for subscription in ["chat.lobby", "chat.>"] { await tap.take([.message(line)], of: subscription) }
        let figures = await session.run.ledger.figures
        #expect(figures.sent == 1 && figures.acknowledged == 1 && figures.received == 1 && figures.doubled == 0)
    }
}
