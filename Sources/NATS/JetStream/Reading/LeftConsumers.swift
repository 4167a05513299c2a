import NIOConcurrencyHelpers

/// Consumers that a client's connections left on the server because they ended before they could remove them. The
/// client's next connection removes them.
///
/// The server would keep each for a minute, and from 2.15 on it allows a stream 1,000 by default: a client with
/// frequent disconnects would use them up, and readers would wait until some expire.
package final class LeftConsumers: Sendable {
    typealias Name = (consumer: String, stream: String)

    /// Consumers dropped from this list expire on the server.
    private static let most = 1_000
    private let names = NIOLockedValueBox<[Name]>([])

    package init() {}

    func add(_ name: Name) {
        names.withLockedValue { names in
            if names.count >= Self.most { names.removeFirst(Self.most / 2) }
            names.append(name)
        }
    }

    func takeAll() -> [Name] { names.withLockedValue { exchange(&$0, with: []) } }

    /// Another user signs in, who may not remove them.
    package func forget() { _ = takeAll() }
}
