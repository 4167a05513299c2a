import Relay
import Terminal

/// The lines that `parley watch` prints for a connection's statuses: a pure value that decides which are worth one.
struct WatchReport: Sendable {
    private var last: ConnectionStatus?
    private var stateBegan: ContinuousClock.Instant?
    private let zone: DisplayZone

    init(zone: DisplayZone = .local) { self.zone = zone }

    /// Notes a status and returns its line; nil if nothing has changed.
    mutating func note(_ status: ConnectionStatus, at now: Moment) -> Line? {
        guard status.isNews(after: last) else { return nil }
        let change = StatusChange(status, after: last, since: stateBegan, now: now.instant)
        if last?.state != status.state { stateBegan = now.instant }
        last = status
        return Line(status: status, change: change, at: now.wall, zone: zone)
    }

    struct Line: Hashable, Sendable {
        let status: ConnectionStatus
        let change: StatusChange
        let at: Timestamp
        let zone: DisplayZone

        /// `10:01:05.123  ↻ reconnecting   attempt 2 · next try in 0.3 s · …`: the state coloured on request.
        func text(isColored: Bool) -> String {
            let name = SafeText("\(change.state.symbol) \(change.state.rawValue)")
            let details = change.details
            let isPadded = isColored || !details.isEmpty
            let state = (isPadded ? name.padded(columns: 15) : name).description
            let shown = isColored ? "\u{1B}[\(color)m\(state)\u{1B}[0m" : state
            let line = CivilTime(at, zone: zone).preciseClock + "  " + shown
            return details.isEmpty ? line : line + "  " + Output.safe(details.joined(separator: " · "))
        }

        /// The object for scripts: times in seconds, and the status in the terms of each system that Parley maps onto.
        var json: MessageMap {
            [
                "at": .string(at.iso8601), "status": .string(status.state.rawValue),
                "reason": MessageValue(status.reason?.words), "attempt": .int(Int64(status.attempt)),
                "retryIn": change.wait.map { .double($0.seconds) } ?? .null,
                "rtt": change.roundTrip.map { .double($0.seconds) } ?? .null,
                "silentSince": MessageValue(silentSince?.iso8601),
                "relayx": MessageValue(SystemEvent(status)?.rawValue),
                "sudo": .string(PlatformSubscriptionStatus(status).name),
                "nexconn": .int(Int64(NexconnConnectionStatus(status).rawValue)),
                "rongcloud": RongCloudCode(status).map { .int(Int64($0.rawValue)) } ?? .null,
                "supabase": .string(SupabaseStatus(status).rawValue),
            ]
        }

        /// The objects for scripts: one, or two when RelayX's window has passed, which is two of its events.
        var objects: [MessageMap] {
            guard SystemEvent(status) == .reconnectFailed else { return [json] }
            var last = json
            last["relayx"] = .string(SystemEvent.disconnected.rawValue)
            return [json, last]
        }

        private var silentSince: Timestamp? {
            change.silence.map { Timestamp(milliseconds: at.milliseconds - Int64($0.seconds * 1_000)) }
        }

        private var color: Int {
            switch StatusText.Kind(change.state, isSilent: change.silence != nil) {
            case .connected: 32
            case .waiting: 33
            case .broken: 31
            }
        }
    }
}

extension Duration {
    fileprivate var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds / 1_000_000_000_000) / 1_000_000
    }
}
