import Foundation
import NATS

// Streams: publishing into them, acknowledging what was read, and JetStream's API.
extension MemoryBroker {
    /// Stores a message and says so to its sender.
    ///
    /// - Returns: its sequence; nil when it was refused.
    mutating func store(_ frame: MemoryFrame, in name: String) -> UInt64? {
        let time = stamp()
        guard let outcome = streams[name]?.take(frame, at: time) else { return nil }
        let isAnswered = streams[name]?.settings.acknowledges == true && !faults.holdsAcknowledgements
        let sequence: UInt64?
        let text: String
        switch outcome {
        case .stored(let number):
            sequence = number
            text = "{\"stream\":\"\(name)\",\"seq\":\(number)}"
        case .duplicate(let number):
            sequence = number
            text = "{\"stream\":\"\(name)\",\"seq\":\(number),\"duplicate\":true}"
        case .refused(let failure):
            sequence = nil
            let error = String(decoding: failure.json.bytes, as: UTF8.self)
            text = "{\"error\":\(error),\"stream\":\"\(name)\",\"seq\":0}"
        }
        if isAnswered { answer(frame, Array(text.utf8)) }
        serve(name)
        return sequence
    }

    /// Brings readers of a stream what there is for them.
    mutating func serve(_ name: String) {
        let (readers, present) = (index, now)
        deliver(streams[name]?.serve(readers, at: present) ?? [])
    }

    /// Adds a stream; one that exists with the same settings is left as it is.
    ///
    /// - Returns: whether it is new.
    @discardableResult
    mutating func addStream(_ name: String, _ fields: [String: JSON]) throws(JetStreamRefusal) -> Bool {
        let settings = StreamSettings(name: name, fields)
        if let present = streams[name]?.settings {
            guard present == settings else {
                throw JetStreamRefusal(
                    400, JetStreamFailure.streamNameInUse,
                    "stream name already in use with a different configuration")
            }
            return false
        }
        try checkOverlap(settings, of: name)
        streams[name] = MemoryStream(settings, name: name, at: stamp())
        return true
    }

    private func checkOverlap(_ settings: StreamSettings, of name: String) throws(JetStreamRefusal) {
        if streams.values.contains(where: { $0.name != name && $0.settings.overlaps(settings) }) {
            throw JetStreamRefusal(400, 10_065, "subjects overlap with an existing stream")
        }
    }

    /// Removes a stream and tells its readers; false when there is none.
    mutating func removeStream(_ name: String) -> Bool {
        guard let stream = streams.removeValue(forKey: name) else { return false }
        deliver(stream.farewell)
        return true
    }

    /// Removes a consumer and tells its reader; false when there is none.
    mutating func removeConsumer(_ name: String, of stream: String) -> Bool {
        guard let farewell = streams[stream]?.removeConsumer(name) else { return false }
        deliver(farewell)
        return true
    }

    // MARK: Requests

    /// Takes a message to one of JetStream's own subjects; false when it is none of them.
    mutating func useJetStream(_ frame: MemoryFrame) -> Bool {
        if frame.subject.hasPrefix("$JS.ACK.") { return acknowledge(frame) }
        guard let prefix = apiPrefixes.first(where: { frame.subject.hasPrefix($0 + ".") }) else { return false }
        let words = frame.subject.dropFirst(prefix.count + 1).split(separator: ".")
        return call(words.map { String($0) }, frame)
    }

    /// `$JS.ACK.<stream>.<consumer>.<count>.<sequence>.<consumer's sequence>.<time>.<pending>`
    private mutating func acknowledge(_ frame: MemoryFrame) -> Bool {
        let words = frame.subject.split(separator: ".").map { String($0) }
        guard words.count == 9, let sequence = UInt64(words[5]), hasConsumer(words[3], of: words[2]) else {
            return false
        }
        let present = now
        streams[words[2]]?.acknowledge(
            sequence, of: words[3], String(decoding: frame.payload, as: UTF8.self), at: present)
        answer(frame, [])
        serve(words[2])
        return true
    }

    private func hasConsumer(_ name: String, of stream: String) -> Bool {
        streams[stream]?.consumers[name] != nil
    }

