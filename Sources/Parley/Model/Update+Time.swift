import Relay

// Changes with time alone: what happens, and when the screen has to be drawn again.
extension ChatModel {
    /// Advances the time.
    ///
    /// - Returns: the effects, and whether the rest of `update` has to run as well.
    func pass(_ moment: Moment, isSign: Bool, since mark: DeskMark) -> (effects: ChatEffects, movesOthers: Bool) {
        now = moment
        if let notice = notices.shown, notice.until <= moment.instant {
            notices.shown = nil
            screen.quitIsArmed = false
        }
        if isSign { attention.lastSign = moment.instant }
        var effects = callAgain()
        if tellAbsence() { effects = changesToKeep(since: mark, isTyping: false) + effects }
        let departure = noteIdleness()
        // Besides leaving, only deletions that become final affect the rest.
        let isFinal = network.inbox.deletion.isDue(at: moment.instant)
        return (effects + departure, isFinal || !departure.isEmpty)
    }

    /// When the screen next changes with time alone, if ever.
    func nextChange(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var next: ContinuousClock.Instant?
        func consider(_ change: ContinuousClock.Instant?, evenNow: Bool = false) {
            if let change, evenNow || change > instant { next = next.map { min($0, change) } ?? change }
        }
        consider(notices.shown?.until)
        if let retry = network.status.nextRetryAt, retry > instant {
            // A countdown in seconds changes when a whole number of seconds is left.
            let left = instant.duration(to: retry)
            let whole = left.components.attoseconds == 0 ? left - .seconds(1) : .seconds(left.components.seconds)
            consider(retry.advanced(by: .zero - whole))
        }
        consider(attention.absence?.due)
        consider(idleDue)
        consider(attention.calls.due)
        consider(network.inbox.deletion.nextChange(after: instant), evenNow: true)
        consider(nextAge(after: instant), evenNow: true)
        consider(network.times.recovery?.until)
        let outageBegan = network.status.isLongOutage ? network.status.outageBegan : nil
        for case let began? in [outageBegan, network.times.attemptBegan, network.status.silentSince] {
            consider(instant.advanced(by: Wording.untilElapsedChanges(began.duration(to: instant))))
        }
        return next
    }
}
