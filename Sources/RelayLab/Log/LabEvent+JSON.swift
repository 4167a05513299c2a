import Relay

extension LabEvent {
    /// The object of this event, as it stands on a line of a log. Times are in seconds.
    public var json: MessageMap {
        var map: MessageMap = ["at": .double(at.seconds), "event": .string(kind.name)]
        func put(_ key: String, _ value: MessageValue?) { if let value { map[key] = value } }
        switch kind {
        case .began(let heading):
            map["title"] = .string(heading.title)
            map["seed"] = .integer(heading.seed)
            map["policy"] = .string(heading.policy)
            map["speed"] = .double(heading.speed)
            put("server", heading.server.map { .string($0) })
            put("time", heading.time.map { .string($0) })
        case .status(let status):
            map["status"] = .string(status.state)
            map["attempt"] = .int(Int64(status.attempt))
            put("reason", status.reason.map { .string($0) })
            put("words", status.words.map { .string($0) })
            put("retryIn", status.retryIn.map { .double($0.seconds) })
            put("silent", status.isSilent ? .bool(true) : nil)
        case .roundTrip(let time): map["seconds"] = .double(time.seconds)
        case .fault(let fault):
            map["fault"] = .string(fault.name)
            map["phase"] = .string(fault.phase.rawValue)
            put("detail", fault.detail.isEmpty ? nil : .string(fault.detail))
        case .queued(let count): map["count"] = .int(Int64(count))
        case .sent(let number), .acknowledged(let number), .uncertain(let number): map.put(number)
        case .notSent(let number, let reason):
            map.put(number)
            map["reason"] = .string(reason)
        case .received(let number, let isRecovered):
            map.put(number)
            map["recovered"] = .bool(isRecovered)
        case .arrived(let arrival):
            map["topic"] = .string(arrival.topic)
            map["sequence"] = .integer(arrival.sequence)
            map["recovered"] = .bool(arrival.isRecovered)
        case .missed(let topic, let count):
            map["topic"] = .string(topic)
            map["count"] = .int(Int64(count))
        case .expectation(let result):
            map["words"] = .string(result.words)
            map["met"] = .bool(result.isMet)
            map["took"] = .double(result.took.seconds)
            put("instead", result.instead.map { .string($0) })
        case .note(let words), .failed(let words): map["words"] = .string(words)
        case .ended(let figures, let passed):
            map["verdict"] = .string(passed ? "passed" : "failed")
            map.entries += figures.json.entries
        }
        return map
    }

    /// Reads what ``json`` wrote.
    ///
    /// - Throws: ``LabLogError`` without a line.
    public init(_ json: MessageMap) throws(LabLogError) {
        guard let name = json["event"]?.stringValue else { throw LabLogError("it has no event") }
        at = try json.time("at")
        switch name {
        case "began":
            guard let seed = json["seed"]?.unsignedValue else { throw LabLogError("it has no seed") }
            kind = .began(
                LabHeading(
                    title: try json.text("title"), seed: seed, policy: try json.text("policy"),
                    speed: json["speed"]?.doubleValue ?? 1, server: json["server"]?.stringValue,
                    time: json["time"]?.stringValue))
        case "status":
            kind = .status(
                LabStatus(
                    state: try json.text("status"), reason: json["reason"]?.stringValue,
                    words: json["words"]?.stringValue, attempt: try json.count("attempt"),
                    retryIn: json["retryIn"]?.doubleValue.flatMap { LabTime(seconds: $0) },
                    isSilent: json["silent"]?.boolValue ?? false))
        case "roundTrip": kind = .roundTrip(try json.time("seconds"))
        case "fault":
            guard let phase = LabFault.Phase(rawValue: try json.text("phase")) else {
                throw LabLogError("its phase is unknown")
            }
            kind = .fault(LabFault(try json.text("fault"), detail: json["detail"]?.stringValue ?? "", phase))
        case "queued": kind = .queued(try json.count("count"))
        case "sent": kind = .sent(try json.number())
        case "acknowledged": kind = .acknowledged(try json.number())
        case "uncertain": kind = .uncertain(try json.number())
        case "notSent": kind = .notSent(try json.number(), reason: try json.text("reason"))
        case "received":
            kind = .received(try json.number(), isRecovered: json["recovered"]?.boolValue ?? false)
        case "arrived":
            guard let sequence = json["sequence"]?.unsignedValue else { throw LabLogError("it has no sequence") }
            kind = .arrived(
                LabArrival(
                    topic: try json.text("topic"), sequence: sequence,
                    isRecovered: json["recovered"]?.boolValue ?? false))
        case "missed": kind = .missed(topic: try json.text("topic"), count: try json.count("count"))
        case "expectation":
            kind = .expectation(
                LabExpectationResult(
                    words: try json.text("words"), isMet: json["met"]?.boolValue ?? false, took: try json.time("took"),
                    instead: json["instead"]?.stringValue))
        case "note": kind = .note(try json.text("words"))
        case "failed": kind = .failed(try json.text("words"))
        case "ended":
            guard let figures = LabFigures(json) else { throw LabLogError("it lacks a figure") }
            kind = .ended(figures, passed: json["verdict"]?.stringValue == "passed")
        default: throw LabLogError("its event is unknown")
        }
    }
}

extension LabEvent.Kind {
    /// What the event is called in a log.
    public var name: String {
        switch self {
        case .began: "began"
        case .status: "status"
        case .roundTrip: "roundTrip"
        case .fault: "fault"
        case .queued: "queued"
        case .sent: "sent"
        case .acknowledged: "acknowledged"
        case .notSent: "notSent"
        case .uncertain: "uncertain"
        case .received: "received"
        case .arrived: "arrived"
        case .missed: "missed"
        case .expectation: "expectation"
        case .note: "note"
        case .failed: "failed"
        case .ended: "ended"
        }
    }
}

extension MessageMap {
    fileprivate mutating func put(_ number: LabNumber) {
        self["writer"] = .string(number.writer)
        self["n"] = .int(Int64(number.value))
    }

    fileprivate func text(_ key: String) throws(LabLogError) -> String {
        guard let text = self[key]?.stringValue else { throw LabLogError("it has no “\(key)”") }
        return text
    }

    fileprivate func count(_ key: String) throws(LabLogError) -> Int {
        guard let number = self[key]?.intValue.flatMap({ Int32(exactly: $0) }).map({ Int($0) }), number >= 0 else {
            throw LabLogError("it has no count “\(key)”")
        }
        return number
    }

    fileprivate func time(_ key: String) throws(LabLogError) -> LabTime {
        guard let time = self[key]?.doubleValue.flatMap({ LabTime(seconds: $0) }) else {
            throw LabLogError("it has no time “\(key)”")
        }
        return time
    }

    fileprivate func number() throws(LabLogError) -> LabNumber {
        guard let writer = self["writer"]?.stringValue, let value = self["n"]?.intValue.flatMap({ Int(exactly: $0) }),
            let number = LabNumber(writer: writer, value: value)
        else { throw LabLogError("it has no message's number") }
        return number
    }
}

extension MessageValue {
    fileprivate var unsignedValue: UInt64? {
        switch self {
        case .int(let number): UInt64(exactly: number)
        case .unsigned(let number): number
        default: nil
        }
    }
}
