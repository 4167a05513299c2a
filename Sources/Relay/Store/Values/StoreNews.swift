/// What a local store tells while it is used, each thing once.
public enum StoreNews: Hashable, Sendable {
    /// Something cannot be kept, for this reason, whose words say what to do. Nothing more is told until that is over.
    case failing(RelayError)
    /// All is kept again; so many messages that came meanwhile are not. They are still on the network.
    case recovered(notKept: Int)
}

/// How much a local store holds.
public struct StoreStatus: Hashable, Sendable {
    /// The file.
    public var path: String
    /// The bytes of the file with its log.
    public var bytes = 0
    /// How many messages of topics are kept.
    public var messages = 0
    /// The bytes of their payloads.
    public var messageBytes = 0
    /// How many topics they are of.
    public var topics = 0
    /// When the oldest of them was stored by the server; nil when there is none.
    public var oldest: Timestamp?
    /// How many letters are kept.
    public var letters = 0
    /// How many messages of the outbox are kept: those that wait, and those that were not sent.
    public var outbox = 0
    /// How many messages were not kept since the store was opened.
    public var notKept = 0

    /// Describes an empty store.
    public init(path: String) { self.path = path }
}
