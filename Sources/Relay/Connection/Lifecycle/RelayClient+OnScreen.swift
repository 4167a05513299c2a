import NIOConcurrencyHelpers

// Subscriptions that are for a view on the screen: let go while it is away, and taken again with it.
extension RelayClient {
    /// Holds a subscription for as long as its view is on the screen.
    ///
    /// - Returns: hears whether the view is there, from any thread.
    func lease(_ key: UInt64) -> @Sendable (Bool) -> Void {
        away.leases[key] = ScreenLease(key: key, grace: configuration.offScreenGrace)
        // What is said last counts, in whichever order it arrives.
        let latest = NIOLockedValueBox(true)
        return { [weak self] isOnScreen in
            latest.withLockedValue { $0 = isOnScreen }
            Task { await self?.screenChanged(key, latest) }
        }
    }

    private func screenChanged(_ key: UInt64, _ latest: NIOLockedValueBox<Bool>) {
        let isOnScreen = latest.withLockedValue(\.self)
        let actions = away.leases[key]?.shown(isOnScreen, at: surroundings.clock.now) ?? []
        perform(actions, of: key)
        // Nothing runs while the connection rests.
        if away.isResting { releaseHidden() }
    }

    private func leaseTimerFired(_ id: ScreenLease.TimerID) {
        away.leaseTimers.cancel(id)
        let actions = away.leases[id.key]?.timerFired(id) ?? []
        perform(actions, of: id.key)
    }

    /// Lets every subscription go whose view is away.
    func releaseHidden() {
        for key in Array(away.leases.keys) {
            let actions = away.leases[key]?.connectionRests() ?? []
            perform(actions, of: key)
        }
    }

    /// The subscription has ended.
    func endLease(of key: UInt64) {
        let actions = away.leases[key]?.end() ?? []
        perform(actions, of: key)
        away.leases[key] = nil
    }

    private func perform(_ actions: [ScreenLease.Action], of key: UInt64) {
        for action in actions {
            switch action {
            case .startTimer(let id, let moment):
                away.leaseTimers.start(id, at: moment, on: surroundings.clock) { [weak self] in
                    await self?.leaseTimerFired(id)
                }
            case .cancelTimer(let id): away.leaseTimers.cancel(id)
            case .release: release(key)
            case .take: takeAgain(key)
            }
        }
    }
}
