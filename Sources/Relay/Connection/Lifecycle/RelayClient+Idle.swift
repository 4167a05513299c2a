// The rest of a connection that nobody needs.
extension RelayClient {
    /// Carries out what becomes of an idle connection.
    func perform(_ actions: [IdleRest.Action]) {
        for action in actions {
            switch action {
            case .startTimer(let id, let moment):
                idleTimers.start(id, at: moment, on: surroundings.clock) { [weak self] in
                    await self?.idleTimerFired(id)
                }
            case .cancelTimer(let id): idleTimers.cancel(id)
            case .rest: handle(.restRequested)
            case .resume:
                // In the background it stays away; the foreground brings it back.
                if !isInBackground { handle(.resumeRequested) }
            }
        }
    }

    /// Something is followed, or is to be sent.
    func connectionIsNeeded() {
        perform(idle.needed(isFollowed: !following.isEmpty, at: surroundings.clock.now))
    }

    /// Brings a connection back that rests because nobody needed it, for a question over it. Waits until it stands, or until
    /// there is something that keeps it from that.
    func wake() async {
        guard idle.isResting || idle.isReturning, !isInBackground else { return }
        if idle.isResting { connectionIsNeeded() }
        for await status in statuses {
            let isOnItsWay = status.state == .connecting || status.state == .reconnecting
            guard isOnItsWay, status.reason == nil, status.nextRetryAt == nil else { break }
        }
        idle.returned()
    }

    /// A subscription has ended.
    func subscriptionEnded() {
        if following.isEmpty { perform(idle.subscriptionsEnded(at: surroundings.clock.now)) }
    }

    private func idleTimerFired(_ id: IdleRest.TimerID) {
        idleTimers.cancel(id)
        // An exclusive session is held by being connected. Who waits for a connection, or for an answer over it, needs it.
        let isNeeded =
            !following.isEmpty || publisher.count > 0 || !presence.watches.isEmpty
            || !presence.announcement.topics.isEmpty || claim != nil || status.state != .connected
            || link?.connection?.hasOpenRequests == true
        perform(idle.timerFired(id, isNeeded: isNeeded, at: surroundings.clock.now))
    }
}