    private mutating func call(_ words: [String], _ frame: MemoryFrame) -> Bool {
        guard let first = words.first else { return false }
        let second = words.count > 1 ? words[1] : ""
        if first == "DIRECT", second == "GET" { return readDirectly(Array(words.dropFirst(2)), frame) }
        if first == "CONSUMER", second == "MSG" { return pull(Array(words.dropFirst(2)), frame) }
        let length = first == "INFO" ? 1 : second == "MSG" ? 3 : 2
        let operation = words.prefix(length).joined(separator: "_")
        var result: [String: JSON]
        do throws(JetStreamRefusal) {
            // An unknown call gets no answer.
            guard let found = try self.result(of: operation, Array(words.dropFirst(length)), frame) else { return true }
            result = found
        } catch {
            result = ["error": error.failure.json]
        }
        let type = first == "INFO" ? "account_info" : operation.lowercased()
        result["type"] = .string("io.nats.jetstream.api.v1.\(type)_response")
        answer(frame, JSON.object(result).bytes)
        return true
    }

    /// The fields of a request; none when it is empty.
    private func fields(of frame: MemoryFrame) throws(JetStreamRefusal) -> JSON {
        guard !frame.payload.isEmpty else { return JSON.object([:]) }
        guard let request = JSON(frame.payload), request.objectValue != nil else { throw JetStreamRefusal.invalidJSON }
        return request
    }

    /// What a call has to answer; nil for an unknown one.
    private mutating func result(
        of operation: String, _ names: [String], _ frame: MemoryFrame
    ) throws(JetStreamRefusal) -> [String: JSON]? {
        let request = try fields(of: frame)
        guard let stream = names.first else { return try accountResult(of: operation) }
        switch operation {
        case "STREAM_CREATE", "STREAM_UPDATE": return try change(stream, request, operation)
        case "STREAM_INFO": return try info(of: stream, request)
        case "STREAM_DELETE":
            guard removeStream(stream) else { throw JetStreamRefusal.streamNotFound }
            return ["success": true]
        case "STREAM_PURGE": return try purge(stream, request)
        case "STREAM_MSG_GET": return try read(stream, request)
        case "STREAM_MSG_DELETE": return try deleteMessage(of: stream, request)
        default: return try consumerResult(of: operation, names, request)
        }
    }

    private func accountResult(of operation: String) throws(JetStreamRefusal) -> [String: JSON]? {
        switch operation {
        case "INFO":
            let consumers = streams.values.reduce(0) { $0 + $1.consumers.count }
            return [
                "memory": 0, "storage": 0, "streams": .integer(Int64(streams.count)),
                "consumers": .integer(Int64(consumers)), "limits": .object([:]),
                "api": .object(["total": 0, "errors": 0]),
            ]
        case "STREAM_NAMES":
            return page(streams.keys.sorted().map { JSON.string($0) }, as: "streams", limit: 1_024)
        default: return nil
        }
    }

    private func page(_ values: [JSON], as name: String, limit: Int) -> [String: JSON] {
        [
            "total": .integer(Int64(values.count)), "offset": 0, "limit": .integer(Int64(limit)),
            name: .array(values),
        ]
    }

    // MARK: Streams

    private func check(_ stream: String) throws(JetStreamRefusal) {
        if streams[stream] == nil { throw JetStreamRefusal.streamNotFound }
    }

    private mutating func change(
        _ name: String, _ request: JSON, _ operation: String
    ) throws(JetStreamRefusal) -> [String: JSON] {
        guard let fields = request.objectValue, request["name"]?.stringValue ?? name == name else {
            throw JetStreamRefusal(400, 10_056, "stream name in subject does not match request")
        }
        if operation == "STREAM_UPDATE" {
            try check(name)
            let settings = StreamSettings(name: name, fields)
            try checkOverlap(settings, of: name)
            streams[name]?.update(settings)
            return streams[name]?.description() ?? [:]
        }
        let isNew = try addStream(name, fields)
        var result = streams[name]?.description() ?? [:]
        if isNew { result["did_create"] = true }
        return result
    }

    private func info(of name: String, _ request: JSON) throws(JetStreamRefusal) -> [String: JSON] {
        let filter = request["subjects_filter"]?.stringValue
        guard let result = streams[name]?.description(counting: filter.map { SubjectPattern($0) }) else {
            throw JetStreamRefusal.streamNotFound
        }
        var more: [String: JSON] = ["total": 0, "offset": 0, "limit": 0]
        // Servers before 2.10 do not say what time it is.
        if !self.info.version.hasPrefix("2.9.") { more["ts"] = .string(ServerTime(nanoseconds: now).description) }
        return result.merging(more) { $1 }
    }

