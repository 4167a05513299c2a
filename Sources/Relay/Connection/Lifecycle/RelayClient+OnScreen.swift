import NIOConcurrencyHelpers

// Subscriptions that are for a view on the screen: let go while it is away, and taken again with it.
extension RelayClient {
    /// Holds a subscription for as long as its view is on the screen.
    ///
    /// - Returns: hears whether the view is there, from any thread.
    func lease(_ id: String) -> @Sendable (Bool) -> Void {
        handleScreen(.added(id: id, grace: configuration.offScreenGrace))
        // What is said last counts, in whichever order it arrives.
        let latest = NIOLockedValueBox(true)
        return { [weak self] isOnScreen in
            latest.withLockedValue { $0 = isOnScreen }
            Task { await self?.screenChanged(id, latest) }
        }
    }

    private func screenChanged(_ id: String, _ latest: NIOLockedValueBox<Bool>) {
        handleScreen(.shown(id: id, latest.withLockedValue(\.self)))
    }

    /// Carries out what becomes of a subscription that is for a view.
    func perform(_ action: ScreenLease.Action) {
        switch action {
        case .startTimer(let id, let moment): startTimer(.screen(id), at: moment)
        case .cancelTimer(let id): cancelTimer(.screen(id))
        case .release(let id): handleFollowing(.letGo(id: id))
        case .take(let id): handleFollowing(.takenAgain(id: id))
        }
    }
}
