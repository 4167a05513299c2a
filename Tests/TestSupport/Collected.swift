import NIOConcurrencyHelpers

/// Texts that callbacks on any thread add.
public final class Collected: Sendable {
    private let texts = NIOLockedValueBox<[String]>([])

    /// No texts yet.
    public init() {}

    /// All texts, in the order in which they were added.
    public var all: [String] { texts.withLockedValue { $0 } }

    /// Adds a text.
    public func add(_ text: String) { texts.withLockedValue { $0.append(text) } }
}
