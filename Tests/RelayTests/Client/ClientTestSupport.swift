import TestSupport

@testable import Relay

/// Collects what a sequence brings, so that a test can wait for it with a deadline.
actor Collector<Element: Sendable> {
    private(set) var elements: [Element] = []
    private var task: Task<Void, Never>?

    func start<Source: AsyncSequence & Sendable>(_ source: Source) where Source.Element == Element {
        task = Task { [weak self] in
            do {
                for try await element in source { await self?.add(element) }
            } catch {
                // What has come until then is all there is.
            }
        }
    }

    func stop() { task?.cancel() }

    private func add(_ element: Element) { elements.append(element) }

    /// Waits until `condition` holds of what has come.
    func wait(for what: String, _ condition: @Sendable ([Element]) -> Bool) async throws {
        try await eventually(what) { condition(elements) }
    }
}

extension Collector where Element == TopicEvent {
    private var messages: [TopicMessage] {
        elements.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    var texts: [String] { messages.map(\.text) }

    /// The texts of what was missed at first.
    var recovered: [String] { messages.filter(\.isRecovered).map(\.text) }
}

extension RelayClient {
    /// Takes the connection away, as the background does, or lets it come back.
    func setReachable(_ isReachable: Bool) { handle(isReachable ? .resumeRequested : .suspendRequested) }
}

extension MemoryNetwork {
    /// Moves the clock on from one wait to the next, until something holds.
    func advance(_ what: String, until condition: @Sendable () -> Bool) async throws {
        try await eventually(what) {
            if condition() { return true }
            if let wait = time.untilNext { time.advance(by: wait) }
            return condition()
        }
    }
}
