import JSON5
import Relay

/// What a ledger comes to.
public struct LabFigures: Hashable, Sendable {
    /// Messages that were handed over to the client.
    public var sent = 0
    /// Messages of which the client said that the server has stored them.
    public var acknowledged = 0
    /// Messages of which the client said that they were not sent.
    public var notSent = 0
    /// Messages of which the client said that it does not know.
    public var uncertain = 0
    /// Messages that were handed over and have not ended.
    public var unsettled = 0
    /// Messages that were delivered, each counted once.
    public var received = 0
    /// Messages among these that were missed and brought back.
    public var recovered = 0
    /// Deliveries beyond the first of a message.
    public var doubled = 0
    /// Messages that were acknowledged and not delivered, and those of others that are missing.
    public var lost = 0
    /// Messages that were delivered behind a later one of the same writer.
    public var outOfOrder = 0
    /// Messages that were delivered although the client said that they were not sent.
    public var contradicted = 0
    /// Deliveries of messages that nobody sent.
    public var strange = 0
    /// The longest time from a fault to the moment in which the client noticed it; nil where it noticed none.
    public var notice: LabTime?
    /// The longest time until the client was connected again, from when nothing was in the way any more; nil where it
    /// never was.
    public var recovery: LabTime?

    typealias Count = any WritableKeyPath<LabFigures, Int> & Sendable
    typealias Time = any WritableKeyPath<LabFigures, LabTime?> & Sendable

    /// The counts by their names in logs and pages, in the order in which they are shown.
    static var counts: [(name: String, words: String, path: Count)] {
        [
            ("sent", "sent", \.sent), ("acknowledged", "acknowledged", \.acknowledged),
            ("received", "received", \.received), ("recovered", "recovered", \.recovered),
            ("lost", "missing", \.lost), ("doubled", "twice", \.doubled),
            ("outOfOrder", "out of order", \.outOfOrder), ("notSent", "reported as not sent", \.notSent),
            ("uncertain", "told as uncertain", \.uncertain), ("unsettled", "not settled", \.unsettled),
            ("contradicted", "delivered and reported as not sent", \.contradicted),
            ("strange", "sent by nobody", \.strange),
        ]
    }

    /// The times by their names, as ``counts``.
    static var times: [(name: String, words: String, path: Time)] {
        [("notice", "time to notice", \.notice), ("recovery", "time to recover", \.recovery)]
    }

    /// The figures in words and in numbers, in the order in which they are shown.
    public var rows: [(name: String, words: String, value: String)] {
        Self.counts.map { ($0.name, $0.words, "\(self[keyPath: $0.path])") }
            + Self.times.map { ($0.name, $0.words, self[keyPath: $0.path].map { "\($0)" } ?? "–") }
    }

    /// The object that scripts read; times in seconds, null where there is none.
    public var json: MessageMap { LabLog.object(self) }
}

extension LabFigures: Codable {
    /// Writes each figure under its name.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: PathKey.self)
        for (name, _, path) in Self.counts { try values.encode(self[keyPath: path], forKey: PathKey(name)) }
        for (name, _, path) in Self.times { try values.encode(self[keyPath: path], forKey: PathKey(name)) }
    }

    /// Reads the figures.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: PathKey.self)
        for (name, _, path) in Self.counts { self[keyPath: path] = try values.decode(Int.self, forKey: PathKey(name)) }
        for (name, _, path) in Self.times {
            self[keyPath: path] = try values.decode(LabTime?.self, forKey: PathKey(name))
        }
    }
}
