import Relay

// What changes by time alone: what happens when it is later, and when the screen has to be drawn again for that.
extension ChatModel {
    /// It is later now.
    ///
    /// - Returns: what follows, and whether more than this moves, as it does with any other event.
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
        // Time alone moves nothing else but letters that can be undone no more.
        let isFinal = network.inbox.deletion.isDue(at: moment.instant)
        return (effects + departure, isFinal || !departure.isEmpty)
    }

    /// When the screen changes by time alone; nil when it does not.
    func nextChange(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var next: ContinuousClock.Instant?
        func consider(_ change: ContinuousClock.Instant?, evenNow: Bool = false) {
            if let change, evenNow || change > instant { next = next.map { min($0, change) } ?? change }
        }
        consider(notices.shown?.until)
        if let retry = network.status.nextRetryAt, retry > instant {
            // A countdown of whole seconds changes where a whole number of seconds is left.
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
