import NATS
import NIOCore
import Platform
import Relay

/// JSON of the services.
enum Wire {
    /// A value as JSON, the same bytes for the same value. The service's own values always encode.
    static func json(_ value: some Encodable, isPretty: Bool = false) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
    }

    /// A value read from JSON; nil for what is none.
    static func value<Value: Decodable>(_ type: Value.Type, from bytes: some Sequence<UInt8>) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}

extension KeyValueBucket {
    /// The value of a key as the stream's leader has it; nil when it has none. A copy may be behind, and whoever
    /// changes what it read there has to begin again.
    func current(_ key: String) async throws(NATSError) -> KeyValueEntry? {
        do throws(NATSError) {
            let entry = KeyValueEntry(
                try await jetStream.lastMessage(
                    in: NetworkNames.stream(ofBucket: name), subject: NetworkNames.key(key, in: name)))
            return entry.operation == .put ? entry : nil
        } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.noMessageFound {
            return nil
        }
    }
}

extension NATSError {
    /// Whether somebody else has changed a key first.
    var isConflict: Bool {
        if case .jetStream(let failure) = self { KeyValueBucket.isConflict(failure) } else { false }
    }
}
