/// The outcome of each message of a run, by its number.
public struct LabLedger: Hashable, Sendable {
    enum Delivery: Hashable, Sendable {
        /// The message's first, in order.
        case first
        /// The message's first, after a later one of its writer.
        case late
        /// A duplicate.
        case again
        /// One of a message that no one sent.
        case strange
    }

    private struct Marks: OptionSet, Hashable, Sendable {
        let rawValue: UInt8

        static let sent = Marks(rawValue: 1)
        static let acknowledged = Marks(rawValue: 2)
        static let notSent = Marks(rawValue: 4)
        static let uncertain = Marks(rawValue: 8)
        static let received = Marks(rawValue: 16)

        var isUnsettled: Bool { contains(.sent) && isDisjoint(with: [.acknowledged, .notSent, .uncertain]) }
        var isLost: Bool { contains(.acknowledged) && !contains(.received) }
        var isContradicted: Bool { contains(.notSent) && contains(.received) }
    }

    private struct Writer: Hashable, Sendable {
        /// In the order of their numbers.
        private(set) var messages: [Marks] = []
        private var newest = 0

        func marks(_ value: Int) -> Marks { messages.indices.contains(value - 1) ? messages[value - 1] : [] }

        mutating func deliver(_ value: Int) -> Delivery {
            let before = marks(value)
            guard before.contains(.sent) else { return .strange }
            guard !before.contains(.received) else { return .again }
            mark(value, .received)
            guard value > newest else { return .late }
            newest = value
            return .first
        }

        mutating func mark(_ value: Int, _ marks: Marks) {
            // A number is never larger than ``LabNumber/maximum``.
            while messages.count < value { messages.append([]) }
            messages[value - 1].formUnion(marks)
        }
    }

    /// The messages from others on one topic, by stream sequence.
    private struct Arrivals: Hashable, Sendable {
        var places: Set<UInt64> = []
        var newest: UInt64 = 0

        mutating func take(_ place: UInt64) -> Delivery {
            guard places.insert(place).inserted else { return .again }
            guard place > newest else { return .late }
            newest = place
            return .first
        }
    }

    /// The maximum number of writers of a run; messages of others are strange.
    static let maximumWriters = 64
    /// The maximum number of messages named for each kind of mistake.
    static let maximumNames = 100

    private var writers: [String: Writer] = [:]
    private var figuresNow = LabFigures()
    private var outages = LabOutages()
    private var arrivals: [String: Arrivals] = [:]
    /// The deliveries other than first ones, by kind, up to ``maximumNames`` of each.
    private(set) var faulty: [Delivery: [String]] = [:]
    /// How many messages of others are missing, by topic.
    private(set) var missing: [String: Int] = [:]

    /// Adds an event; returns the kind of a delivery, or nil for other events.
    @discardableResult
    mutating func take(_ event: LabEvent) -> Delivery? {
        switch event.kind {
        case .sent(let number): mark(number, .sent)
        case .acknowledged(let number): mark(number, .acknowledged)
        case .notSent(let number, _): mark(number, .notSent)
        case .uncertain(let number): mark(number, .uncertain)
        case .received(let number, let isRecovered):
            let delivery = deliver(number)
            if isRecovered, delivery != .again { figuresNow.recovered += 1 }
            return delivery
        case .arrived(let topic, let sequence, let isRecovered): return deliver(sequence, on: topic, isRecovered)
        case .missed(let topic, let count): missing[topic, default: 0] += count
        case .status(let status): outages.take(status, at: event.at)
        case .fault(let fault): outages.take(fault, at: event.at)
        case .began, .roundTrip, .queued, .expectation, .note, .failed, .ended: break
        }
        return nil
    }

    private mutating func mark(_ number: LabNumber, _ marks: Marks) {
        guard writers[number.writer] != nil || writers.count < Self.maximumWriters else { return }
        writers[number.writer, default: Writer()].mark(number.value, marks)
    }

    private mutating func deliver(_ number: LabNumber) -> Delivery {
        // In place: each copy would cost as much as all deliveries before it.
        let delivery = writers[number.writer]?.deliver(number.value) ?? .strange
        count(delivery, number.description)
        return delivery
    }

    private mutating func deliver(_ sequence: UInt64, on topic: String, _ isRecovered: Bool) -> Delivery {
        let delivery = arrivals[topic, default: Arrivals()].take(sequence)
        count(delivery, "\(topic) \(sequence)")
        if delivery != .again { figuresNow.received += 1 }
        if delivery != .again, isRecovered { figuresNow.recovered += 1 }
        return delivery
    }

    private mutating func count(_ delivery: Delivery, _ name: @autoclosure () -> String) {
        switch delivery {
        case .first: return
        case .late: figuresNow.outOfOrder += 1
        case .again: figuresNow.doubled += 1
        case .strange: figuresNow.strange += 1
        }
        if faulty[delivery, default: []].count < Self.maximumNames { faulty[delivery, default: []].append(name()) }
    }

    func wasSent(_ number: LabNumber) -> Bool {
        writers[number.writer]?.marks(number.value).contains(.sent) == true
    }

    /// Whether a message of another writer was delivered.
    public func hasArrived(topic: String, sequence: UInt64) -> Bool {
        arrivals[topic]?.places.contains(sequence) == true
    }

    /// The current figures. Acknowledged messages count as lost until they are delivered, even if still on their way.
    public var figures: LabFigures {
        var figures = figuresNow
        for writer in writers.values {
            for marks in writer.messages {
                if marks.contains(.sent) { figures.sent += 1 }
                if marks.contains(.acknowledged) { figures.acknowledged += 1 }
                if marks.contains(.notSent) { figures.notSent += 1 }
                if marks.contains(.uncertain) { figures.uncertain += 1 }
                if marks.contains(.received) { figures.received += 1 }
                if marks.isUnsettled { figures.unsettled += 1 }
                if marks.isLost { figures.lost += 1 }
                if marks.isContradicted { figures.contradicted += 1 }
            }
        }
        figures.lost += missing.values.reduce(0, +)
        figures.notice = outages.notice
        figures.recovery = outages.recovery
        return figures
    }

    var lost: [LabNumber] { named(\.isLost) }
    var unsettled: [LabNumber] { named(\.isUnsettled) }
    var contradicted: [LabNumber] { named(\.isContradicted) }

    private func named(_ isWanted: (Marks) -> Bool) -> [LabNumber] {
        var names: [LabNumber] = []
        for name in writers.keys.sorted() {
            for (index, marks) in (writers[name]?.messages ?? []).enumerated() where isWanted(marks) {
                guard names.count < Self.maximumNames else { return names }
                if let number = LabNumber(writer: name, value: index + 1) { names.append(number) }
            }
        }
        return names
    }
}
