/// What happened when, for drawing: a pure value that hears of one event after the other.
public struct LabTimeline: Hashable, Sendable {
    /// A stretch of time in which the connection was in one state, or one of its silences.
    public struct Stretch: Hashable, Sendable {
        /// The status with which it began.
        public var status: LabStatus
        /// When it began.
        public var from: LabTime
        /// When it ended; nil while it lasts.
        public var to: LabTime?
    }

    /// A fault with its time.
    public struct FaultStretch: Hashable, Sendable {
        /// What it is called.
        public var name: String
        /// What else there is to say of it.
        public var detail: String
        /// When it began.
        public var from: LabTime
        /// When it ended; the same moment for a fault that struck once, nil while it lasts.
        public var to: LabTime?
    }

    /// What a delivery or a message was, at its moment.
    public enum Mark: String, Hashable, Sendable, CaseIterable {
        /// A message that was handed over to the client.
        case sent
        /// A message that was missed and brought back.
        case recovered
        /// A message that was delivered again.
        case doubled
    }

    /// Most stretches, of states and of faults; more lengthen the last one.
    public static let maximumStretches = 4_096

    /// The states, one behind the other.
    public private(set) var states: [Stretch] = []
    /// The faults, by their beginning.
    public private(set) var faults: [FaultStretch] = []
    /// When the client tried, with the attempt's number.
    public private(set) var attempts = LabSeries<Int>()
    /// The round trips.
    public private(set) var roundTrips = LabSeries<LabTime>()
    /// How many messages waited or were under way.
    public private(set) var queued = LabSeries<Int>()
    /// What happened to messages.
    public private(set) var marks = LabSeries<Mark>()
    /// The moment of the newest event.
    public private(set) var end = LabTime.zero
    /// The status that was heard last.
    private var newest: LabStatus?

    /// Nothing yet.
    public init() {}

    /// Takes in what happened.
    ///
    /// - Parameter delivery: what the ledger says that a delivery was.
    public mutating func take(_ event: LabEvent, delivery: LabLedger.Delivery? = nil) {
        end = max(end, event.at)
        switch event.kind {
        case .status(let status): take(status, at: event.at)
        case .fault(let fault): take(fault, at: event.at)
        case .roundTrip(let time): roundTrips.append(time, at: event.at)
        case .queued(let count): queued.append(count, at: event.at)
        case .sent: marks.append(.sent, at: event.at)
        case .received(_, let isRecovered): mark(delivery, isRecovered: isRecovered, at: event.at)
        case .arrived(_, _, let isRecovered): mark(delivery, isRecovered: isRecovered, at: event.at)
        case .began, .acknowledged, .notSent, .uncertain, .missed, .expectation, .note, .failed, .ended: break
        }
    }

    private mutating func mark(_ delivery: LabLedger.Delivery?, isRecovered: Bool, at now: LabTime) {
        if delivery == .again {
            marks.append(.doubled, at: now)
        } else if isRecovered {
            marks.append(.recovered, at: now)
        }
    }

    private mutating func take(_ status: LabStatus, at now: LabTime) {
        // An attempt runs where nothing is waited for, and is told once.
        let isNew = newest?.attempt != status.attempt || newest?.retryIn != nil
        if status.attempt > 0, status.retryIn == nil, isNew { attempts.append(status.attempt, at: now) }
        newest = status
        let last = states.last?.status
        guard status.state != last?.state || status.isSilent != last?.isSilent else { return }
        guard states.count < Self.maximumStretches else { return }
        if !states.isEmpty { states[states.count - 1].to = now }
        states.append(Stretch(status: status, from: now))
    }

    private mutating func take(_ fault: LabFault, at now: LabTime) {
        switch fault.phase {
        case .began, .struck:
            guard faults.count < Self.maximumStretches else { return }
            faults.append(
                FaultStretch(
                    name: fault.name, detail: fault.detail, from: now, to: fault.phase == .struck ? now : nil))
        case .ended:
            guard let index = faults.lastIndex(where: { $0.name == fault.name && $0.to == nil }) else { return }
            faults[index].to = now
        }
    }
}

/// Points of a curve over a run's time. Where there are too many, every second one goes, so that any length of a run
/// fits.
public struct LabSeries<Value: Hashable & Sendable>: Hashable, Sendable {
    /// A value at a moment.
    public struct Point: Hashable, Sendable {
        /// The moment.
        public var at: LabTime
        /// The value.
        public var value: Value
    }

    /// Most points.
    public static var maximumCount: Int { 4_096 }

    /// The points in the order of time.
    public private(set) var points: [Point] = []
    /// One of so many is kept.
    private var stride = 1
    private var skipped = 0

    init() {}

    mutating func append(_ value: Value, at moment: LabTime) {
        skipped += 1
        guard skipped >= stride else { return }
        skipped = 0
        points.append(Point(at: moment, value: value))
        guard points.count >= Self.maximumCount else { return }
        points = points.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        stride *= 2
    }
}
