import NATS
import NIOCore

/// The value of a key in the network's key-value store.
public struct StoredValue: Hashable, Sendable {
    /// The key.
    public let key: String
    /// Its value. ``MessageValue/null`` is a value like any other. Bytes other than JSON, which only other programs
    /// store, become ``MessageValue/binary(_:)``.
    public let value: MessageValue
    /// The number of the change that stored it: unique in the store, and later changes have higher ones.
    public let revision: UInt64
    /// When it was stored, by the server's clock.
    public let storedAt: Timestamp

    /// Creates a value.
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

    /// The key's new value; nil if it was removed.
    public var stored: StoredValue? {
        switch self {
        case .put(let stored): stored
        case .removed: nil
        }
    }
}

/// An event of a watch.
public enum KeyValueEvent: Hashable, Sendable {
    /// A key has changed, or had this value when the watch began. Of several changes during an outage, or before the
    /// watch began, only the newest of each key is reported.
    case change(KeyValueChange)
    /// All existing values have been reported; what follows is new. Once per connection.
    case live
    /// The store was deleted and recreated; what follows is from its beginning.
    case restarted
    /// The watch is interrupted, and retried until it is restored. `passes` says that this should end without help;
    /// otherwise someone has to change something.
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

/// Stored values: JSON text, as RelayX's SDKs write and read it.
enum ValueCoding {
    /// The bytes to store.
    ///
    /// - Throws: ``RelayError/invalidMessage(_:)`` for a value that would not be read back as the same: one with bytes,
    ///   a timestamp, an extension, a number that is not finite or a key that is no text, or one nested too deeply.
    static func bytes(of value: MessageValue) throws(RelayError) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONText.append(value, to: &bytes)
        guard let read = try? JSONText.parse(bytes: bytes), read == value else {
            throw .invalidMessage("a key has what JSON can hold, and this is something else")
        }
        return bytes
    }

    /// The value in stored bytes; the bytes themselves if they are no JSON.
    static func value(of payload: ByteBuffer) -> MessageValue {
        let bytes = Array(payload.readableBytesView)
        guard let value = try? JSONText.parse(bytes: bytes) else { return .binary(bytes) }
        return value
    }
}
