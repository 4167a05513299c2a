/// What looking at a key brought, before a message of the outbox sets it.
///
/// A value that waited for a connection replaces what others have stored meanwhile, as it does where nobody waits: the
/// last one stays. But a value that may have been stored before is never stored a second time over what somebody has
/// set since. The server knows identifiers for two minutes, and after its own restart only those of messages that it
/// still holds, so the key itself is looked at.
package enum KeyFinding: Hashable, Sendable {
    /// The message is what the key has.
    case stored(revision: UInt64)
    /// The message was not stored; the key has this revision, or 0 when it never had any.
    case notStored(revision: UInt64)
    /// Somebody changed the key, to this revision, since the message may have been stored first.
    case overtaken(revision: UInt64)
    /// The key cannot be read, and the message may have been stored.
    case unknown
    /// The network has no key-value store.
    case noStore
    /// The server did not answer; it may do so later.
    case failed

    /// Judges a key's newest change.
    ///
    /// - Parameters:
    ///   - late: the message that is to be sent.
    ///   - revision: the key's newest revision; 0 when it has none.
    ///   - isThis: whether the message itself made it.
    package init(before late: Delivery.LateMessage, revision: UInt64, isThis: Bool) {
        if isThis {
            self = .stored(revision: revision)
        } else if let before = late.newestBefore {
            self = revision <= before ? .notStored(revision: revision) : .overtaken(revision: revision)
        } else if late.message.mayBeStored, revision > 0 {
            // Whether it is older than what an earlier run has sent, nobody knows.
            self = .overtaken(revision: revision)
        } else {
            self = .notStored(revision: revision)
        }
    }

    /// Judges a key that the user may set and not read.
    package init(unreadableBefore late: Delivery.LateMessage) {
        let mayBeStored = late.message.mayBeStored || late.newestBefore != nil
        self = mayBeStored ? .unknown : .notStored(revision: 0)
    }
}
