/// What waits to be sent and what is under way, as a pure value.
///
/// Messages leave in the order in which they came, destination by destination, and only while the outbox is open: from
/// the moment the subscriptions are live until the connection is lost. What was under way when it is lost goes back to
/// its place and is sent again under the same identifier. Every accepted message ends once.
package struct Outbox: Sendable {
    /// How a message ended, and who waits for that.
    package typealias End = (news: PublishNews, pending: PendingPublish?)

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
    /// The number of the next message that comes.
    package private(set) var nextNumber: UInt64 = 0
    /// Messages from this number on are not on the disk yet: none of them leaves.
    private var firstUnkept = UInt64.max
    /// Whether nothing leaves until the disk has it that what waits may have left.
    private var awaitsLeave = false
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
    ///
    /// - Parameter isKeptFirst: whether it is to be on the disk before it leaves (``kept(before:leaves:)``).
    /// - Returns: the ends of older ones that gave way for it.
    /// - Throws: why it is not taken; the outbox never knew it then.
    package mutating func enqueue(
        _ message: OutboxMessage, isKeptFirst: Bool = false
    ) throws(RelayError) -> [End] {
        let size = message.payload.count
        guard size <= policy.maximumBytes else {
            throw placed[message.id] == nil
                ? .tooLarge(bytes: size, limit: policy.maximumBytes) : Self.repeated(message.id)
        }
        var dropped: [End] = []
        if !hasRoom(for: size) {
            guard placed[message.id] == nil else { throw Self.repeated(message.id) }
            guard policy.overflow == .dropOldest, canFree(for: size) else { throw .outboxFull }
            while !hasRoom(for: size), let oldest = dropOldest() { dropped.append(oldest) }
        }
        let lane = lane(to: message.destination)
        let place = Place(lane: lane, index: lanes[lane].nextPlace, number: nextNumber)
        if let earlier = placed.updateValue(place, forKey: message.id) {
            placed[message.id] = earlier
            throw Self.repeated(message.id)
        }
        lanes[lane].append(OutboxEntry(number: nextNumber, message: message))
        if isKeptFirst { firstUnkept = min(firstUnkept, nextNumber) }
        nextNumber += 1
        byteCount += size
        return dropped
    }

    private static func repeated(_ id: String) -> RelayError {
        .invalidArgument("A message with the identifier \(id) is already on its way")
    }

    /// The disk has all messages below a number.
    ///
    /// - Parameter leaves: whether it has, too, that what waits may have left.
    /// - Returns: those that may leave from now on and have not ended, oldest first.
    package mutating func kept(before number: UInt64, leaves: Bool) -> [String] {
        let first = firstUnkept
        firstUnkept = number
        if leaves { awaitsLeave = false }
        guard first < number else { return [] }
        let new = lanes.flatMap { $0.all(from: first) }.filter { $0.number < number }
        return new.sorted { $0.number < $1.number }.map(\.message.id)
    }

    /// Takes back a message that has not left yet.
    ///
    /// - Returns: its end, or nil when it is unknown or already under way.
    package mutating func cancel(id: String) -> End? {
        guard let place = placed[id], lanes[place.lane].isQueued(place.index) else { return nil }
        return end(id, .failed(.cancelled))
    }

    /// Whether a message waits or is under way; nil for one that is unknown or has ended.
    package func state(of id: String) -> PublishNews.State? {
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
    ///
    /// - Parameter isKeptFirst: whether the disk is to have that first (``kept(before:leaves:)``).
    package mutating func open(isKeptFirst: Bool = false) {
        isOpen = true
        awaitsLeave = isKeptFirst
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
        guard isOpen, !awaitsLeave, nextNumber <= firstUnkept, queuedCount == 1, pace == nil,
            inFlightCount < policy.maximumInFlight,
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
        guard isOpen, !awaitsLeave, queuedCount > 0 else { return batch }
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
            if let next, next < firstUnkept {
                ready.insert((next, lane), at: ready.firstIndex { $0.number < next } ?? ready.count)
            }
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
    /// - Returns: its end, and whether it went to a topic; nil when it has ended before.
    package mutating func stored(
        id: String, sequence: UInt64, isDuplicate: Bool = false, at now: ContinuousClock.Instant = .now
    ) -> (end: End, isOnTopic: Bool)? {
        guard let place = placed.removeValue(forKey: id),
            let removed = lanes[place.lane].stored(
                place.index, at: now, limit: policy.maximumInFlightPerDestination)
        else { return nil }
        left(place, removed)
        let news = PublishNews(id: id, state: .acknowledged(sequence: sequence, isDuplicate: isDuplicate))
        return ((news, removed.message.pending), removed.message.isOnTopic)
    }

    /// The server refused a message for a cause that passes, or did not answer in time: it goes back to its place, and
    /// its destination goes on with it alone, after a moment, until it is stored.
    ///
    /// - Parameter isInDoubt: whether the server may have stored it all the same.
    /// - Returns: whether it was under way, and its end where it has been refused for longer than the policy allows.
    package mutating func refused(
        id: String, _ error: RelayError, isInDoubt: Bool = false, at now: ContinuousClock.Instant
    ) -> (wasUnderWay: Bool, end: End?) {
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
    package mutating func end(_ id: String, _ state: PublishNews.State) -> End? {
        guard let place = placed.removeValue(forKey: id), let removed = lanes[place.lane].remove(place.index) else {
            return nil
        }
        left(place, removed)
        return (PublishNews(id: id, state: state, mayBeStored: removed.wasInDoubt), removed.message.pending)
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
        awaitsLeave = false
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
    package mutating func sessionEnded(_ reason: ConnectionReason) -> [End] {
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
    package mutating func discardAll(_ reason: ConnectionReason) -> [End] {
        connectionLost()
        let discarded = entries.map { entry -> End in
            let news = PublishNews(id: entry.message.id, state: .discarded(reason), mayBeStored: entry.isInDoubt)
            return (news, entry.message.pending)
        }
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

    private mutating func dropOldest() -> End? {
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
            if let number, number < firstUnkept { ready.append((number, lane)) }
        }
        if ready.count > 1 { ready.sort { $0.number > $1.number } }
        return ready
    }
}
