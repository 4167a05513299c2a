/// The subscriptions restored on every connection, and their standing, as a pure value: events in, actions out.
///
/// A subscription for a view is released while the view is off the screen for longer than its grace period; its place
/// in the stream stays.
struct Following: Sendable {
    /// An event of a subscription, or of the connection.
    enum Event: Hashable, Sendable {
        /// A new subscription; with a grace period, one for a view, which is on the screen.
        case added(id: String, name: String, grace: Duration?)
        /// The view of a subscription is on the screen, or off it. Repetitions are harmless.
        case shown(id: String, Bool)
        /// A subscription's timer fired.
        case timerFired(id: String)
        /// A subscription has ended.
        case removed(id: String)
        /// A subscription has become live, or has failed.
        case changed(id: String, FollowerStanding)
        /// A connection is open over which everything can be followed, with these names.
        case opened(RelayConfiguration.Namespace)
        /// The connection's status has changed.
        case connectionChanged
        /// The connection is gone.
        case connectionLost
        /// The connection is suspended, so that hidden views have no time left.
        case connectionRests
        /// Another user signs in. The names are these, or nil if the network must be asked.
        case userChanged(RelayConfiguration.Namespace?)
        /// The client has closed.
        case closed
    }

    /// An action for the driver, in order.
    enum Action: Hashable, Sendable {
        /// Follow the subscription over the present link, and report each ``Event/changed(id:_:)``.
        case follow(id: String, RelayConfiguration.Namespace)
        /// Pass the connection's status to the subscription.
        case tell(id: String)
        /// Stop reading until the next connection.
        case pause(id: String)
        /// End the subscription.
        case end(id: String)
        /// Report ``Event/timerFired(id:)`` at this moment.
        case startTimer(id: String, at: ContinuousClock.Instant)
        /// Cancel the subscription's timer.
        case cancelTimer(id: String)
        /// Report the names of failing subscriptions, and whether none of them is expected to recover without help.
        case report(failing: [String], isComplete: Bool)
        /// Bring back an idle connection.
        case needConnection
        /// Nothing is followed any more: the connection may become idle.
        case releaseConnection
    }

    private struct Entry {
        enum Hold {
            case held
            /// The view is off the screen; the subscription is still held.
            case hidden(until: ContinuousClock.Instant)
            case released
        }

        let name: String
        let grace: Duration?
        var hold = Hold.held
    }

    private enum Connection {
        case closed(known: RelayConfiguration.Namespace?)
        case open(RelayConfiguration.Namespace)
    }

    private var entries: [String: Entry] = [:]
    private var releasedCount = 0
    /// The failing ones, and whether each is expected to recover without help.
    private var failures: [String: Bool] = [:]
    private var connection: Connection

    /// - Parameter namespace: The configured names, or nil if the network must be asked.
    init(_ namespace: RelayConfiguration.Namespace? = nil) { connection = .closed(known: namespace) }

    /// The names of the network's topics, once known.
    var namespace: RelayConfiguration.Namespace? {
        switch connection {
        case .closed(let known): known
        case .open(let namespace): namespace
        }
    }

    var isEmpty: Bool { entries.count == releasedCount }

    /// Handles an event.
    ///
    /// - Returns: The actions, in order.
    mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Action] {
        switch event {
        case .added(let id, let name, let grace):
            entries[id] = Entry(name: name, grace: grace)
            // A subscriber is told at once if no connection is coming.
            return [.needConnection, .tell(id: id)] + follow(id)
        case .shown(let id, let isOnScreen): return isOnScreen ? show(id) : hide(id, at: now)
        case .timerFired(let id):
            // A timer that was cancelled while it fired is too early for the next one.
            guard case .hidden(let deadline)? = entries[id]?.hold, deadline <= now else { return [] }
            return release(id)
        case .removed(let id):
            guard let entry = entries.removeValue(forKey: id) else { return [] }
            failures[id] = nil
            if case .released = entry.hold { releasedCount -= 1 }
            return cancelTimer(of: id, entry) + [.end(id: id), report] + rest
        case .changed(let id, let standing):
            guard let entry = entries[id] else { return [] }
            if case .released = entry.hold { return [] }
            let failure: Bool? = if case .failed(let passes) = standing { passes } else { nil }
            guard failures[id] != failure else { return [] }
            failures[id] = failure
            return [report]
        case .opened(let namespace):
            connection = .open(namespace)
            return entries.keys.flatMap(follow)
        case .connectionChanged: return entries.keys.map { .tell(id: $0) }
        case .connectionLost:
            failures = [:]
            connection = .closed(known: namespace)
            return entries.keys.map { .pause(id: $0) }
        case .connectionRests:
            var actions: [Action] = []
            for (id, entry) in entries {
                if case .hidden = entry.hold { actions += [.cancelTimer(id: id)] + release(id) }
            }
            return actions
        case .userChanged(let namespace):
            connection = .closed(known: namespace)
            return []
        case .closed:
            defer { (entries, failures, releasedCount) = ([:], [:], 0) }
            return entries.flatMap { id, entry in cancelTimer(of: id, entry) + [.end(id: id)] }
        }
    }

    private mutating func show(_ id: String) -> [Action] {
        guard let entry = entries[id] else { return [] }
        entries[id]?.hold = .held
        guard case .released = entry.hold else { return cancelTimer(of: id, entry) }
        releasedCount -= 1
        return [.needConnection] + follow(id)
    }

    private mutating func hide(_ id: String, at now: ContinuousClock.Instant) -> [Action] {
        guard let entry = entries[id], case .held = entry.hold else { return [] }
        let deadline = now + max(.zero, entry.grace ?? .zero)
        entries[id]?.hold = .hidden(until: deadline)
        return [.startTimer(id: id, at: deadline)]
    }

    private mutating func release(_ id: String) -> [Action] {
        entries[id]?.hold = .released
        releasedCount += 1
        failures[id] = nil
        return [.pause(id: id), report] + rest
    }

    private func follow(_ id: String) -> [Action] {
        guard case .open(let namespace) = connection, let entry = entries[id] else { return [] }
        if case .released = entry.hold { return [] }
        return [.follow(id: id, namespace)]
    }

    private func cancelTimer(of id: String, _ entry: Entry) -> [Action] {
        if case .hidden = entry.hold { [.cancelTimer(id: id)] } else { [] }
    }

    private var rest: [Action] { isEmpty ? [.releaseConnection] : [] }

    private var report: Action {
        .report(
            failing: failures.keys.compactMap { entries[$0]?.name }.sorted(),
            isComplete: !failures.values.contains(true))
    }
}
