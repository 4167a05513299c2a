/// The result of looking up a key before a message of the outbox sets it.
///
/// A value that waited for a connection replaces newer values of others, just like one that did not wait: the last
/// write wins. But a value that may have been stored before never overwrites a newer one. The server remembers
/// identifiers for two minutes, and after a restart only those of messages that it still holds, so the client looks at
/// the key itself.
package enum KeyFinding: Hashable, Sendable {
    /// The message is the key's present value.
    case stored(revision: UInt64)
    /// The message was not stored; the key has this revision, or 0 if it never had any.
    case notStored(revision: UInt64)
    /// Someone has changed the key, to this revision, since the message may first have been stored.
    case overtaken(revision: UInt64)
    /// The key cannot be read, and the message may have been stored.
    case unknown
    /// The network has no key-value store.
    case noStore
    /// The server did not answer, but may do so later.
    case failed

    /// Judges a key's newest change.
    ///
    /// - Parameters:
    ///   - late: The message to send.
    ///   - revision: The key's newest revision; 0 if it has none.
    ///   - isThis: Whether the message itself made it.
    package init(before late: Delivery.LateMessage, revision: UInt64, isThis: Bool) {
        if isThis {
            self = .stored(revision: revision)
        } else if let before = late.newestBefore {
            self = revision <= before ? .notStored(revision: revision) : .overtaken(revision: revision)
        } else if late.message.mayBeStored, revision > 0 {
            // It may be older or newer than the earlier run's message.
            self = .overtaken(revision: revision)
        } else {
            self = .notStored(revision: revision)
        }
    }

    /// Judges a key that the user may set but not read.
    package init(unreadableBefore late: Delivery.LateMessage) {
        let mayBeStored = late.message.mayBeStored || late.newestBefore != nil
        self = mayBeStored ? .unknown : .notStored(revision: 0)
    }
}
