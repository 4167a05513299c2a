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
        waitForNothingAtRest()
    }

    /// A subscription has ended.
    func subscriptionEnded() {
        guard following.isEmpty else { return }
        perform(idle.subscriptionsEnded(at: surroundings.clock.now))
        waitForNothingAtRest()
    }

    /// In the background no timer runs; the wait begins with the return.
    private func waitForNothingAtRest() {
        if away.isResting { perform(idle.pause()) }
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
