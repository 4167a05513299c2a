import Relay
import Terminal

/// What the loop needs of a terminal.
protocol ChatScreen: AnyObject {
    var size: Size { get }
    /// Whether a frame waits until the terminal takes it.
    var hasPendingFrame: Bool { get }
    /// Whether the terminal is told where links lead.
    var linkUse: LinkUse { get set }
    func wait(until deadline: ContinuousClock.Instant?) -> [TerminalSession.Wake]
    func present(_ canvas: Canvas)
    func redraw()
    func bell()
    /// Calls the person by what the terminal has for that, and tells by what. The bell among these is still to be rung.
    func notify(_ notification: TerminalNotification, by use: NotificationUse) -> [NotificationMethod]
    func setTitle(_ title: String)
    /// Gives the terminal to the person's editor until that ends.
    func edit(_ text: String) -> TextEditor.Outcome
    /// Gives a text to the terminal's clipboard.
    func copy(_ text: String)
    /// Stops the process until it is continued; false when nobody could.
    func suspend() -> Bool
}

extension TerminalSession: ChatScreen {}

/// The screen's thread: sleeps in the terminal's poll, updates the model, draws. `ScreenPace` says what comes first.
struct ChatLoop {
    private(set) var model: ChatModel
    /// The signal that asked for the end, if one did.
    private(set) var endingSignal: Int32?

    private let screen: any ChatScreen
    private let queue: EventQueue
    private let clock: () -> Moment
    private let send: (CoreEffect) -> Bool
    private let letGo: (() -> Void)?
    private var pace = ScreenPace()
    private var pasteWatch = PasteWatch()
    private let texts = WrappedTexts()
    private var appearance: Appearance
    private let colors: Int
    private var theme: Theme
    private var isOver = false
    /// What goes to the terminal with the next frame, however often it changes until then.
    private var title: String?
    private var rings = false
    /// What is asked of the core goes to it when the frame is drawn, so that no key waits until another thread is
    /// awake.
    private var requests: [CoreEffect] = []
    private static let requestLimit = 256
    /// When the text being written went there last.
    private var lastDraft: ContinuousClock.Instant?
    /// While somebody types, the text goes there this often, since each time wakes other threads: so that with what the
    /// local store waits for others, no end of the process takes more than the last tenth of a second.
    static let draftPause = Duration.milliseconds(40)

    /// - Parameters:
    ///   - appearance: how the screen has to look.
    ///   - colors: how many colours the terminal has; 0 for none.
    ///   - clock: tells the time.
    ///   - send: takes what is not for the terminal; false when it cannot.
    ///   - letGo: lets the connection go, as the process is about to stop; it takes a part of a second at most.
    init(
        _ screen: any ChatScreen, queue: EventQueue, model: ChatModel, appearance: Appearance = Appearance(),
        colors: Int = 256, clock: @escaping () -> Moment, send: @escaping (CoreEffect) -> Bool,
        letGo: (() -> Void)? = nil
    ) {
        self.letGo = letGo
        self.appearance = appearance
        self.colors = colors
        theme = appearance.theme(colors: colors)
        self.screen = screen
        self.queue = queue
        self.model = model
        self.clock = clock
        self.send = send
    }

    /// Draws the first frame.
    mutating func begin(_ topics: [String], keeps: Bool) {
        apply(.start(topics: topics, keeps: keeps), by: .person)
        takeStep()
    }

    /// Goes on until the person leaves, or the terminal does.
    mutating func run() {
        while !isOver { takeStep() }
        handOver()
    }

    /// Goes on until something is there that comes from another thread, which wakes the screen then.
    ///
    /// - Returns: what is there; nil where the end came before.
    mutating func run<Value>(until ready: () -> Value?) -> Value? {
        while !isOver {
            if let value = ready() { return value }
            takeStep()
        }
        return nil
    }

