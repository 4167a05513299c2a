extension LocalStore {
    /// Where a client's store is.
    public enum Location: Hashable, Sendable {
        /// Nothing is kept.
        case nowhere
        /// In this file, one for each user of a network. Its folder is made when it is missing; both are the owner's
        /// alone.
        case file(String)

        /// Whether what is received, typed and chosen is kept.
        package var keepsMessages: Bool {
            switch self {
            case .nowhere: false
            case .file: true
            }
        }

        /// Whether what is not sent yet outlives the client.
        package var keepsOutbox: Bool {
            switch self {
            case .nowhere: false
            case .file: true
            }
        }
    }

    /// How opening went.
    public enum Opening: Hashable, Sendable {
        /// Nothing is kept, as the configuration says.
        case nowhere
        /// The store was there.
        case found
        /// There was none, and a new one was made.
        case made
        /// What was there is damaged or of another version, and was put aside; a new store has what could be read of
        /// it.
        case rescued(StoreRescue)
        /// The store is there and may not be written: what it has is read, and nothing else is kept.
        case readOnly(path: String)
        /// There is no store, for this reason; the connection works without it.
        case failed(RelayError)

        /// Whether the file was made anew, so that what is wanted has to be loaded from the network (Nexconn's
        /// `isRecreated`).
        public var isRecreated: Bool {
            switch self {
            case .made, .rescued: true
            case .nowhere, .found, .readOnly, .failed: false
            }
        }

        /// Why what comes is not kept; nil where it is, or is not meant to be.
        public var error: RelayError? {
            switch self {
            case .failed(let error): error
            case .readOnly(let path): StoreFailure.readOnly(path)
            case .nowhere, .found, .made, .rescued: nil
            }
        }
    }
}

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
