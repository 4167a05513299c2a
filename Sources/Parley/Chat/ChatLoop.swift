import Relay
import Terminal

protocol ChatScreen: AnyObject {
    var size: Size { get }
    /// Whether a frame is still waiting to be written to the terminal.
    var hasPendingFrame: Bool { get }
    /// Whether links are written with their targets.
    var linkUse: LinkUse { get set }
    func wait(until deadline: ContinuousClock.Instant?) -> [TerminalSession.Wake]
    func present(_ canvas: Canvas)
    func redraw()
    func bell()
    /// Notifies the user by the terminal's means and returns those used. A bell among them is left to the caller.
    func notify(_ notification: TerminalNotification, by use: NotificationUse) -> [NotificationMethod]
    func setTitle(_ title: String)
    func edit(_ text: String) -> TextEditor.Outcome
    func copy(_ text: String)
    /// Stops the process until it is continued; false if nothing could continue it.
    func suspend() -> Bool
}

extension TerminalSession: ChatScreen {}

/// A chat of the window with its engine. Confined to the screen's thread.
struct WindowChat {
    /// The network's name in a window with several.
    let name: String
    /// The network's profile; nil if only flags describe it.
    var profile: String?
    let model: ChatModel
    var topics: [String] = []
    /// Whether there is a local store, which may name more topics.
    var keeps = false
    let run: EngineRun
    /// Starts the connection once it is prepared, and returns whether it did. Called at each wake-up until it returns
    /// true; nil from then on.
    var connect: (() throws -> Bool)?

    var nextChange: ContinuousClock.Instant? { model.nextChange(after: model.now.instant) }
}

/// The loop of the screen's thread: sleeps in the terminal's poll, updates the model, draws. `ScreenPace` decides the
/// order.
struct ChatLoop {
    private(set) var chats: [WindowChat]
    private(set) var front = 0
    /// The signal that asked the program to end, if any.
    private(set) var endingSignal: Int32?

    private let screen: any ChatScreen
    private let clock: () -> Moment
    private let open: (String) throws -> WindowChat
    private var pace = ScreenPace()
    private var pasteWatch = PasteWatch()
    private let texts = WrappedTexts()
    private var appearance: Appearance
    private let colors: Int
    private var theme: Theme
    private var isOver = false
    /// The chats that the user has agreed to leave since starting to quit.
    private var leaving: Set<Int> = []
    /// The chat whose news is taken in next.
    private var nextSource = 0
    /// Sent to the terminal with the next frame, however often it changes until then.
    private var title: String?
    private var rings = false

    /// - Parameters:
    ///   - colors: the number of colours that the terminal has; 0 for none.
    ///   - open: opens the chat of another profile.
    init(
        _ screen: any ChatScreen, _ chats: [WindowChat], appearance: Appearance = Appearance(), colors: Int = 256,
        clock: @escaping () -> Moment,
        open: @escaping (String) throws -> WindowChat = { _ in
            throw CommandFailure(.usage, "Other networks cannot be opened here.")
        }
    ) {
        (self.screen, self.chats, self.clock, self.open) = (screen, chats, clock, open)
        (self.appearance, self.colors) = (appearance, colors)
        theme = appearance.theme(colors: colors)
    }

    var model: ChatModel { chats[front].model }

    mutating func begin() {
        tellWhetherAlone()
        for place in chats.indices { begin(place) }
        takeStep()
    }

    private mutating func begin(_ place: Int) {
        (chats[place].model.window.isInFront, chats[place].model.window.place) = (place == front, place)
        apply(.start(topics: chats[place].topics, keeps: chats[place].keeps), to: place, by: .person)
    }

    /// Runs until the user quits or the terminal is gone.
    mutating func run() {
        while !isOver { takeStep() }
        for place in chats.indices { handOver(place) }
    }

    /// Runs until another thread, which then wakes the screen, has provided a value; nil if the loop ended before.
    mutating func run<Value>(until ready: () -> Value?) -> Value? {
        while !isOver {
            if let value = ready() { return value }
            takeStep()
        }
        return nil
    }

    mutating func takeStep() {
        let chats = chats
        // By the model's own time, so that no change that fell due meanwhile is skipped.
        let step = pace.next(
            now: clock().instant, canShow: !screen.hasPendingFrame,
            nextChange: chats.lazy.compactMap(\.nextChange).min())
        switch step {
        case .wait(let deadline): wait(until: deadline)
        case .takeNews: takePortion()
        case .draw: draw()
        }
    }

