import JSON5
import Relay

extension LabEvent: Codable {
    private enum Keys: String, CodingKey {
        case at, event, seconds, count, reason, recovered, words, topic, sequence, verdict
    }

    /// The event as an object, as in a line of a log. Times are in seconds.
    public var json: MessageMap { LabLog.object(self) }

    /// Writes the event and its payload into one object.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Keys.self)
        try values.encode(at, forKey: .at)
        func put(
            _ name: String, _ payload: (any Encodable)? = nil, _ fields: KeyValuePairs<Keys, any Encodable> = [:]
        ) throws {
            try values.encode(name, forKey: .event)
            try payload?.encode(to: encoder)
            for (key, value) in fields { try values.encode(value, forKey: key) }
        }
        switch kind {
        case .began(let heading): try put("began", heading)
        case .status(let status): try put("status", status)
        case .fault(let fault): try put("fault", fault)
        case .sent(let number): try put("sent", number)
        case .acknowledged(let number): try put("acknowledged", number)
        case .uncertain(let number): try put("uncertain", number)
        case .notSent(let number, let reason): try put("notSent", number, [.reason: reason])
        case .received(let number, let isRecovered): try put("received", number, [.recovered: isRecovered])
        case .arrived(let topic, let sequence, let isRecovered):
            try put("arrived", nil, [.topic: topic, .sequence: sequence, .recovered: isRecovered])
        case .missed(let topic, let count): try put("missed", nil, [.topic: topic, .count: count])
        case .expectation(let result): try put("expectation", result)
        case .roundTrip(let time): try put("roundTrip", nil, [.seconds: time])
        case .queued(let count): try put("queued", nil, [.count: count])
        case .note(let words): try put("note", nil, [.words: words])
        case .failed(let words): try put("failed", nil, [.words: words])
        case .ended(let figures, let passed): try put("ended", figures, [.verdict: passed ? "passed" : "failed"])
        }
    }

    /// Reads an event.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Keys.self)
        at = try values.decode(LabTime.self, forKey: .at)
        func text(_ key: Keys) throws -> String { try values.decode(String.self, forKey: key) }
        func isRecovered() throws -> Bool { try values.decode(Bool.self, forKey: .recovered) }
        func count() throws -> Int {
            let count = try values.decode(Int.self, forKey: .count)
            guard (0...1_000_000_000).contains(count) else {
                throw DecodingError.dataCorruptedError(forKey: .count, in: values, debugDescription: "no count")
            }
            return count
        }
        switch try text(.event) {
        case "began": kind = .began(try LabHeading(from: decoder))
        case "status": kind = .status(try LabStatus(from: decoder))
        case "fault": kind = .fault(try LabFault(from: decoder))
        case "sent": kind = .sent(try LabNumber(from: decoder))
        case "acknowledged": kind = .acknowledged(try LabNumber(from: decoder))
        case "uncertain": kind = .uncertain(try LabNumber(from: decoder))
        case "arrived":
            let sequence = try values.decode(UInt64.self, forKey: .sequence)
            kind = .arrived(topic: try text(.topic), sequence: sequence, isRecovered: try isRecovered())
        case "expectation": kind = .expectation(try LabExpectationResult(from: decoder))
        case "roundTrip": kind = .roundTrip(try values.decode(LabTime.self, forKey: .seconds))
        case "queued": kind = .queued(try count())
        case "notSent": kind = .notSent(try LabNumber(from: decoder), reason: try text(.reason))
        case "received": kind = .received(try LabNumber(from: decoder), isRecovered: try isRecovered())
        case "missed": kind = .missed(topic: try text(.topic), count: try count())
        case "note": kind = .note(try text(.words))
        case "failed": kind = .failed(try text(.words))
        case "ended": kind = .ended(try LabFigures(from: decoder), passed: try text(.verdict) == "passed")
        case let other:
            throw DecodingError.dataCorruptedError(forKey: .event, in: values, debugDescription: "no event \(other)")
        }
    }
}
