import CTerminal
import Platform

extension TerminalSession {
    /// Gives the terminal back, stops the program as control-z would, and takes the terminal again when it is
    /// continued: modes, size and the entire screen. `wait` then returns `.resumed`, and `.resized` if the size has
    /// changed.
    ///
    /// - Returns: false, without having done anything, if no job-control shell could continue the program.
    @discardableResult
    public func suspend() -> Bool {
        guard !isClosed, !isHungUp else { return false }
        let wholeGroup = !stopWasSignalled
        stopWasSignalled = false
        let isPending = cterminal_stop_is_pending()
        guard cterminal_can_stop() else { return false }
        // It took too long, and the program was stopped and continued without this: once is enough.
        guard wholeGroup || isPending else { return true }
        leaveScreen(discardsInput: false)
        cterminal_release_errors()
        cterminal_stop(wholeGroup)
        enterScreen()
        queue.append(.resumed)
        return true
    }

    /// Gives the terminal to `body`, an editor for instance, and takes it again afterwards.
    public func withTerminalReleased<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard !isClosed, !isHungUp else { return try body() }
        leaveScreen(discardsInput: false, keepsTyped: true)
        cterminal_release_errors()
        defer { enterScreen() }
        return try body()
    }

    /// Returns to the shell's screen and modes; with `discardsInput`, unread input is dropped.
    ///
    /// - Parameter keepsTyped: whether text typed before the terminal has answered is for this program. Text typed for
    ///   a shell is not: it could be sent.
    func leaveScreen(discardsInput: Bool, keepsTyped: Bool = false) {
        cterminal_stop_taking_keys()
        send(modes.leave)
        // A reply in flight would be typed into the shell; what follows it stays.
        if openQuestions > 0 { awaitAnswers(keepsTyped: keepsTyped) }
        let flushes = discardsInput || openQuestions > 0
        endwin()
        cterminal_set_active(false)
        if flushes { tcflush(STDIN_FILENO, TCIFLUSH) }
        openQuestions = 0
    }

    /// Takes the screen and the session's modes again, and redraws everything.
    func enterScreen() {
        // The modes before the screen: in the background this waits for the shell to hand the terminal over.
        reset_prog_mode()
        cterminal_set_active(true)
        if options.capturesStandardError { cterminal_capture_errors() }
        // Held input belongs to the time before.
        parser = InputParser()
        parserDeadline = nil
        refreshScreen()
        if hasShownFrame { send(modes.enter) }
    }

    /// Redraws everything, in the window's present size.
    func refreshScreen() {
        applySize()
        redrawLatest()
    }

    func redrawLatest() {
        hasPendingFrame = latest != nil
        showPending()
    }

    /// Starts over on a blank screen of the window's size; queues `.resized` if that has changed.
    func applySize() {
        let now = Self.currentSize()
        if now != size {
            resizeterm(Int32(now.rows), Int32(now.columns))
            size = now
            queue.append(.resized(now))
        }
        painter.reset(size: now)
    }

    /// Waits for the replies and, with `keepsTyped`, delivers what was typed before them.
    private func awaitAnswers(keepsTyped: Bool) {
        let end = ContinuousClock.now + .milliseconds(60)
        var bytes = [UInt8](repeating: 0, count: 256)
        while openQuestions > 0 {
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else { return }
            var item = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&item, 1, rest.pollMilliseconds) == 1, item.revents & Int16(POLLIN) != 0 else { return }
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            guard count > 0 else { return }
            let events = parser.feed(bytes[..<count])
            deliver(keepsTyped ? events : events.filter { if case .reply = $0 { true } else { false } })
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, as `poll` takes them.
    var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        // More than a day is as good as forever; the caller asks again.
        guard seconds < 86_400 else { return 86_400_000 }
        return Int32(clamping: max(0, seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
