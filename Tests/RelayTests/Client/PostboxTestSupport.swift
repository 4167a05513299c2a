import NIOConcurrencyHelpers
import TestSupport

@testable import Relay

/// What a sequence has brought so far.
final class Gathered<Element: Sendable>: Sendable {
    private let elements = NIOLockedValueBox<[Element]>([])
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<Element>) {
        task = Task { [elements] in
            for await element in stream { elements.withLockedValue { $0.append(element) } }
        }
    }

    deinit { task.cancel() }

    var all: [Element] { elements.withLockedValue { $0 } }
}

extension MemoryNetwork {
    /// Stores a letter as any client of the network would.
    @discardableResult
    func postLetter(_ text: String, postbox: String = "personal") throws -> UInt64 {
        let letter = PostboxLetter(id: RelayClient.newID(), createdAt: 0, message: text)
        return try server.store("postbox.alice.\(postbox).bob", letter.encoded())
    }

    /// Lets time pass until something holds: whatever waits for its moment has it at once.
    func letTimePass(_ what: String, until condition: @escaping @Sendable () -> Bool) async throws {
        try await eventually(what) {
            if condition() { return true }
            if let wait = time.untilNext { time.advance(by: wait) }
            return condition()
        }
    }
}
