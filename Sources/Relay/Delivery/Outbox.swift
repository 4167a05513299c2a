/// What waits to be sent and what is under way, as a pure value.
///
/// Messages leave in the order in which they came, destination by destination, and only while the outbox is open: from
/// the moment the subscriptions are live until the connection is lost. What was under way when it is lost goes back to
/// its place and is sent again under the same identifier. Every accepted message ends in exactly one
/// ``PublishOutcome``.
package struct Outbox: Sendable {
    /// What became of a message that was put in.
    package enum Admission: Hashable, Sendable {
        /// It waits.
        case accepted
        /// It waits, and these older ones gave way for it.
        case acceptedDropping([PublishResolution])
        /// It was refused; the outbox never knew it.
        case rejected(RelayError)
    }

    /// A message that was sent so long ago that the server may have forgotten its identifier, or one that sets a key.
    package struct LateMessage: Hashable, Sendable {
        /// The message.
        package var message: OutboxMessage
        /// The newest sequence of the stream that was known when it was first sent; nil when none was. Of a key it is
        /// the key's own newest revision then, and nil where this run has not sent the message.
        package var newestBefore: UInt64?

        /// Describes one.
        package init(message: OutboxMessage, newestBefore: UInt64?) {
            self.message = message
            self.newestBefore = newestBefore
        }
    }

    /// What to send now.
    package struct Batch: Hashable, Sendable {
        /// The messages, in order.
        package var messages: [OutboxMessage] = []
        /// Messages that are to be looked for before they are sent again. They count as under way.
        package var late: [LateMessage] = []
        /// When to ask again, where the pacing or a refusal holds messages back.
        package var resumeAt: ContinuousClock.Instant?
    }

    /// The outbox's bounds and rules.
    package let policy: OutboxPolicy
    /// Whether messages may leave.
    package private(set) var isOpen = false
    /// How many messages wait or are under way.
    package var count: Int { placed.count }
    /// How many bytes of payload wait or are under way.
    package private(set) var byteCount = 0
    /// How many messages are sent and not yet acknowledged.
    package private(set) var inFlightCount = 0
    /// How many messages wait.
    package var queuedCount: Int { count - inFlightCount }
    /// Whether nothing waits and nothing is under way.
    package var isEmpty: Bool { placed.isEmpty }

    /// Where each message is: its lane, its place there, and its number in the order of all.
    private var placed: [String: Place] = [:]
    private var lanes: [OutboxLane] = []
    private var laneOf: [Destination: Int] = [:]
    /// The lane of the message that came last: the next one mostly goes there too.
    private var newestLane = 0
    private var nextNumber: UInt64 = 0
    /// Messages below this number were waiting when the outbox was opened.
    private var flushEnd: UInt64 = 0
    private var unflushed = 0
    /// Those of them that were refused since: a connection counts as restored without them.
    private var excused: Set<UInt64> = []
    private var pace: OutboxPace?

    private struct Place: Sendable {
        let lane: Int
        let index: Int
        let number: UInt64
    }

    /// An empty, closed outbox.
    package init(policy: OutboxPolicy = .parley) {
        self.policy = policy
        pace = policy.pacing.map(OutboxPace.init)
    }

    // MARK: Waiting

    /// Puts a message at the end of the queue. Works at any time, connected or not.
    package mutating func enqueue(_ message: OutboxMessage) -> Admission {
        let size = message.payload.count
        guard size <= policy.maximumBytes else {
            return placed[message.id] == nil
                ? .rejected(.tooLarge(bytes: size, limit: policy.maximumBytes)) : Self.repeated(message.id)
        }
        var dropped: [PublishResolution] = []
        if !hasRoom(for: size) {
            guard placed[message.id] == nil else { return Self.repeated(message.id) }
            guard policy.overflow == .dropOldest, canFree(for: size) else { return .rejected(.outboxFull) }
            while !hasRoom(for: size), let oldest = dropOldest() { dropped.append(oldest) }
        }
        let lane = lane(to: message.destination)
        let place = Place(lane: lane, index: lanes[lane].nextPlace, number: nextNumber)
        if let earlier = placed.updateValue(place, forKey: message.id) {
            placed[message.id] = earlier
            return Self.repeated(message.id)
        }
        lanes[lane].append(OutboxEntry(number: nextNumber, message: message))
        nextNumber += 1
        byteCount += size
        return dropped.isEmpty ? .accepted : .acceptedDropping(dropped)
    }

    /// Why ``enqueue(_:)`` would refuse a message now; nil when it would take it.
    package func refusal(of message: OutboxMessage) -> RelayError? {
        let size = message.payload.count
        if placed[message.id] != nil { return Self.repetition(message.id) }
        guard size <= policy.maximumBytes else { return .tooLarge(bytes: size, limit: policy.maximumBytes) }
        return hasRoom(for: size) || (policy.overflow == .dropOldest && canFree(for: size)) ? nil : .outboxFull
    }

    private static func repeated(_ id: String) -> Admission { .rejected(repetition(id)) }

    private static func repetition(_ id: String) -> RelayError {
        .invalidArgument("A message with the identifier \(id) is already on its way")
    }

    /// Takes back a message that has not left yet.
    ///
    /// - Returns: its end, or nil when it is unknown or already under way.
    package mutating func cancel(id: String) -> PublishResolution? {
        guard let place = placed[id], lanes[place.lane].isQueued(place.index) else { return nil }
        return end(id, .failed(.cancelled))
    }

    /// Whether a message waits or is under way; nil for one that is unknown or has ended.
    package func state(of id: String) -> PublishState? {
        guard let place = placed[id] else { return nil }
        return lanes[place.lane].isQueued(place.index) ? .queued : .sending
    }

    /// Whether a message waits for a destination, or is under way to it.
    package func holds(_ destination: Destination) -> Bool { laneOf[destination].map { !lanes[$0].isEmpty } ?? false }

    /// A message that is under way.
    package func message(underWay id: String) -> OutboxMessage? {
        placed[id].flatMap { lanes[$0.lane].entry(underWay: $0.index)?.message }
    }

    /// Where a message that has not ended goes.
    package func destination(of id: String) -> Destination? { placed[id].map { lanes[$0.lane].destination } }

    /// Whether only an earlier run of the program can have sent a message that is under way.
    package func isFromEarlierRun(_ id: String) -> Bool {
        placed[id].flatMap { lanes[$0.lane].entry(underWay: $0.index)?.mayBeStored } ?? false
    }

    /// Whether a message that is under way has left before, so that the server may have it already.
    package func wasSentBefore(_ id: String) -> Bool {
        placed[id].flatMap { lanes[$0.lane].entry(underWay: $0.index) }.map(\.wasSentBefore) ?? false
    }

    /// How often in a row the message's destination has been refused.
    package func refusals(of id: String) -> Int {
        placed[id].map { lanes[$0.lane].refusalCount } ?? 0
    }

    /// Everything that has not ended, oldest first.
    package var messages: [OutboxMessage] { entries.map(\.message) }

    private var entries: [OutboxEntry] { lanes.flatMap(\.all).sorted { $0.number < $1.number } }

    /// Changes messages that have not left yet. Their size counts anew.
    package mutating func rewrite(_ change: (inout OutboxMessage) -> Void) {
        for lane in lanes.indices {
            lanes[lane].rewrite { message in
                let size = message.payload.count
                change(&message)
                byteCount += message.payload.count - size
            }
        }
    }

    // MARK: Leaving

    /// Lets messages leave, now that the subscriptions are live.
    package mutating func open() {
        isOpen = true
        flushEnd = nextNumber
        unflushed = count
        excused = []
    }

    /// Whether everything that was there when the outbox was opened has ended, or been refused once.
    package var isFlushed: Bool { isOpen && unflushed == 0 }

    /// Has the message that came last leave at once where nothing else waits and nothing holds it back: the usual way
    /// of a message, which is what ``nextToSend(limit:at:newest:)`` would bring, without the lists.
    ///
    /// - Returns: whether it left.
    package mutating func newestLeaves(at now: ContinuousClock.Instant, newest: UInt64?) -> Bool {
        guard isOpen, queuedCount == 1, pace == nil, inFlightCount < policy.maximumInFlight,
            lanes.indices.contains(newestLane),
            lanes[newestLane].sendNew(
                at: now, newestBefore: newest, limit: policy.maximumInFlightPerDestination)
        else { return false }
        inFlightCount += 1
        return true
    }

    /// The messages to send now. Nothing leaves a closed outbox.
    ///
    /// - Parameters:
    ///   - limit: the most to return.
    ///   - now: the present moment.
    ///   - newest: the newest sequence of the stream that is known.
    package mutating func nextToSend(
        limit: Int = .max, at now: ContinuousClock.Instant, newest: UInt64? = nil
    ) -> Batch {
        var batch = Batch()
        guard isOpen, queuedCount > 0 else { return batch }
        var ready = readyLanes(at: now)
        while batch.messages.count + batch.late.count < limit, inFlightCount < policy.maximumInFlight,
            let (_, lane) = ready.popLast()
        {
            if let moment = pace?.next(at: now), moment > now {
                batch.resumeAt = moment
                break
            }
            let sent = lanes[lane].send(at: now, newestBefore: newest, duplicateWindow: policy.duplicateWindow)
            guard let (message, newestBefore, isLate) = sent else { continue }
            pace?.depart(at: now)
            inFlightCount += 1
            if isLate {
                batch.late.append(LateMessage(message: message, newestBefore: newestBefore))
            } else {
                batch.messages.append(message)
            }
            let next = lanes[lane].readyNumber(limit: policy.maximumInFlightPerDestination, at: now)
            if let next { ready.insert((next, lane), at: ready.firstIndex { $0.number < next } ?? ready.count) }
        }
        if queuedCount > 0 {
            for lane in lanes.indices {
                guard let moment = lanes[lane].resumption(after: now) else { continue }
                batch.resumeAt = batch.resumeAt.map { min($0, moment) } ?? moment
            }
        }
        return batch
    }

    /// The server is known not to have a message that is under way: from now on it counts as sent for the first time.
    ///
    /// - Returns: the message, which is to be sent; nil when it is no longer under way.
    package mutating func wasNotStored(
        id: String, at now: ContinuousClock.Instant, newest: UInt64?
    ) -> OutboxMessage? {
        guard let place = placed[id], let entry = lanes[place.lane].entry(underWay: place.index) else { return nil }
        lanes[place.lane].forgetAttempts(of: place.index, at: now, newestBefore: newest)
        return entry.message
    }

    /// The server stored a message.
    ///
    /// - Returns: its end, or nil when it has ended before.
    package mutating func acknowledged(
        id: String, sequence: UInt64, duplicate: Bool = false, at now: ContinuousClock.Instant = .now
    ) -> PublishResolution? {
        stored(id: id, sequence: sequence, duplicate: duplicate, at: now)?.end
    }

    /// As ``acknowledged(id:sequence:duplicate:at:)``, with whether the message went to a topic.
    mutating func stored(
        id: String, sequence: UInt64, duplicate: Bool, at now: ContinuousClock.Instant
    ) -> (end: PublishResolution, isOnTopic: Bool)? {
        guard let place = placed.removeValue(forKey: id),
            let removed = lanes[place.lane].stored(
                place.index, at: now, limit: policy.maximumInFlightPerDestination)
        else { return nil }
        left(place, removed)
        let outcome = PublishOutcome.acknowledged(sequence: sequence, duplicate: duplicate)
        return (PublishResolution(removed.message, outcome, mayBeStored: true), removed.message.isOnTopic)
    }

    /// The server refused a message for a cause that passes, or did not answer in time: it goes back to its place, and
    /// its destination goes on with it alone, after a moment, until it is stored.
    ///
    /// - Parameter isInDoubt: whether the server may have stored it all the same.
    /// - Returns: whether it was under way, and its end where it has been refused for longer than the policy allows.
    package mutating func refused(
        id: String, _ error: RelayError, isInDoubt: Bool = false, at now: ContinuousClock.Instant
    ) -> (wasUnderWay: Bool, end: PublishResolution?) {
        guard let place = placed[id], let entry = lanes[place.lane].entry(underWay: place.index) else {
            return (false, nil)
        }
        if isInDoubt { lanes[place.lane].doubt(place.index) }
        if let limit = policy.refusalLimit, let since = entry.refusedSince, now - since >= limit {
            return (true, end(id, .failed(error)))
        }
        lanes[place.lane].putBack(place.index, at: now)
        inFlightCount -= 1
        if isOpen, place.number < flushEnd, excused.insert(place.number).inserted { unflushed -= 1 }
        return (true, nil)
    }

    /// Ends a message, wherever it is.
    ///
    /// - Returns: its end, or nil when it has ended before.
    package mutating func end(_ id: String, _ outcome: PublishOutcome) -> PublishResolution? {
        guard let place = placed.removeValue(forKey: id), let removed = lanes[place.lane].remove(place.index) else {
            return nil
        }
        left(place, removed)
        return PublishResolution(removed.message, outcome, mayBeStored: removed.wasInDoubt)
    }

    private mutating func left(_ place: Place, _ removed: OutboxLane.Removed) {
        if removed.wasInFlight { inFlightCount -= 1 }
        byteCount -= removed.message.payload.count
        if isOpen, place.number < flushEnd, excused.remove(place.number) == nil { unflushed -= 1 }
    }

    /// The connection is gone: what was under way goes back to its place, and nothing leaves until ``open()``.
    ///
    /// - Returns: what was under way.
    @discardableResult
    package mutating func connectionLost() -> [String] {
        isOpen = false
        inFlightCount = 0
        var returned: [String] = []
        for lane in lanes.indices {
            returned += lanes[lane].idsUnderWay
            lanes[lane].putAllBack()
        }
        return returned
    }

    /// The session ended: closes the outbox and empties it where the policy says so.
    ///
    /// - Returns: what was discarded, oldest first.
    package mutating func sessionEnded(_ reason: ConnectionReason) -> [PublishResolution] {
        let discards = reason == .closedByUser ? policy.discardsOnClose : policy.discardsOnWindowExpiry
        guard discards else {
            connectionLost()
            return []
        }
        return discardAll(reason)
    }

    /// Empties the outbox, whatever the policy says, and closes it.
    ///
    /// - Returns: what was discarded, oldest first.
    package mutating func discardAll(_ reason: ConnectionReason) -> [PublishResolution] {
        connectionLost()
        let discarded = entries.map { PublishResolution($0.message, .discarded(reason), mayBeStored: $0.isInDoubt) }
        placed = [:]
        lanes = []
        laneOf = [:]
        newestLane = 0
        byteCount = 0
        unflushed = 0
        excused = []
        return discarded
    }

    // MARK: Steps

    private func hasRoom(for size: Int) -> Bool {
        count < policy.maximumMessages && byteCount + size <= policy.maximumBytes
    }

    /// Whether dropping everything that waits would make room.
    private func canFree(for size: Int) -> Bool {
        let underWay = lanes.reduce(0) { $0 + $1.inFlightBytes }
        return inFlightCount < policy.maximumMessages && underWay + size <= policy.maximumBytes
    }

    private mutating func dropOldest() -> PublishResolution? {
        let oldest = lanes.compactMap(\.head).min { $0.number < $1.number }
        return oldest.flatMap { end($0.message.id, .failed(.outboxFull)) }
    }

    /// The lane to a destination. A lane that has become empty stays, as how fast a destination takes messages is worth
    /// knowing at the next one, until another destination needs its room.
    private mutating func lane(to destination: Destination) -> Int {
        if lanes.indices.contains(newestLane), lanes[newestLane].destination == destination { return newestLane }
        if let lane = laneOf[destination] {
            newestLane = lane
            return lane
        }
        let empty = lanes.count >= Self.keptLanes ? lanes.firstIndex { $0.isEmpty } : nil
        let lane = empty ?? lanes.count
        if let empty {
            laneOf[lanes[empty].destination] = nil
            lanes[empty] = OutboxLane(to: destination)
        } else {
            lanes.append(OutboxLane(to: destination))
        }
        laneOf[destination] = lane
        newestLane = lane
        return lane
    }

    private static let keptLanes = 64

    /// The lanes that may send, with the number of their next message; the one that has waited longest comes last.
    private func readyLanes(at now: ContinuousClock.Instant) -> [(number: UInt64, lane: Int)] {
        var ready: [(number: UInt64, lane: Int)] = []
        for lane in lanes.indices {
            let number = lanes[lane].readyNumber(limit: policy.maximumInFlightPerDestination, at: now)
            if let number { ready.append((number, lane)) }
        }
        if ready.count > 1 { ready.sort { $0.number > $1.number } }
        return ready
    }
}
