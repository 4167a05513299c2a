/// The course of a run, for drawing.
public struct LabTimeline: Hashable, Sendable {
    /// A state or silence of the connection, or a fault. Without an end it lasts; a momentary fault ends where it
    /// begins.
    struct Span<What: Hashable & Sendable>: Hashable, Sendable {
        var what: What
        var from: LabTime
        var to: LabTime?
    }

    /// A mark for a message.
    enum Mark: Hashable, Sendable { case sent, recovered, doubled }

    /// The maximum number of spans, of states and of faults; further ones extend the last.
    private static let maximumSpans = 4_096

    private(set) var states: [Span<LabStatus>] = []
    private(set) var faults: [Span<LabFault>] = []
    /// When the client tried to connect, with the number of the attempt.
    private(set) var attempts = LabSeries<Int>()
    private(set) var roundTrips = LabSeries<LabTime>()
    /// The number of messages waiting or in flight.
    private(set) var queued = LabSeries<Int>()
    private(set) var marks = LabSeries<Mark>()
    /// The time of the newest event.
    private(set) var end = LabTime.zero
    private var newest: LabStatus?

    /// Adds an event, with the ledger's kind of a delivery.
    mutating func take(_ event: LabEvent, delivery: LabLedger.Delivery? = nil) {
        end = max(end, event.at)
        switch event.kind {
        case .status(let status): take(status, at: event.at)
        case .fault(let fault): take(fault, at: event.at)
        case .roundTrip(let time): roundTrips.append(time, at: event.at)
        case .queued(let count): queued.append(count, at: event.at)
        case .sent: marks.append(.sent, at: event.at)
        case .received(_, let isRecovered), .arrived(_, _, let isRecovered):
            if delivery == .again || isRecovered {
                marks.append(delivery == .again ? .doubled : .recovered, at: event.at)
            }
        case .began, .acknowledged, .notSent, .uncertain, .missed, .expectation, .note, .failed, .ended: break
        }
    }

    private mutating func take(_ status: LabStatus, at now: LabTime) {
        // An attempt is running if none is waited for; it is counted once.
        let isNew = newest?.attempt != status.attempt || newest?.retryIn != nil
        if status.attempt > 0, status.retryIn == nil, isNew { attempts.append(status.attempt, at: now) }
        newest = status
        let last = states.last?.what
        guard status.state != last?.state || status.isSilent != last?.isSilent else { return }
        guard states.count < Self.maximumSpans else { return }
        if !states.isEmpty { states[states.count - 1].to = now }
        states.append(Span(what: status, from: now))
    }

    private mutating func take(_ fault: LabFault, at now: LabTime) {
        switch fault.phase {
        case .began, .struck:
            guard faults.count < Self.maximumSpans else { return }
            faults.append(Span(what: fault, from: now, to: fault.phase == .struck ? now : nil))
        case .ended:
            guard let index = faults.lastIndex(where: { $0.what.name == fault.name && $0.to == nil }) else { return }
            faults[index].to = now
        }
    }
}

/// Points of a curve over a run's time. When there are too many, every second one is dropped, as runs may be long.
struct LabSeries<Value: Hashable & Sendable>: Hashable, Sendable {
    struct Point: Hashable, Sendable {
        var at: LabTime
        var value: Value
    }

    static var maximumCount: Int { 4_096 }

    private(set) var points: [Point] = []
    /// One of this many is kept.
    private var stride = 1
    private var skipped = 0

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