    /// Does what comes next.
    mutating func takeStep() {
        // By the model's own time, so that no change is passed over that came due meanwhile.
        let nextChange = model.nextChange(after: model.now.instant)
        switch pace.next(now: clock().instant, canShow: !screen.hasPendingFrame, nextChange: nextChange) {
        case .wait(let deadline): wait(until: deadline)
        case .takeNews: takePortion()
        case .draw: draw()
        }
    }

    // MARK: Steps

    private mutating func wait(until deadline: ContinuousClock.Instant?) {
        handOverWhatIsDue()
        let wakes = screen.wait(until: [deadline, draftDue, pasteWatch.due].compactMap(\.self).min())
        pass(clock(), isSign: wakes.contains(where: \.isSign))
        for wake in wakes { handle(wake) }
        if let due = pasteWatch.due, due <= clock().instant { type(pasteWatch.flush()) }
    }

    private mutating func handle(_ wake: TerminalSession.Wake) {
        switch wake {
        case .input(let events):
            type(pasteWatch.take(events, at: clock().instant))
        case .resized(let size): apply(.resized(size), by: .person)
        case .resumed: apply(.resumed, by: .person)
        case .attached(let isAttached): apply(.attached(isAttached), by: .person)
        case .suspending: suspend()
        case .hangUp:
            type(pasteWatch.flush(asPaste: true))
            isOver = true
        case .terminate(let signal):
            type(pasteWatch.flush(asPaste: true))
            endingSignal = signal
            isOver = true
        case .woken: pace.newsCame(isAwaited: queue.takeAnswerFlag())
        case .timedOut, .shown: break
        }
    }

    /// Takes in what the person did, or the terminal said.
    private mutating func type(_ events: [InputEvent]) {
        for event in events {
            if case .reply(let reply) = event { take(reply) }
            apply(.input(event), by: .person)
        }
    }

    /// Draws again where the terminal's word changes the colours.
    private mutating func take(_ reply: TerminalReply) {
        guard appearance.take(reply) else { return }
        theme = appearance.theme(colors: colors)
        pace.invalidate(by: .person)
    }

    /// Draws again where the configuration's word does.
    private mutating func followSettings() {
        let settings = model.settings
        if settings.links.use != screen.linkUse { screen.linkUse = settings.links.use }
        guard settings.theme != appearance.setting || settings.symbols != appearance.symbols else { return }
        (appearance.setting, appearance.symbols) = (settings.theme, settings.symbols)
        theme = appearance.theme(colors: colors)
    }

    /// Takes in news for a moment. What is left waits for the next portion.
    private mutating func takePortion() {
        let begin = clock()
        pass(begin)
        var messages = 0
        var instant = begin.instant
        while messages < ScreenPace.portionMessages, begin.instant.duration(to: instant) < ScreenPace.portionTime {
            guard let (event, count) = queue.take() else {
                pace.tookPortion(isLast: true, isEmpty: messages == 0)
                return noteBehind(instant)
            }
            apply(event, by: isInView(event) ? .person : .news)
            messages += count
            instant = clock().instant
        }
        pace.tookPortion(isLast: false)
        noteBehind(instant)
    }

    /// Whether a person waits for an event and sees what it brings: it is drawn as what the person does is.
    private func isInView(_ event: ChatEvent) -> Bool {
        guard event.isAnswer else { return false }
        if case .past(let name, _) = event { return model.screen.view == .conversation(name) }
        return true
    }

    /// A screen that does not keep up says so.
    private mutating func noteBehind(_ instant: ContinuousClock.Instant) {
        let isBehind = pace.isBehind(now: instant)
        if isBehind != model.screen.isBehind { apply(.behind(isBehind), by: .news) }
    }

    private mutating func draw() {
        let begin = clock().instant
        followSettings()
        screen.present(render(model, size: screen.size, now: model.now.instant, theme: theme, texts: texts))
        if let title { screen.setTitle(title) }
        if rings { screen.bell() }
        title = nil
        rings = false
        pace.drew(taking: begin.duration(to: clock().instant))
        handOverWhatIsDue()
    }

    // MARK: Events

    /// Takes in an event, which a frame is drawn for.
    private mutating func apply(_ event: ChatEvent, by cause: FrameLimiter.Cause) {
        carryOut(event)
        pace.invalidate(by: cause)
    }

