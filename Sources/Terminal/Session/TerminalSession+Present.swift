import CTerminal
import Platform

extension TerminalSession {
    /// From this many changed cells on, a frame is sent as one synchronized update, if the terminal can.
    private static let synchronizedFrom = 400
    private static let titleLimit = 200

    /// Whether the terminal takes output now.
    public var isWritable: Bool {
        guard !isHungUp, !isClosed else { return false }
        var item = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        return poll(&item, 1, 0) == 1 && item.revents & Int16(POLLOUT) != 0
    }

    /// Shows a canvas: sends what differs from the screen, in one go. While the terminal takes no output, the newest
    /// canvas is kept and shown later; those in between are skipped.
    public func present(_ canvas: Canvas) {
        latest = canvas
        hasPendingFrame = true
        showPending()
    }

    /// Redraws everything, whatever else has written to the terminal, and asks for its background again: the person may
    /// have chosen another.
    public func redraw() {
        guard !isHungUp, !isClosed else { return }
        refreshScreen()
        if hasShownFrame, options.asksBackground, isWritable { send(questions(Self.backgroundQuestion)) }
    }

    /// Repaints the screen if links are switched on or off.
    func followLinkUse() {
        let isOn =
            switch linkUse {
            case .auto: Modes.takesLinks(type: type)
            case .always: true
            case .never: false
            }
        guard isOn != painter.writesLinks else { return }
        painter.writesLinks = isOn
        if hasShownFrame, !isHungUp, !isClosed { refreshScreen() }
    }

    /// Sets the window's title, as safe text of at most 200 columns.
    public func setTitle(_ title: String) {
        guard modes.canBeAsked else { return }
        self.title = SafeText(title).prefix(columns: Self.titleLimit).description
        if hasShownFrame, isWritable { sendTitle() }
    }

    /// Rings the terminal's bell, unless it takes no output.
    public func bell() {
        if isWritable { send([0x07]) }
    }

    /// Notifies a person who looks elsewhere, by what the terminal supports. No terminal confirms it.
    ///
    /// - Returns: the methods to use; none while the terminal takes no output. The bell among them is left to the
    ///   caller, who may have other reasons to ring it.
    public func notify(_ notification: TerminalNotification, by use: NotificationUse) -> [NotificationMethod] {
        guard isWritable else { return [] }
        // A terminal that cannot be asked may print an unknown sequence.
        let isKnown = use != .auto || modes.canBeAsked
        let methods = isKnown ? notificationRoute.methods(for: use) : [.bell]
        for method in methods where method != .bell {
            send(NotificationSequence.bytes(notification, by: method, isInTmux: notificationRoute.isInTmux))
        }
        return methods
    }

    /// Copies a text to the terminal's clipboard (OSC 52). No terminal confirms it.
    public func copy(_ text: String) {
        guard modes.canBeAsked, isWritable else { return }
        send(ClipboardSequence.bytes(text))
    }

    /// Shows the newest canvas if the terminal takes it.
    func showPending() {
        guard hasPendingFrame, let canvas = latest, isWritable else { return }
        hasPendingFrame = false
        let changed = painter.draw(canvas)
        let isSynchronized = canSynchronize && changed >= Self.synchronizedFrom
        if isSynchronized { send(Array("\u{1B}[?2026h".utf8)) }
        let reset = painter.takeResetBytes()
        // Nothing has scrolled before the first frame, which may bring its screen along.
        if hasShownFrame, !reset.isEmpty { send(reset) }
        doupdate()
        let links = painter.takeLinkBytes()
        if !links.isEmpty { send(links) }
        if isSynchronized { send(Array("\u{1B}[?2026l".utf8)) }
        if !hasShownFrame {
            // After the first frame, so that nothing delays it.
            hasShownFrame = true
            let background = options.asksBackground ? Self.backgroundQuestion : ""
            let notifications = notificationRoute.isAsked(type: type) ? NotificationSequence.question : ""
            let focus = options.focus ? "\u{1B}[?1004$p" : ""
            send(modes.enter + questions("\(background)\(notifications)\u{1B}[?2026$p\(focus)"))
        }
        if title != nil { sendTitle() }
    }

    private static let backgroundQuestion = "\u{1B}]11;?\u{1B}\\"

    /// Questions, and one after them that every terminal answers: what it has not answered by then it does not know.
    private func questions(_ text: String) -> [UInt8] {
        guard modes.canBeAsked else { return [] }
        openQuestions += 1
        return Array("\(text)\u{1B}[c".utf8)
    }

    private func sendTitle() {
        guard let title else { return }
        self.title = nil
        send(Array("\u{1B}]2;\(title)\u{1B}\\".utf8))
    }

    /// Writes past ncurses, whose own buffer is empty between two frames.
    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                rest.removeFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
