import NATS

/// Where the next page of a list begins. Callers see ``text``, which is opaque.
///
/// It is a position in the stream rather than a time, so that messages stored at the same moment are neither skipped
/// nor repeated, whatever is deleted or added between two pages.
public struct PageToken: Hashable, Sendable {
    /// When the stream was created, in nanoseconds since 1970.
    public var incarnation: UInt64
    /// The sequence of the next page's first message: the lowest of an ascending page, the highest of a descending one.
    public var sequence: UInt64
    /// The order of the token's list.
    public var order: LetterOrder

    /// Creates a token.
    public init(incarnation: UInt64, sequence: UInt64, order: LetterOrder = .oldestFirst) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.order = order
    }

    /// Parses a token of either order.
    ///
    /// - Throws: ``RelayError/invalidToken`` for a damaged or foreign one.
    public init(_ text: String) throws(RelayError) {
        if let (incarnation, sequence) = OpaqueCode.decode(.page, text) {
            self.init(incarnation: incarnation, sequence: sequence)
        } else if let (incarnation, sequence) = OpaqueCode.decode(.pageBackwards, text) {
            self.init(incarnation: incarnation, sequence: sequence, order: .newestFirst)
        } else {
            throw .invalidToken
        }
        guard sequence <= ServerNumber.limit else { throw .invalidToken }
    }

    /// Parses a token of a list in this order.
    ///
    /// - Throws: ``RelayError/invalidToken`` for a damaged or foreign one, or one of a list in another order.
    public init(_ text: String, order: LetterOrder) throws(RelayError) {
        try self.init(text)
        guard self.order == order else { throw .invalidToken }
    }

    /// The token as callers hold it: 32 letters and digits.
    public var text: String { OpaqueCode.encode(order == .oldestFirst ? .page : .pageBackwards, incarnation, sequence) }
}