    /// Takes in that it is later. Time that changes nothing on the screen has no frame drawn.
    ///
    /// - Parameter isSign: whether the person did something, for which a frame comes anyway.
    private mutating func pass(_ time: Moment, isSign: Bool = false) {
        let isDue = model.nextChange(after: model.now.instant).map { $0 <= time.instant } ?? false
        carryOut(.tick(time, isSign: isSign))
        if isSign || isDue { pace.invalidate(by: .news) }
    }

    private mutating func carryOut(_ event: ChatEvent) {
        let effects = update(&model, event)
        for effect in effects.core { request(effect) }
        for effect in effects.screen { perform(effect) }
    }

    // MARK: Effects

    private mutating func perform(_ effect: ScreenEffect) {
        switch effect {
        case .quit: isOver = true
        case .redraw: screen.redraw()
        case .bell: ringWithFrame()
        case .notify(let notification, let isTest): notify(notification, isTest: isTest)
        case .copy(let text): screen.copy(text)
        case .edit(let text): edit(text)
        case .setTitle(let title): self.title = title
        case .suspendProcess: suspend()
        }
    }

    private mutating func request(_ effect: CoreEffect) {
        // A later text of the same conversation says all that the one before it does.
        if case .store(.keepDraft(let draft)) = effect, case .store(.keepDraft(let earlier))? = requests.last,
            earlier.conversation == draft.conversation
        {
            requests.removeLast()
        }
        requests.append(effect)
        if requests.count >= Self.requestLimit { handOver() }
    }

    /// Of all reasons to ring there are at a time, the bell rings once.
    private mutating func ringWithFrame() {
        rings = true
        pace.invalidate(by: .news)
    }

    private mutating func notify(_ notification: TerminalNotification, isTest: Bool) {
        let methods = screen.notify(notification, by: model.settings.notifications.by.use)
        if methods.contains(.bell), model.settings.bell != .nothing {
            ringWithFrame()
        }
        if isTest { apply(.notified(by: methods), by: .person) }
    }

    /// Hands over what was asked for. The text that is being written waits a moment behind the one before it, unless
    /// there is something else as well.
    private mutating func handOverWhatIsDue() {
        guard let draftDue, draftDue > model.now.instant else { return handOver() }
    }

    /// When the text being written is handed over that waits alone; nil where it does not.
    private var draftDue: ContinuousClock.Instant? {
        guard let lastDraft, !requests.isEmpty, requests.allSatisfy(\.isDraft) else { return nil }
        return lastDraft + Self.draftPause
    }

    private mutating func handOver() {
        let due = requests
        if due.contains(where: \.isDraft) { lastDraft = model.now.instant }
        requests.removeAll(keepingCapacity: true)
        for effect in due where !send(effect) {
            apply(.notice(EngineRun.tooMuch, isFailure: true), by: .news)
        }
    }

    private mutating func edit(_ text: String) {
        // What was typed is kept while somebody else has the terminal.
        handOver()
        let outcome = screen.edit(text)
        pass(clock(), isSign: true)
        apply(.edited(outcome), by: .person)
    }

    private mutating func suspend() {
        apply(.suspending, by: .person)
        handOver()
        letGo?()
        let isStopped = screen.suspend()
        pass(clock())
        apply(.resumed, by: .person)
        if !isStopped { apply(.notice("There is no shell to return to.", isFailure: true), by: .person) }
    }
}

extension CoreEffect {
    /// Whether it keeps a text that is being written.
    fileprivate var isDraft: Bool { if case .store(.keepDraft) = self { true } else { false } }
}

extension TerminalSession.Wake {
    /// Whether it is the person's doing. A terminal answers by itself, and others may change its size.
    fileprivate var isSign: Bool {
        switch self {
        case .input(let events): events.contains { if case .reply = $0 { false } else { true } }
        case .attached, .suspending, .resumed: true
        case .resized, .woken, .shown, .timedOut, .hangUp, .terminate: false
        }
    }
}