    // MARK: Steps

    private mutating func wait(until deadline: ContinuousClock.Instant?) {
        handOverWhatIsDue()
        let draftDue = chats.lazy.compactMap(\.run.draftDue).min()
        let wakes = screen.wait(until: [deadline, draftDue, pasteWatch.due].compactMap(\.self).min())
        pass(clock(), isSign: wakes.contains(where: \.isSign))
        for wake in wakes { handle(wake) }
        if let due = pasteWatch.due, due <= clock().instant { type(pasteWatch.flush()) }
    }

    private mutating func handle(_ wake: TerminalSession.Wake) {
        switch wake {
        case .input(let events):
            type(pasteWatch.take(events, at: clock().instant))
        case .resized(let size): applyToAll(.resized(size), by: .person)
        case .resumed: applyToAll(.resumed, by: .person)
        case .attached(let isAttached): applyToAll(.attached(isAttached), by: .person)
        case .suspending: suspend()
        case .hangUp, .terminate:
            if case .terminate(let signal) = wake { endingSignal = signal }
            type(pasteWatch.flush(asPaste: true))
            isOver = true
        case .woken:
            pace.newsCame(isAwaited: chats.count { $0.run.queue.takeAnswerFlag() } > 0)
            connectWhatIsReady()
        case .timedOut, .shown: break
        }
    }

    private mutating func type(_ events: [InputEvent]) {
        for event in events {
            // The terminal's answer may change the colours.
            if case .reply(let reply) = event, appearance.take(reply) {
                theme = appearance.theme(colors: colors)
                pace.invalidate(by: .person)
            }
            lookAround()
            switch event {
            case .focusIn, .focusOut, .reply: applyToAll(.input(event), by: .person)
            case .key, .mouse, .paste, .pasteCut:
                for place in chats.indices where place != front && chats[place].model.awaitsSign {
                    carryOut(.inputElsewhere(event), in: place)
                }
                apply(.input(event), to: front, by: .person)
            }
            // Doing something else takes back the agreement to leave.
            if !isOver, !chats[front].model.asksSomething { leaving = [] }
        }
    }

    private mutating func followSettings() {
        let model = chats[front].model
        if model.settings.links.use != screen.linkUse { screen.linkUse = model.settings.links.use }
        guard model.settings.theme != appearance.setting || model.settings.symbols != appearance.symbols else { return }
        (appearance.setting, appearance.symbols) = (model.settings.theme, model.settings.symbols)
        theme = appearance.theme(colors: colors)
    }

    /// Takes in news for a moment; the rest waits for the next portion.
    private mutating func takePortion() {
        let begin = clock()
        pass(begin)
        var messages = 0
        var instant = begin.instant
        var isLast = false
        while messages < ScreenPace.portionMessages, begin.instant.duration(to: instant) < ScreenPace.portionTime {
            guard let (source, news, count) = takeNews() else {
                isLast = true
                break
            }
            let (place, event) = addressed(news, from: source)
            apply(event, to: place, by: isInView(event, of: place) ? .person : .news)
            messages += count
            instant = clock().instant
        }
        pace.tookPortion(isLast: isLast, isEmpty: isLast && messages == 0)
        let isBehind = pace.isBehind(now: instant)
        if isBehind != chats[front].model.screen.isBehind { applyToAll(.behind(isBehind), by: .news) }
    }

    /// The next event of the networks, which take turns.
    private mutating func takeNews() -> (place: Int, event: ChatEvent, messages: Int)? {
        for offset in chats.indices {
            let place = (nextSource + offset) % chats.count
            guard let (event, messages) = chats[place].run.queue.take() else { continue }
            nextSource = place + 1
            return (place, event, messages)
        }
        return nil
    }

    /// Whether the user is waiting for an event and will see its result, which is then drawn as promptly as input.
    private func isInView(_ event: ChatEvent, of place: Int) -> Bool {
        guard place == front, event.isAnswer else { return false }
        if case .past(let name, _) = event { return chats[front].model.screen.view == .conversation(name) }
        return true
    }