    private mutating func purge(_ name: String, _ request: JSON) throws(JetStreamRefusal) -> [String: JSON] {
        try check(name)
        let filter = request["filter"]?.stringValue.map { SubjectPattern($0) }
        let purged = streams[name]?.purge(
            matching: filter, before: request["seq"]?.unsignedValue, keeping: Int(request["keep"]?.integerValue ?? 0))
        return ["success": true, "purged": .integer(Int64(purged ?? 0))]
    }

    // MARK: Single messages

    private static func find(_ request: JSON, in store: MessageStore) -> MessageStore.Message? {
        if let subject = request["last_by_subj"]?.stringValue {
            let pattern = SubjectPattern(subject)
            guard pattern.hasWildcards else { return store.newest(of: subject) }
            return store.sequences(matching: pattern).last.flatMap { store[$0] }
        }
        let sequence = request["seq"]?.unsignedValue
        if let subject = request["next_by_subj"]?.stringValue {
            return store.next(from: sequence ?? 1, matching: SubjectPattern(subject))
        }
        return sequence.flatMap { store[$0] }
    }

    private func read(_ name: String, _ request: JSON) throws(JetStreamRefusal) -> [String: JSON] {
        try check(name)
        guard let message = streams[name].flatMap({ Self.find(request, in: $0.store) }) else {
            throw JetStreamRefusal.noMessageFound
        }
        var fields: [String: JSON] = [
            "subject": .string(message.frame.subject), "seq": .unsigned(message.sequence),
            "time": .string(ServerTime(nanoseconds: message.time).description),
        ]
        if !message.frame.block.isEmpty { fields["hdrs"] = .string(Self.base64(message.frame.block)) }
        if !message.frame.payload.isEmpty { fields["data"] = .string(Self.base64(message.frame.payload)) }
        return ["message": .object(fields)]
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private mutating func deleteMessage(of name: String, _ request: JSON) throws(JetStreamRefusal) -> [String: JSON] {
        try check(name)
        if streams[name]?.settings.deniesDelete == true {
            throw JetStreamRefusal(500, 10_057, "message delete not permitted")
        }
        let sequence = request["seq"]?.unsignedValue ?? 0
        guard streams[name]?.remove(sequence) == true else {
            throw JetStreamRefusal(400, JetStreamFailure.sequenceNotFound, "sequence \(sequence) not found")
        }
        return ["success": true]
    }

    /// Answers with the message itself. `names` are the stream's, and behind it the subject's words where the newest
    /// message of a subject is wanted.
    private mutating func readDirectly(_ names: [String], _ frame: MemoryFrame) -> Bool {
        guard let name = names.first, streams[name]?.settings.allowsDirectAccess == true else { return false }
        let subject = names.dropFirst().joined(separator: ".")
        let request = subject.isEmpty ? JSON(frame.payload) : JSON.object(["last_by_subj": .string(subject)])
        guard let request, request.objectValue?.isEmpty == false else {
            answer(frame, [], block: HeaderText.block(status: "408 Empty Request"))
            return true
        }
        if let count = request["batch"]?.integerValue, count > 0, givesBatches {
            readBatch(of: Int(clamping: count), request, from: name, frame)
            return true
        }
        guard let message = streams[name].flatMap({ Self.find(request, in: $0.store) }) else {
            answer(frame, [], block: HeaderText.block(status: "404 Message Not Found"))
            return true
        }
        answer(
            frame, message.frame.payload,
            block: HeaderText.block(message.frame.block, adding: Self.place(of: message, in: name)))
        return true
    }

    /// What is written behind the headers of a message that is read directly.
    private static func place(of message: MessageStore.Message, in stream: String) -> [(name: String, value: String)] {
        [
            (name: "Nats-Stream", value: stream), (name: "Nats-Subject", value: message.frame.subject),
            (name: "Nats-Sequence", value: "\(message.sequence)"),
            (name: "Nats-Time-Stamp", value: ServerTime(nanoseconds: message.time).description),
        ]
    }

    /// Servers from 2.11 on answer a direct get with as many messages as are asked for.
    private var givesBatches: Bool {
        let numbers = info.version.split(separator: ".").prefix(2).compactMap { Int($0) }
        return numbers.count == 2 && (numbers[0], numbers[1]) >= (2, 11)
    }

    /// Answers with the messages from a sequence on, and says how many are left.
    private mutating func readBatch(of count: Int, _ request: JSON, from name: String, _ frame: MemoryFrame) {
        guard let store = streams[name]?.store else { return }
        let filter = SubjectPattern(request["next_by_subj"]?.stringValue ?? ">")
        let room = request["max_bytes"]?.integerValue.map { Int(clamping: $0) } ?? 64 << 20
        var next = request["seq"]?.unsignedValue ?? 1
        var pending = store.count(from: next, matching: filter)
        var last: UInt64 = 0
        var (sent, bytes) = (0, 0)
        func counts() -> [(name: String, value: String)] {
            [(name: "Nats-Num-Pending", value: "\(pending)"), (name: "Nats-Last-Sequence", value: "\(last)")]
        }
        while sent < count, sent == 0 || bytes < room, let message = store.next(from: next, matching: filter) {
            let fields = Self.place(of: message, in: name) + counts()
            answer(frame, message.frame.payload, block: HeaderText.block(message.frame.block, adding: fields))
            sent += 1
            bytes += message.frame.subject.utf8.count + message.frame.size
            pending -= 1
            (last, next) = (message.sequence, message.sequence + 1)
        }
        answer(
            frame, [],
            block: sent == 0
                ? HeaderText.block(status: "404 Message Not Found") : HeaderText.block(status: "204 EOB", counts()))
    }

    // MARK: Consumers

    private mutating func consumerResult(
        of operation: String, _ names: [String], _ request: JSON
    ) throws(JetStreamRefusal) -> [String: JSON]? {
        let stream = names[0]
        switch operation {
        case "CONSUMER_NAMES":
            try check(stream)
            let found = streams[stream]?.consumers.keys.sorted() ?? []
            return page(found.map { JSON.string($0) }, as: "consumers", limit: 1_024)
        case "CONSUMER_LIST":
            try check(stream)
            let found = (streams[stream]?.consumers ?? [:]).sorted { $0.key < $1.key }
            return page(
                found.map { JSON.object($0.value.description(stream: stream)) }, as: "consumers",
                limit: max(256, found.count))
        default: break
        }
        guard names.count > 1 else { return nil }
        let consumer = names[1]
        switch operation {
        case "CONSUMER_CREATE": return try makeConsumer(consumer, of: stream, names, request)
        case "CONSUMER_INFO":
            try check(stream)
            guard let found = streams[stream]?.consumers[consumer] else { throw JetStreamRefusal.consumerNotFound }
            return found.description(stream: stream)
        case "CONSUMER_DELETE":
            try check(stream)
            guard removeConsumer(consumer, of: stream) else { throw JetStreamRefusal.consumerNotFound }
            return ["success": true]
        default: return nil
        }
    }

    /// The filter is part of the subject, behind the names of stream and consumer.
    private mutating func makeConsumer(
        _ name: String, of stream: String, _ names: [String], _ request: JSON
    ) throws(JetStreamRefusal) -> [String: JSON] {
        try check(stream)
        guard let configuration = request["config"]?.objectValue else { throw JetStreamRefusal.invalidJSON }
        let filter = names.dropFirst(2).joined(separator: ".")
        guard filter.isEmpty || configuration["filter_subject"] == JSON.string(filter) else {
            throw JetStreamRefusal(
                400, 10_131, "Consumer create request did not match filtered subject from create subject")
        }
        let time = stamp()
        try streams[stream]?.addConsumer(name, configuration, at: time)
        return streams[stream]?.consumers[name]?.description(stream: stream) ?? [:]
    }

    /// Takes a request for messages; `names` are `NEXT`, the stream's and the consumer's.
    private mutating func pull(_ names: [String], _ frame: MemoryFrame) -> Bool {
        guard names.count == 3, names[0] == "NEXT", hasConsumer(names[2], of: names[1]) else { return false }
        guard let inbox = frame.reply else { return true }
        let request = frame.payload.isEmpty ? JSON.object([:]) : JSON(frame.payload) ?? JSON.null
        func number(_ key: String) -> Int64? { request[key]?.integerValue.flatMap { $0 > 0 ? $0 : nil } }
        let expires = number("expires")
        let heartbeat = number("idle_heartbeat")
        if let heartbeat, heartbeat > (expires ?? 0) / 2 {
            let words = "400 Bad Request - heartbeat value too large"
            answer(frame, [], block: HeaderText.block(status: words))
            return true
        }
        let present = now
        let pull = MemoryConsumer.Pull(
            inbox: inbox, left: Int(request.integerValue ?? number("batch") ?? 1),
            room: number("max_bytes").map { Int($0) }, expires: expires.map { present + $0 }, heartbeat: heartbeat,
            isImpatient: request["no_wait"]?.boolValue == true && expires == nil)
        streams[names[1]]?.addPull(pull, to: names[2], at: present)
        serve(names[1])
        return true
    }
}
