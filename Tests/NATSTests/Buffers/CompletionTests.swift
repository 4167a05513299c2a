import NIOConcurrencyHelpers
import Testing

@testable import NATS

@Suite("Completion: one value for one waiter")
struct CompletionTests {
    @Test("keeps a value that comes before the wait")
    func early() async {
        let completion = Completion<Int>()
        #expect(completion.fulfil(1))
        #expect(!completion.fulfil(2))
        #expect(await completion.value() == 1)
        #expect(!completion.fulfil(3))
    }

    @Test("a task cancelled before it waits gets cancelled at once")
    func cancelledBefore() async {
        let completion = Completion<Result<Int, NATSError>>()
        let cleanUps = NIOLockedValueBox(0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.outcome(completion) { cleanUps.withLockedValue { $0 += 1 } }
        }
        #expect(await task.value == .failure(.cancelled))
        #expect(cleanUps.withLockedValue { $0 } == 1)
        #expect(!completion.fulfil(.success(1)))
    }

    @Test("a value that was there first wins over the cancellation")
    func cancelledAfter() async {
        let completion = Completion<Result<Int, NATSError>>()
        completion.fulfil(.success(1))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.outcome(completion) { Issue.record("cleaned up") }
        }
        #expect(await task.value == .success(1))
    }

    @Test("10,000 races of value, error, cancellation: each waiter leaves once, and clean-up goes with cancellation")
    func races() async {
        for round in 0..<10_000 {
            let completion = Completion<Result<Int, NATSError>>()
            let cleanUps = NIOLockedValueBox(0)
            let waiter = Task { await Self.outcome(completion) { cleanUps.withLockedValue { $0 += 1 } } }
            // What comes first differs from round to round.
            async let fulfilled = Self.fulfil(completion, round)
            if round % 3 != 0 { waiter.cancel() }
            let isFirst = await fulfilled
            let outcome = await waiter.value
            let cleaned = cleanUps.withLockedValue { $0 }
            guard isFirst == (outcome != .failure(.cancelled)), cleaned == (isFirst ? 0 : 1) else {
                Issue.record("round \(round): \(outcome), fulfilled first: \(isFirst), clean-ups: \(cleaned)")
                return
            }
        }
    }

    private static func fulfil(_ completion: Completion<Result<Int, NATSError>>, _ round: Int) async -> Bool {
        if round % 2 == 0 { await Task.yield() }
        return completion.fulfil(round % 5 == 0 ? .failure(.staleConnection) : .success(round))
    }

    private static func outcome(
        _ completion: Completion<Result<Int, NATSError>>, onCancel: @escaping @Sendable () -> Void
    ) async -> Result<Int, NATSError> {
        do throws(NATSError) {
            return .success(try await completion.result(onCancel: onCancel))
        } catch {
            return .failure(error)
        }
    }
}