    private mutating func draw() {
        let begin = clock().instant
        lookAround()
        followSettings()
        screen.present(
            render(
                chats[front].model, size: screen.size, now: chats[front].model.now.instant, theme: theme, texts: texts))
        if let title = exchange(&title, with: nil) { screen.setTitle(title) }
        if exchange(&rings, with: false) { screen.bell() }
        pace.drew(taking: begin.duration(to: clock().instant))
        handOverWhatIsDue()
    }

    // MARK: Events

    private mutating func apply(_ event: ChatEvent, to place: Int, by cause: FrameLimiter.Cause) {
        carryOut(event, in: place)
        pace.invalidate(by: cause)
    }

    private mutating func applyToAll(_ event: ChatEvent, by cause: FrameLimiter.Cause) {
        for place in chats.indices { carryOut(event, in: place) }
        pace.invalidate(by: cause)
    }

    /// Advances the time, which requests a frame only if it changes something on the screen.
    ///
    /// - Parameter isSign: whether the user did something, which needs a frame in any case.
    private mutating func pass(_ time: Moment, isSign: Bool = false) {
        for place in chats.indices {
            let isSeen = place == front && (isSign || chats[place].nextChange.map { $0 <= time.instant } ?? false)
            carryOut(.tick(time, isSign: isSign), in: place)
            if isSeen { pace.invalidate(by: .news) }
        }
    }

    private mutating func carryOut(_ event: ChatEvent, in place: Int) {
        let effects = update(chats[place].model, event)
        for effect in effects.core { chats[place].run.hold(effect) }
        for effect in effects.screen { perform(effect, of: place) }
    }

    // MARK: Several networks

    private mutating func lookAround() {
        guard chats.count > 1 else { return }
        let glances = chats.indices.map { ChatGlance(chats[$0].model, named: chats[$0].name, isInFront: $0 == front) }
        guard glances != chats[front].model.window.chats || front != chats[front].model.window.place else { return }
        carryOut(.others(glances, place: front), in: front)
    }

    /// Runs the search in the other chats' stores; a chat that has not connected yet has none.
    private mutating func search(_ request: UInt64, _ query: SearchQuery, _ limit: Int, for place: Int) {
        for other in chats.indices where other != place {
            if chats[other].connect == nil {
                chats[other].run.hold(.search(.find(request: request, query, limit: limit, asker: place)))
            } else {
                let answer = Search.Answer(chat: other, items: [], isComplete: true)
                carryOut(.search(.foundElsewhere(request: request, answer)), in: place)
            }
        }
    }

    /// The chat that an event goes to: answers to another chat's search go to that one.
    private func addressed(_ event: ChatEvent, from place: Int) -> (place: Int, event: ChatEvent) {
        let (request, asker, answer): (UInt64, Int, Search.Answer)
        switch event {
        case .search(.found(let number, let items, let isComplete, let chat?)):
            (request, asker, answer) = (number, chat, .init(chat: place, items: items, isComplete: isComplete))
        case .search(.failed(let number, _, let chat?)):
            (request, asker, answer) = (number, chat, .init(chat: place, items: [], isComplete: true))
        default: return (place, event)
        }
        let isThere = chats.indices.contains(asker)
        return (isThere ? asker : place, .search(.foundElsewhere(request: request, answer)))
    }

    private mutating func show(_ place: Int, _ destination: ChatDestination) {
        guard chats.indices.contains(place) else { return }
        if place != front {
            let (begun, foldChoice) = (chats[front].model.window.origin, chats[front].model.screen.sidebar.foldChoice)
            apply(.behindOthers, to: front, by: .person)
            chats[front].model.window.origin = nil
            // Alt-a ends where it began.
            let origin = destination == .unread ? begun ?? front : nil
            chats[place].model.window.origin = origin == place ? nil : origin
            chats[place].model.screen.sidebar.foldChoice = foldChoice
            front = place
        }
        lookAround()
        apply(.front(destination), to: front, by: .person)
    }

    /// Opens another profile's chat, or brings it to the front if it is open.
    private mutating func openChat(_ profile: String) {
        if let place = chats.firstIndex(where: { $0.profile == profile }) { return show(place, .last) }
        do {
            let chat = try open(profile)
            // The terminal reports these only once.
            chat.model.attention.tracker = chats[front].model.attention.tracker
            chat.model.attention.suspension.isDetached = chats[front].model.attention.suspension.isDetached
            chats.append(chat)
            tellWhetherAlone()
            begin(chats.count - 1)
            show(chats.count - 1, .last)
        } catch {
            apply(.notice(words(error), isFailure: true), to: front, by: .person)
        }
    }

