import NATS
import NIOCore

/// What a key of the network's key-value store has.
public struct StoredValue: Hashable, Sendable {
    /// The key.
    public let key: String
    /// Its value. ``MessageValue/null`` is a value like any other. Bytes that are no JSON, which only other programs
    /// store, come as ``MessageValue/binary(_:)``.
    public let value: MessageValue
    /// The number of the change that stored it: every change in the store has its own, and later ones have higher ones.
    public let revision: UInt64
    /// When it was stored, by the server's clock.
    public let storedAt: Timestamp

    /// Makes one.
    public init(key: String, value: MessageValue, revision: UInt64, storedAt: Timestamp) {
        self.key = key
        self.value = value
        self.revision = revision
        self.storedAt = storedAt
    }
}

/// A change of a key.
public enum KeyValueChange: Hashable, Sendable {
    /// It was set.
    case put(StoredValue)
    /// It was deleted or purged.
    case removed(key: String, revision: UInt64, at: Timestamp)

    /// The key.
    public var key: String {
        switch self {
        case .put(let stored): stored.key
        case .removed(let key, _, _): key
        }
    }

    /// The change's number.
    public var revision: UInt64 {
        switch self {
        case .put(let stored): stored.revision
        case .removed(_, let revision, _): revision
        }
    }

    /// What the key has now; nil when it was removed.
    public var stored: StoredValue? {
        switch self {
        case .put(let stored): stored
        case .removed: nil
        }
    }
}

/// What a watch of keys reports.
public enum KeyValueEvent: Hashable, Sendable {
    /// A key has changed, or is what it was when the watch began. Of several changes during an outage, or before the
    /// watch began, the newest of each key comes.
    case change(KeyValueChange)
    /// All that was there has come; what follows is new. Comes once on every connection.
    case live
    /// The store was deleted and made again; what follows is from its beginning.
    case restarted
    /// Nothing is watched for now, and it is tried again until it is; `passes` says that this is expected to pass by
    /// itself; otherwise a person has to change something.
    case interrupted(RelayError, passes: Bool)
}

/// The changes of keys.
public typealias KeyValueEvents = Subscription<KeyValueEvent>

extension KeyValueChange {
    init(_ entry: KeyValueEntry) {
        let time = Timestamp(milliseconds: entry.time.milliseconds)
        switch entry.operation {
        case .put:
            self = .put(
                StoredValue(
                    key: entry.key, value: ValueCoding.value(of: entry.value), revision: entry.revision, storedAt: time)
            )
        case .delete, .purge:
            self = .removed(key: entry.key, revision: entry.revision, at: time)
        }
    }
}

/// Values as they are stored: JSON text, as RelayX's SDKs write and read it.
enum ValueCoding {
    /// The bytes to store.
    ///
    /// - Throws: ``RelayError/invalidMessage(_:)`` for a value that would not be read as what it is: one with bytes, a
    ///   timestamp, an extension, a number that is not finite or a key that is no text, or that nests too deep.
    static func bytes(of value: MessageValue) throws(RelayError) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONText.append(value, to: &bytes)
        guard let read = try? JSONText.parse(bytes: bytes), read == value else {
            throw .invalidMessage("a key has what JSON can hold, and this is something else")
        }
        return bytes
    }

    /// The value in stored bytes; the bytes themselves where they are no JSON.
    static func value(of payload: ByteBuffer) -> MessageValue {
        let bytes = Array(payload.readableBytesView)
        guard let value = try? JSONText.parse(bytes: bytes) else { return .binary(bytes) }
        return value
    }
}
