extension LocalStore {
    /// The location of a client's store.
    public enum Location: Hashable, Sendable {
        /// Nothing is stored.
        case nowhere
        /// In this file, one for each user of a network. A missing folder is created; only the owner may access either.
        case file(String)

        package var isFile: Bool { self != .nowhere }
    }

    /// The outcome of opening a store.
    public enum Opening: Hashable, Sendable {
        /// The configuration has no store.
        case nowhere
        /// The store existed.
        case found
        /// A new store was created.
        case made
        /// The existing file is damaged or of another version, and was put aside; a new store has its readable data.
        case rescued(StoreRescue)
        /// The store may not be written: it can be read, but nothing new is stored.
        case readOnly(path: String)
        /// There is no store, for this reason; the connection works without it.
        case failed(RelayError)

        /// Whether the file was created, so that data must be loaded from the network (Nexconn's `isRecreated`).
        public var isRecreated: Bool {
            switch self {
            case .made, .rescued: true
            case .nowhere, .found, .readOnly, .failed: false
            }
        }

        /// Why nothing is stored; nil if data is stored, or not meant to be.
        public var error: RelayError? {
            switch self {
            case .failed(let error): error
            case .readOnly(let path): StoreFailure.readOnly(path)
            case .nowhere, .found, .made, .rescued: nil
            }
        }
    }
}

/// A failure or a recovery of a local store; each is reported once.
public enum StoreNews: Hashable, Sendable {
    /// Writing fails for this reason, whose words say what to do. Nothing more is reported until it is over.
    case failing(RelayError)
    /// Everything is stored again, except for this many messages that arrived meanwhile. They are still on the network.
    case recovered(notKept: Int)
}

/// The size of a local store.
public struct StoreStatus: Hashable, Sendable {
    /// The file.
    public var path: String
    /// The size of the file and its log in bytes.
    public var bytes = 0
    /// The number of stored messages of topics.
    public var messages = 0
    /// The bytes of their payloads.
    public var messageBytes = 0
    /// The number of their topics.
    public var topics = 0
    /// When the oldest of them was stored by the server; nil if there is none.
    public var oldest: Timestamp?
    /// The number of stored letters.
    public var letters = 0
    /// The number of messages in the outbox, both queued and unsent.
    public var outbox = 0
    /// How many messages were dropped since the store was opened.
    public var notKept = 0

    /// Creates the status of an empty store.
    public init(path: String) { self.path = path }
}
