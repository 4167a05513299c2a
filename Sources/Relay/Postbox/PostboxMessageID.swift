import NATS

/// Where a postbox message is stored: its stream's incarnation and its sequence there.
///
/// Callers see ``text``, which is opaque. An identifier from a stream that was deleted and made again names the old
/// incarnation, so it finds nothing instead of another message.
public struct PostboxMessageID: Hashable, Sendable {
    /// When the stream was created, in nanoseconds since 1970.
    public var incarnation: UInt64
    /// The message's sequence in the stream.
    public var sequence: UInt64

    /// Makes an identifier.
    public init(incarnation: UInt64, sequence: UInt64) {
        self.incarnation = incarnation
        self.sequence = sequence
    }

    /// Reads an identifier; nil for a damaged or foreign one.
    public init?(_ text: String) {
        guard let (incarnation, sequence) = OpaqueCode.decode(.message, text), sequence <= ServerNumber.limit else {
            return nil
        }
        self.init(incarnation: incarnation, sequence: sequence)
    }

    /// The identifier as callers hold it: 32 letters and digits.
    public var text: String { OpaqueCode.encode(.message, incarnation, sequence) }
}

extension PostboxMessageID: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}
