/// Where the next page of a list begins. Callers see ``text``, which is opaque.
///
/// A position in the stream and not a time, so that messages stored at the same moment are neither skipped nor repeated,
/// whatever is deleted or added between two pages.
public struct PageToken: Hashable, Sendable {
    /// When the stream was created, in nanoseconds since 1970.
    public var incarnation: UInt64
    /// The first sequence of the next page.
    public var sequence: UInt64

    /// Makes a token.
    public init(incarnation: UInt64, sequence: UInt64) {
        self.incarnation = incarnation
        self.sequence = sequence
    }

    /// Reads a token.
    ///
    /// - Throws: ``RelayError/invalidToken`` for a damaged or foreign one.
    public init(_ text: String) throws(RelayError) {
        guard let (incarnation, sequence) = OpaqueCode.decode(.page, text) else { throw .invalidToken }
        self.init(incarnation: incarnation, sequence: sequence)
    }

    /// Reads a token for a certain stream.
    ///
    /// - Throws: ``RelayError/invalidToken`` for a damaged one, a foreign one, or one of another incarnation.
    public init(_ text: String, incarnation: UInt64) throws(RelayError) {
        try self.init(text)
        guard self.incarnation == incarnation else { throw .invalidToken }
    }

    /// The token as callers hold it: 32 letters and digits.
    public var text: String { OpaqueCode.encode(.page, incarnation, sequence) }
}

extension PageToken: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}
