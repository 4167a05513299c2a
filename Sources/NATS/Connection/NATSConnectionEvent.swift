/// An event of a connection other than a message.
public enum NATSConnectionEvent: Sendable, Hashable {
    /// The server sent a newer INFO.
    case infoChanged(ServerInfo)
    /// The server will close soon; connect elsewhere.
    case lameDuck
    /// The server refused something without closing the connection.
    case notice(NATSError)
    /// A subscription's buffer was full; it has lost `dropped` messages so far.
    case slowConsumer(subject: String, dropped: Int)
    /// A ping was answered.
    case roundTrip(Duration)
    /// Nothing has arrived for this long, at least two seconds, although an answer is awaited. The connection is still
    /// open; `heardAgain` or `closed` follows.
    case silent(for: Duration)
    /// Something has arrived after `silent`.
    case heardAgain
    /// The connection has ended; `nil` if `close()` ended it. Always the last event.
    case closed(NATSError?)
}
