import CTerminal
import Platform

extension TerminalSession {
    /// A terminal's line discipline hands out at most 4 KiB at once.
    private static let readLimit = 8_192
    /// Seconds between `.suspending` and a stop without `suspend()`.
    private static let stopGrace: UInt32 = 5

    /// Sleeps until something happens: input, a new size, `waker`, a signal, or the deadline (nil: none). Returns at
    /// least one event. A frame that waits for the terminal is shown meanwhile.
    public func wait(until deadline: ContinuousClock.Instant?) -> [Wake] {
        while true {
            guard queue.isEmpty else {
                defer { queue = [] }
                return queue
            }
            if isClosed { return [.hangUp] }
            look(until: deadline)
            if queue.isEmpty, let deadline, ContinuousClock.now >= deadline { queue.append(.timedOut) }
        }
    }

    /// Checks once for everything that can happen. Standard input stays in blocking mode, because standard output
    /// shares that mode: it is read once each time that `poll` finds something.
    private func look(until deadline: ContinuousClock.Instant?) {
        showWaiting()
        let due = [deadline, parserDeadline].compactMap(\.self).min()
        // Queued events are returned at once, together with whatever else has happened.
        let timeout = queue.isEmpty ? due.map { ContinuousClock.now.duration(to: $0).pollMilliseconds } ?? -1 : 0
        let input = isHungUp ? -1 : STDIN_FILENO
        let output = hasPendingFrame && !isHungUp ? STDOUT_FILENO : -1
        var items = [
            pollfd(fd: input, events: Int16(POLLIN), revents: 0),
            pollfd(fd: output, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: waker.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signalPipe, events: Int16(POLLIN), revents: 0),
            pollfd(fd: multiplexer?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        if poll(&items, nfds_t(items.count), timeout) > 0 {
            if items[3].revents != 0 { takeSignals() }
            if items[0].revents != 0 { readInput(items[0].revents) }
            if items[4].revents != 0, let isAttached = multiplexer?.take() { queue.append(.attached(isAttached)) }
            if items[2].revents != 0 {
                waker.take()
                queue.append(.woken)
            }
            if items[1].revents != 0 { showWaiting() }
        }
        if let parserDeadline, ContinuousClock.now >= parserDeadline {
            self.parserDeadline = nil
            deliver(parser.flush())
        }
    }

    /// Shows the frame that waits, if the terminal takes it now, and queues `.shown`.
    private func showWaiting() {
        guard hasPendingFrame else { return }
        showPending()
        if !hasPendingFrame { queue.append(.shown) }
    }

    // MARK: input

    private func readInput(_ state: Int16) {
        guard state & Int16(POLLIN) != 0 else {
            hangUp()
            return
        }
        var reason: Int32 = 0
        let events: [InputEvent]? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.readLimit) { buffer in
            let count = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            if count < 0 { reason = errno }
            return count > 0 ? parser.feed(UnsafeBufferPointer(rebasing: buffer[..<count])) : nil
        }
        guard let events else {
            if reason != EINTR, reason != EAGAIN { hangUp() }
            return
        }
        deliver(events)
        parserDeadline = parser.timeout.map { ContinuousClock.now + $0 }
    }

    private func hangUp() {
        isHungUp = true
        hasPendingFrame = false
        parserDeadline = nil
        queue.append(.hangUp)
    }

    func deliver(_ events: [InputEvent]) {
        for case .reply(let reply) in events {
            switch reply {
            case .mode(number: 2026, let state): canSynchronize = state == 1 || state == 2
            case .deviceAttributes: openQuestions = max(0, openQuestions - 1)
            case .notifications: notificationRoute.hasAnswered = true
            default: break
            }
        }
        if !events.isEmpty { queue.append(.input(events)) }
    }

    // MARK: signals

    private func takeSignals() {
        let events = UInt32(bitPattern: cterminal_take_events())
        if events & CTERMINAL_EVENT_RESIZED.rawValue != 0 {
            let before = size
            applySize()
            // Small for a moment and back again: the terminal has lost what lay outside meanwhile, and no one redraws
            // it.
            if size == before { redrawLatest() }
        }
        if events & CTERMINAL_EVENT_CONTINUED.rawValue != 0, !isHungUp {
            // Another program may have had the terminal in between.
            reset_prog_mode()
            refreshScreen()
            painter.restoreCursor()
            if hasShownFrame { send(modes.enter) }
            queue.append(.resumed)
        }
        if events & CTERMINAL_EVENT_STOP.rawValue != 0, !isHungUp {
            stopWasSignalled = true
            // The signal was heard; what has to be done first may take its time on a busy machine.
            if cterminal_pending_death() == 0 { cterminal_extend_grace(Self.stopGrace) }
            queue.append(.suspending)
        }
        if events & CTERMINAL_EVENT_DEATH.rawValue != 0 {
            cterminal_extend_grace(max(1, options.terminationGrace))
            queue.append(.terminate(signal: cterminal_pending_death()))
        }
    }
}
