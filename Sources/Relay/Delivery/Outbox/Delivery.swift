/// Every accepted message until its single end, as a pure value: the outbox, the rules for what leaves in which order,
/// and the meaning of the server's answers.
///
/// Messages leave in order for each destination, and only while the outbox is open: from the moment the subscriptions
/// are live until the connection is lost. Messages in flight at that moment return to their place and are sent again
/// with the same identifier.
///
/// Each call returns the actions, in order; a driver carries them out and reports the results.
package struct Delivery: Sendable {
    package enum Action: Hashable, Sendable {
        /// Write the message to the connection, and report the answer.
        case send(OutboxMessage)
        /// Report a message's new state.
        case tell(PublishNews)
        /// Report a message's end, also to callers that wait for it.
        case end(PublishNews)
        /// Call ``moment(at:)`` then, instead of at an earlier request's moment.
        case wake(at: ContinuousClock.Instant)
        /// Check that the connection is alive.
        case probe
        /// Ask the network whether the postbox of this letter accepts any, and report
        /// ``recipientAnswered(id:_:isRefused:at:)``.
        case askRecipient(id: String, user: String, postbox: String, isRefused: Bool)
        /// Check that the topics' stream exists, and report ``streamIsMissing(id:at:)`` if not.
        case askStream(id: String, topic: String)
        /// Check whether the stream has this message, and report ``lookedUp(id:_:at:)``.
        case lookUp(LateMessage, topic: String)
        /// Look up the key, and report ``keyLookedUp(id:_:at:)``.
        case lookUpKey(LateMessage, key: String)
    }

    /// A message first sent so long ago that the server may have forgotten its identifier, or one that sets a key.
    package struct LateMessage: Hashable, Sendable {
        package var message: OutboxMessage
        /// The newest known sequence of the stream when it was first sent, if any. For a key, the newest revision of
        /// the key then, and nil if this run has not sent the message.
        package var newestBefore: UInt64?

        package init(message: OutboxMessage, newestBefore: UInt64?) {
            (self.message, self.newestBefore) = (message, newestBefore)
        }
    }

    /// The lane of a message, and its number in the overall order.
    private struct Place: Sendable {
        let lane: Int
        let number: UInt64
    }

    package let policy: OutboxPolicy
    package private(set) var isOpen = false
    /// Bytes of payload that wait or are in flight.
    package private(set) var byteCount = 0
    /// The number of messages sent but not yet acknowledged.
    package private(set) var inFlightCount = 0
    private var inFlightBytes = 0
    package private(set) var nextNumber: UInt64 = 0
    private var placed: [String: Place] = [:]
    private var lanes = OutboxLanes()
    /// Messages from this number on are not on the disk yet, and may not leave.
    private var firstUnkept = UInt64.max
    /// Whether nothing may leave before the disk records that waiting messages may have left.
    private var awaitsLeave = false
    /// Messages below this number were there when the outbox was opened.
    private var backlogEnd: UInt64 = 0
    /// How many of those have neither ended nor been refused: refused ones do not delay the restoration of a
    /// connection.
    private var backlogCount = 0
    private var pace: OutboxPace?
    /// The messages that waited for the present connection, and their outcomes.
    private var resent = ResentMessages()
    /// The newest sequence of the topics' stream in any acknowledgement.
    private(set) var newestSequence: UInt64?
    /// Whether the server reports by itself that no postbox accepts a letter.
    private var serverTellsOfRecipients = true

    package init(policy: OutboxPolicy = .parley) {
        self.policy = policy
        pace = policy.pacing.map(OutboxPace.init)
    }

    // MARK: What is there

    /// The number of messages that wait or are in flight.
    package var count: Int { placed.count }
    package var queuedCount: Int { count - inFlightCount }
    package var isEmpty: Bool { placed.isEmpty }
    /// Whether a quarter of the room is used.
    var isFilling: Bool { count > policy.maximumMessages / 4 || byteCount > policy.maximumBytes / 4 }
    /// Whether everything that was there when the outbox was opened has ended or been refused once.
    package var isFlushed: Bool { isOpen && backlogCount == 0 }
    /// All messages that have not ended, oldest first.
    package var messages: [OutboxMessage] { lanes.entries.map(\.message) }

    package func holds(_ destination: Destination) -> Bool { lanes.holds(destination) }

    /// Whether a message waits or is in flight; nil if it is unknown or has ended.
    package func state(of id: String) -> PublishNews.State? {
        placed[id].map { lanes.all[$0.lane].underWay.place(of: $0.number) == nil ? .queued : .sending }
    }

    package func message(underWay id: String) -> OutboxMessage? { entry(underWay: id)?.message }

    func entry(underWay id: String) -> OutboxEntry? {
        placed[id].flatMap { lanes.all[$0.lane].entry(underWay: $0.number) }
    }

    func destination(of id: String) -> Destination? { placed[id].map { lanes.all[$0.lane].destination } }

    /// How often in a row the message's destination was refused.
    func refusals(of id: String) -> Int { placed[id].map { lanes.all[$0.lane].refusalCount } ?? 0 }

    // MARK: Coming in

    /// Accepts a message at any time, connected or not.
    ///
    /// - Parameter isKeptFirst: Whether it must be on the disk (``kept(before:leaves:at:)``) before it is reported and
    ///   leaves.
    /// - Throws: ``RelayError/outboxFull``, ``RelayError/tooLarge(bytes:limit:)``, ``RelayError/invalidArgument(_:)``
    ///   for an identifier that is in use already.
    package mutating func submit(
        _ message: OutboxMessage, isKeptFirst: Bool = false, at now: ContinuousClock.Instant
    ) throws(RelayError) -> [Action] {
        var actions: [Action] = []
        try submit(message, isKeptFirst: isKeptFirst, at: now, into: &actions)
        return actions
    }

    /// As ``submit(_:isKeptFirst:at:)``, without an array for each message.
    mutating func submit(
        _ message: OutboxMessage, isKeptFirst: Bool, at now: ContinuousClock.Instant, into actions: inout [Action]
    ) throws(RelayError) {
        try append(message, isKeptFirst: isKeptFirst, into: &actions)
        if isKeptFirst { return }
        if newestLeaves(at: now, into: &actions) { return }
        leave(at: now, into: &actions)
        if queuedCount > 0, state(of: message.id) == .queued {
            actions.append(.tell(PublishNews(id: message.id, state: .queued)))
        }
    }

    /// Appends a message, dropping older ones if the policy says so.
    private mutating func append(
        _ message: OutboxMessage, isKeptFirst: Bool = false, into actions: inout [Action]
    ) throws(RelayError) {
        let size = message.payload.count
        guard size <= policy.maximumBytes else {
            throw placed[message.id] == nil
                ? .tooLarge(bytes: size, limit: policy.maximumBytes) : Self.repeated(message.id)
        }
        if !hasRoom(for: size) {
            guard placed[message.id] == nil else { throw Self.repeated(message.id) }
            guard policy.overflow == .dropOldest, canFree(for: size) else { throw .outboxFull }
            while !hasRoom(for: size),
                let oldest = lanes.all.compactMap(\.waiting.first).min(by: { $0.number < $1.number })
            {
                end(oldest.message.id, .failed(.outboxFull), into: &actions)
            }
        }
        let lane = lanes.lane(to: message.destination)
        if let earlier = placed.updateValue(Place(lane: lane, number: nextNumber), forKey: message.id) {
            placed[message.id] = earlier
            throw Self.repeated(message.id)
        }
        lanes.all[lane].append(OutboxEntry(number: nextNumber, message: message))
        if isKeptFirst { firstUnkept = min(firstUnkept, nextNumber) }
        nextNumber += 1
        byteCount += size
    }

    private static func repeated(_ id: String) -> RelayError {
        .invalidArgument("A message with the identifier \(id) is already on its way")
    }

    private func hasRoom(for size: Int) -> Bool {
        count < policy.maximumMessages && byteCount + size <= policy.maximumBytes
    }

    /// Whether dropping everything that waits would make room.
    private func canFree(for size: Int) -> Bool {
        inFlightCount < policy.maximumMessages && inFlightBytes + size <= policy.maximumBytes
    }

    /// The disk has all messages below a number: they may leave, and are reported as queued.
    ///
    /// - Parameter leaves: Whether it also records that waiting messages may have left.
    package mutating func kept(before number: UInt64, leaves: Bool, at now: ContinuousClock.Instant) -> [Action] {
        let first = firstUnkept
        firstUnkept = number
        if leaves { awaitsLeave = false }
        var new: [OutboxEntry] = []
        if first < number {
            new = lanes.all.flatMap { $0.waiting[$0.waiting.place(from: first)..<$0.waiting.place(from: number)] }
        }
        var actions: [Action] = []
        leave(at: now, into: &actions)
        return actions + tellQueued(new.sorted { $0.number < $1.number }.map(\.message))
    }

    /// Puts messages of an earlier run of the program in front of all that wait, as far as there is room. To be called
    /// before the first connection.
    package mutating func restore(_ earlier: [OutboxMessage]) -> [Action] {
        guard !earlier.isEmpty else { return [] }
        let ids = Set(earlier.map(\.id))
        let waiting = messages.filter { !ids.contains($0.id) }
        self = Delivery(policy: policy)
        var actions: [Action] = []
        for message in earlier + waiting {
            do throws(RelayError) { try append(message, into: &actions) } catch {
                actions.append(
                    .end(PublishNews(id: message.id, state: .failed(error), mayBeStored: message.mayBeStored)))
            }
        }
        return actions + tellQueued(earlier)
    }

    private func tellQueued(_ messages: [OutboxMessage]) -> [Action] {
        messages.filter { state(of: $0.id) == .queued }.map { .tell(PublishNews(id: $0.id, state: .queued)) }
    }

    /// Takes back a message that has not left yet; empty if it is too late.
    package mutating func cancel(id: String, at now: ContinuousClock.Instant) -> [Action] {
        var actions: [Action] = []
        guard state(of: id) == .queued else { return actions }
        end(id, .failed(.cancelled), into: &actions)
        leave(at: now, into: &actions)
        return actions
    }

    /// Signs the lines that wait for a name, and updates their size.
    package mutating func sign(_ sign: (inout OutboxMessage) -> Void) {
        var added = 0
        for lane in lanes.all.indices {
            lanes.all[lane].rewrite { message in
                added -= message.payload.count
                sign(&message)
                added += message.payload.count
            }
        }
        byteCount += added
    }

    // MARK: Connections

    /// The subscriptions are live on a connection: waiting messages may leave.
    ///
    /// - Parameters:
    ///   - tellsOfRecipients: Whether the server reports by itself that no postbox accepts a letter.
    ///   - isKeptFirst: Whether the disk must first record that waiting messages may have left
    ///     (``kept(before:leaves:at:)``).
    package mutating func opened(
        tellsOfRecipients: Bool, isKeptFirst: Bool = false, at now: ContinuousClock.Instant
    ) -> [Action] {
        serverTellsOfRecipients = tellsOfRecipients
        // The stream may be a different one by now.
        newestSequence = nil
        resent.note(messages)
        (isOpen, awaitsLeave) = (true, isKeptFirst)
        (backlogEnd, backlogCount) = (nextNumber, count)
        return moment(at: now)
    }

    /// The connection is gone: messages in flight wait again.
    @discardableResult
    package mutating func connectionLost() -> [Action] {
        (isOpen, awaitsLeave, inFlightCount, inFlightBytes) = (false, false, 0, 0)
        let returned = lanes.all.indices.flatMap { lanes.all[$0].putAllBack() }
        return returned.map { .tell(PublishNews(id: $0, state: .queued)) }
    }

    /// The session has ended; the policy decides about waiting messages.
    package mutating func sessionEnded(_ reason: ConnectionReason) -> [Action] {
        if reason == .closedByUser ? policy.discardsOnClose : policy.discardsOnWindowExpiry {
            return discardAll(reason)
        }
        connectionLost()
        return []
    }

    /// Discards all messages, whatever the policy says.
    package mutating func discardAll(_ reason: ConnectionReason) -> [Action] {
        connectionLost()
        newestSequence = nil
        let discarded = lanes.entries
        (placed, lanes, byteCount) = ([:], OutboxLanes(), 0)
        (backlogEnd, backlogCount) = (0, 0)
        return discarded.map {
            .end(PublishNews(id: $0.message.id, state: .discarded(reason), mayBeStored: $0.isInDoubt))
        }
    }

    /// The messages that waited for the connection and their outcomes, once.
    package mutating func takeResent() -> [ResentMessage] { resent.take() }

    // MARK: Leaving

    /// The moment requested by ``Action/wake(at:)`` has come.
    package mutating func moment(at now: ContinuousClock.Instant) -> [Action] {
        var actions: [Action] = []
        leave(at: now, into: &actions)
        return actions
    }

    /// Sends the newest message at once if nothing else waits and nothing holds it back: the common case of
    /// ``leave(at:into:)``, without an array.
    ///
    /// - Returns: Whether it left.
    private mutating func newestLeaves(at now: ContinuousClock.Instant, into actions: inout [Action]) -> Bool {
        guard isOpen, !awaitsLeave, nextNumber <= firstUnkept, queuedCount == 1, pace == nil,
            inFlightCount < policy.maximumInFlight,
            lanes.all[lanes.newest].readyNumber(limit: policy.maximumInFlightPerDestination, at: now) != nil
        else { return false }
        sendNext(of: lanes.newest, at: now, into: &actions)
        return true
    }

    /// Sends everything that may leave now.
    mutating func leave(at now: ContinuousClock.Instant, into actions: inout [Action]) {
        guard isOpen, !awaitsLeave, queuedCount > 0 else { return }
        let limit = policy.maximumInFlightPerDestination
        var ready = lanes.ready(below: firstUnkept, limit: limit, at: now)
        var alarm: ContinuousClock.Instant?
        while inFlightCount < policy.maximumInFlight, let (_, lane) = ready.popLast() {
            if let moment = pace?.next(at: now), moment > now {
                alarm = moment
                break
            }
            pace?.depart(at: now)
            sendNext(of: lane, at: now, into: &actions)
            if let next = lanes.all[lane].readyNumber(limit: limit, at: now), next < firstUnkept {
                ready.insert((next, lane), at: ready.firstIndex { $0.number < next } ?? ready.count)
            }
        }
        guard queuedCount > 0 else { return }
        let held = lanes.all.lazy.compactMap { $0.resumption(after: now) }.min()
        if let held { alarm = min(alarm ?? held, held) }
        if let alarm { actions.append(.wake(at: alarm)) }
    }

    private mutating func sendNext(of lane: Int, at now: ContinuousClock.Instant, into actions: inout [Action]) {
        let sent = lanes.all[lane].send(at: now, newestBefore: newestSequence, duplicateWindow: policy.duplicateWindow)
        guard let (late, isLate) = sent else { return }
        inFlightCount += 1
        inFlightBytes += late.message.payload.count
        if isLate { lookUp(late, into: &actions) } else { send(late.message, into: &actions) }
    }

    private func send(_ message: OutboxMessage, into actions: inout [Action]) {
        actions.append(.send(message))
        guard !serverTellsOfRecipients, case .postbox(let user, let postbox) = message.destination else { return }
        actions.append(.askRecipient(id: message.id, user: user, postbox: postbox, isRefused: false))
    }

    private mutating func lookUp(_ late: LateMessage, into actions: inout [Action]) {
        switch late.message.destination {
        case .topic(let topic): actions.append(.lookUp(late, topic: topic))
        case .key(let key): actions.append(.lookUpKey(late, key: key))
        // Only its owner can read a postbox.
        case .postbox: end(late.message.id, .uncertain, into: &actions)
        }
    }

    /// The server is known not to have a message that is in flight: it is sent, and counts as sent for the first time.
    ///
    /// - Parameter newest: The newest known sequence of its stream.
    mutating func wasNotStored(
        _ id: String, newest: UInt64?, at now: ContinuousClock.Instant, into actions: inout [Action]
    ) {
        guard let place = placed[id], let entry = entry(underWay: id) else { return }
        lanes.all[place.lane].forgetAttempts(of: place.number, at: now, newestBefore: newest)
        actions.append(.send(entry.message))
    }

    // MARK: Ends

    mutating func stored(
        _ id: String, sequence: UInt64, isDuplicate: Bool, at now: ContinuousClock.Instant,
        into actions: inout [Action]
    ) {
        guard let place = placed.removeValue(forKey: id),
            let removed = lanes.all[place.lane].stored(
                place.number, at: now, limit: policy.maximumInFlightPerDestination)
        else { return }
        ended(removed)
        resent.stored(id)
        if removed.entry.message.isOnTopic { newestSequence = max(newestSequence ?? 0, sequence) }
        actions.append(.end(PublishNews(id: id, state: .acknowledged(sequence: sequence, isDuplicate: isDuplicate))))
    }

    /// Ends a message that waits or is in flight, for any reason but a fresh acknowledgement.
    mutating func end(_ id: String, _ state: PublishNews.State, into actions: inout [Action]) {
        guard let place = placed.removeValue(forKey: id), let removed = lanes.all[place.lane].remove(place.number)
        else { return }
        ended(removed)
        var news = PublishNews(id: id, state: state, mayBeStored: removed.entry.isInDoubt)
        if case .acknowledged = state {
            resent.stored(id)
            news.mayBeStored = false
        }
        actions.append(.end(news))
    }

    private mutating func ended(_ removed: OutboxLane.Removed) {
        byteCount -= removed.entry.message.payload.count
        left(removed.entry, wasUnderWay: removed.wasUnderWay)
    }

    /// An entry has ended or was refused, which counts once for the backlog.
    private mutating func left(_ entry: OutboxEntry, wasUnderWay: Bool) {
        if isOpen, entry.number < backlogEnd, entry.refusedSince == nil { backlogCount -= 1 }
        guard wasUnderWay else { return }
        inFlightCount -= 1
        inFlightBytes -= entry.message.payload.count
    }

    /// The server refused a message for a temporary reason, or did not answer in time: it returns to its place, and
    /// after a pause its destination continues with it alone until it is stored. A message refused for longer than the
    /// policy allows ends.
    ///
    /// - Parameter isInDoubt: Whether the server may have stored it all the same.
    mutating func putBack(
        _ id: String, _ error: RelayError, isInDoubt: Bool = false, at now: ContinuousClock.Instant,
        into actions: inout [Action]
    ) {
        guard let place = placed[id], let entry = entry(underWay: id) else { return }
        if isInDoubt { lanes.all[place.lane].doubt(place.number) }
        if let limit = policy.refusalLimit, let since = entry.refusedSince, OutboxEntry.time(at: now) - since >= limit {
            return end(id, .failed(error), into: &actions)
        }
        lanes.all[place.lane].putBack(place.number, at: now)
        left(entry, wasUnderWay: true)
        actions.append(.tell(PublishNews(id: id, state: .queued)))
    }
}
