import NIOConcurrencyHelpers

/// Texts that callbacks on any thread add.
final class Collected: Sendable {
    private let texts = NIOLockedValueBox<[String]>([])
    var all: [String] { texts.withLockedValue { $0 } }
    func add(_ text: String) { texts.withLockedValue { $0.append(text) } }
}
