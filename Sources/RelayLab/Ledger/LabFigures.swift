import JSON5
import Relay

/// The figures of a ledger.
public struct LabFigures: Hashable, Sendable {
    /// Messages given to the client.
    public var sent = 0
    /// Messages that the server stored, according to the client.
    public var acknowledged = 0
    /// Messages that were not sent, according to the client.
    public var notSent = 0
    /// Messages whose outcome the client does not know.
    public var uncertain = 0
    /// Messages without an outcome so far.
    public var unsettled = 0
    /// Delivered messages, each counted once.
    public var received = 0
    /// Those of them that were missed and recovered.
    public var recovered = 0
    /// Duplicate deliveries.
    public var doubled = 0
    /// Messages that were acknowledged but not delivered, and missing ones of others.
    public var lost = 0
    /// Messages delivered after a later one of the same writer.
    public var outOfOrder = 0
    /// Messages that were delivered although the client reported them as not sent.
    public var contradicted = 0
    /// Deliveries of messages that no one sent.
    public var strange = 0
    /// The longest time from a fault until the client noticed it; nil if it noticed none.
    public var notice: LabTime?
    /// The longest time from the end of all faults until the client was connected again; nil if it never was.
    public var recovery: LabTime?

    typealias Count = any WritableKeyPath<LabFigures, Int> & Sendable
    typealias Time = any WritableKeyPath<LabFigures, LabTime?> & Sendable

    /// The counts by their names in logs and pages, in the order of display.
    static var counts: [(name: String, words: String, path: Count)] {
        [
            ("sent", "sent", \.sent), ("acknowledged", "acknowledged", \.acknowledged),
            ("received", "received", \.received), ("recovered", "recovered", \.recovered),
            ("lost", "missing", \.lost), ("doubled", "twice", \.doubled),
            ("outOfOrder", "out of order", \.outOfOrder), ("notSent", "reported as not sent", \.notSent),
            ("uncertain", "reported as uncertain", \.uncertain), ("unsettled", "not settled", \.unsettled),
            ("contradicted", "delivered and reported as not sent", \.contradicted),
            ("strange", "sent by nobody", \.strange),
        ]
    }

    static var times: [(name: String, words: String, path: Time)] {
        [("notice", "time to notice", \.notice), ("recovery", "time to recover", \.recovery)]
    }

    /// The figures in words and numbers, in the order of display.
    public var rows: [(name: String, words: String, value: String)] {
        Self.counts.map { ($0.name, $0.words, "\(self[keyPath: $0.path])") }
            + Self.times.map { ($0.name, $0.words, self[keyPath: $0.path].map { "\($0)" } ?? "–") }
    }

    /// The object for scripts; times in seconds, null if unknown.
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
