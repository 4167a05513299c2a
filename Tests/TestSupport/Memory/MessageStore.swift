/// The messages of a stream, by their sequences.
struct MessageStore: Sendable {
    struct Message: Sendable {
        var sequence: UInt64
        /// Nanoseconds since 1970.
        var time: Int64
        var frame: MemoryFrame

        /// What it counts as where bytes are limited.
        var size: Int { frame.subject.utf8.count + frame.size + 16 }
    }

    /// The sequence of the oldest message, or one more than the last when there is none; 0 before the very first.
    private(set) var first: UInt64 = 0
    /// The sequence of the newest message that was ever stored.
    private(set) var last: UInt64 = 0
    private(set) var bytes = 0
    private var messages: [UInt64: Message] = [:]
    /// The sequences of each subject's messages, in order.
    private var places: [String: [UInt64]] = [:]

    var count: Int { messages.count }
    var oldest: Message? { messages[first] }
    /// All messages, in order.
    var all: [Message] { messages.values.sorted { $0.sequence < $1.sequence } }
    subscript(sequence: UInt64) -> Message? { messages[sequence] }

    // MARK: Changes

    mutating func append(_ frame: MemoryFrame, at time: Int64) -> Message {
        last += 1
        if messages.isEmpty { first = last }
        let message = Message(sequence: last, time: time, frame: frame)
        messages[last] = message
        places[frame.subject, default: []].append(last)
        bytes += message.size
        return message
    }

    @discardableResult
    mutating func remove(_ sequence: UInt64) -> Message? {
        guard let message = messages.removeValue(forKey: sequence) else { return nil }
        let subject = message.frame.subject
        bytes -= message.size
        if let place = places[subject].map({ Self.firstIndex(in: $0, from: sequence) }) {
            places[subject]?.remove(at: place)
        }
        if places[subject]?.isEmpty == true { places[subject] = nil }
        if messages.isEmpty {
            first = last + 1
        } else {
            while messages[first] == nil { first += 1 }
        }
        return message
    }

    /// Takes the newest messages away, as a server does that lost them before they were on disk: their sequences are
    /// given out again.
    mutating func removeNewest(_ count: Int) {
        for message in all.suffix(max(0, count)) {
            remove(message.sequence)
            last = min(last, message.sequence - 1)
        }
        if messages.isEmpty { first = last == 0 ? 0 : last + 1 }
    }

    // MARK: Questions

    /// The next message at or behind a sequence that matches.
    func next(from sequence: UInt64, matching filter: SubjectPattern?) -> Message? {
        var sequence = max(sequence, first)
        while sequence <= last {
            if let message = messages[sequence], filter?.matches(message.frame.subject) ?? true { return message }
            sequence += 1
        }
        return nil
    }

    /// The sequences of the messages that match, in order.
    func sequences(matching filter: SubjectPattern?) -> [UInt64] {
        let found = places.filter { filter?.matches($0.key) ?? true }.values
        return found.flatMap { $0 }.sorted()
    }

    /// How many messages match from a sequence on.
    func count(from sequence: UInt64, matching filter: SubjectPattern?) -> Int {
        places.reduce(0) { sum, place in
            guard filter?.matches(place.key) ?? true else { return sum }
            return sum + place.value.count - Self.firstIndex(in: place.value, from: sequence)
        }
    }

    /// How many messages each subject that matches has.
    func counts(matching filter: SubjectPattern) -> [String: Int] {
        places.filter { filter.matches($0.key) }.mapValues(\.count)
    }

    /// How many subjects there are.
    var subjectCount: Int { places.count }

    /// How many messages a subject has.
    func count(of subject: String) -> Int { places[subject]?.count ?? 0 }

    /// The oldest message of a subject.
    func oldest(of subject: String) -> Message? { places[subject]?.first.flatMap { messages[$0] } }

    /// The newest message of a subject.
    func newest(of subject: String) -> Message? { places[subject]?.last.flatMap { messages[$0] } }

    /// The sequence of the newest message of each subject that matches, in order.
    func newestOfEach(matching filter: SubjectPattern?) -> [UInt64] {
        places.filter { filter?.matches($0.key) ?? true }.values.compactMap(\.last).sorted()
    }

    /// The place in an ordered list of the first number that is no smaller.
    private static func firstIndex(in list: [UInt64], from value: UInt64) -> Int {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