    private mutating func tellWhetherAlone() {
        for place in chats.indices { chats[place].model.window.isAlone = chats.count == 1 }
    }

    private mutating func connectWhatIsReady() {
        var place = 0
        while place < chats.count {
            do {
                if try chats[place].connect?() == true { chats[place].connect = nil }
                place += 1
            } catch {
                let name = chats[place].name
                remove(place)
                apply(.notice("\(name): \(words(error))", isFailure: true), to: front, by: .person)
            }
        }
    }

    /// Removes a chat that could not be prepared; never the first.
    private mutating func remove(_ place: Int) {
        let isFront = place == front
        let text = chats.remove(at: place).model.compose.text
        tellWhetherAlone()
        leaving = []
        if isFront || front > place { front = max(0, front - 1) }
        if chats.count == 1 { carryOut(.others([], place: 0), in: 0) }
        guard isFront else { return }
        show(front, .last)
        // Text that was typed there is kept.
        if !text.isEmpty, chats[front].model.compose.isEmpty { apply(.edited(.written(text)), to: front, by: .person) }
    }

    /// Ends the loop, unless another chat has to ask something first.
    private mutating func quit(_ place: Int) {
        leaving.insert(place)
        guard let next = chats.indices.first(where: { !leaving.contains($0) }) else {
            isOver = true
            return
        }
        carryOut(.leave, in: next)
        if !isOver, !leaving.contains(next) { show(next, .last) }
    }

    private func words(_ error: any Error) -> String { CommandFailure(of: error)?.text ?? "\(error)" }

    // MARK: Effects

    private mutating func perform(_ effect: ScreenEffect, of place: Int) {
        switch effect {
        case .quit: quit(place)
        case .redraw: screen.redraw()
        case .bell: ringWithFrame()
        case .notify(let notification, let isTest):
            let settings = chats[place].model.settings
            let methods = screen.notify(notification, by: settings.notifications.by.use)
            if methods.contains(.bell), settings.bell != .nothing { ringWithFrame() }
            if isTest { apply(.notified(by: methods), to: place, by: .person) }
        case .copy(let text): screen.copy(text)
        case .edit(let text):
            // Saves what was typed before another program has the terminal.
            for place in chats.indices { handOver(place) }
            let outcome = screen.edit(text)
            pass(clock(), isSign: true)
            apply(.edited(outcome), to: place, by: .person)
        case .setTitle(let title): if place == front { self.title = title }
        case .suspendProcess: suspend()
        case .showChat(let place, let destination): show(place, destination)
        case .searchElsewhere(let request, let query, let limit): search(request, query, limit, for: place)
        case .openChat(let profile): openChat(profile)
        }
    }

    /// Rings the bell once per frame, however many reasons there are.
    private mutating func ringWithFrame() {
        rings = true
        pace.invalidate(by: .news)
    }

    private mutating func handOverWhatIsDue() {
        for place in chats.indices where chats[place].run.isDue(at: chats[place].model.now.instant) { handOver(place) }
    }

    private mutating func handOver(_ place: Int) {
        for _ in 0..<chats[place].run.handOver(at: chats[place].model.now.instant) {
            apply(.notice(EngineRun.tooMuch, isFailure: true), to: place, by: .news)
        }
    }

    private mutating func suspend() {
        applyToAll(.suspending, by: .person)
        for place in chats.indices { handOver(place) }
        EngineRun.letGo(chats.map(\.run))
        let isStopped = screen.suspend()
        pass(clock())
        applyToAll(.resumed, by: .person)
        if !isStopped { apply(.notice("There is no shell to return to.", isFailure: true), to: front, by: .person) }
    }
}

extension TerminalSession.Wake {
    /// Whether the user caused it. A terminal answers on its own, and other programs may resize it.
    fileprivate var isSign: Bool {
        switch self {
        case .input(let events): events.contains { if case .reply = $0 { false } else { true } }
        case .attached, .suspending, .resumed: true
        case .resized, .woken, .shown, .timedOut, .hangUp, .terminate: false
        }
    }
}
