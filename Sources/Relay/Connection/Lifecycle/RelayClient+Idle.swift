// The rest of a connection that nobody needs.
extension RelayClient {
    /// Carries out what becomes of an idle connection.
    func perform(_ actions: [IdleRest.Action]) {
        for action in actions {
            switch action {
            case .startTimer(let id, let moment): startTimer(.idle(id), at: moment)
            case .cancelTimer(let id): cancelTimer(.idle(id))
            case .rest: handle(.restRequested)
            case .resume:
                // In the background it stays away; the foreground brings it back.
                if !isInBackground { handle(.resumeRequested) }
            }
        }
    }

    /// Brings a connection back that rests because nobody needed it, for a question over it. Waits until it stands, or
    /// until there is something that keeps it from that.
    func wake() async {
        guard !isInBackground, endRest() else { return }
        for await status in statuses {
            let isOnItsWay = status.state == .connecting || status.state == .reconnecting
            guard isOnItsWay, status.reason == nil, status.nextRetryAt == nil else { break }
        }
        // Who is cancelled does not know.
        if !Task.isCancelled { restEnded() }
    }

    /// Whether anything needs the connection now. An exclusive session is held by being connected. Who waits for a
    /// connection, or for an answer over it, needs it.
    var isConnectionNeeded: Bool {
        subscriptions.isFollowing || publisher.count > 0 || presence.isInUse || sessionClaim != nil
            || status.state != .connected
            || link?.connection?.hasOpenRequests == true
    }
}
