import Relay
import Terminal
import Testing

@testable import Parley

extension ChatEffects {
    func contains(_ effect: CoreEffect) -> Bool { core.contains(effect) }
    func contains(_ effect: ScreenEffect) -> Bool { screen.contains(effect) }

    /// The lines that are published, each behind its topic.
    var lines: [String] {
        core.compactMap { if case .topics(.publish(_, let topic, let text)) = $0 { "\(topic): \(text)" } else { nil } }
    }

    /// The letters that are posted, each behind its address and what it is about.
    var letters: [String] {
        core.compactMap { effect -> String? in
            guard case .letters(.post(_, let user, let box, let subject, let text)) = effect else { return nil }
            return "\(user)/\(box)\(subject.map { " [\($0)]" } ?? ""): \(text)"
        }
    }

    /// The letters of each deletion that the network is asked for.
    var deletions: [[String]] {
        core.compactMap { if case .letters(.delete(let ids)) = $0 { ids } else { nil } }
    }

    /// The choices that are kept.
    var choices: [CoreEffect] { core.filter { if case .store(.keepChoice) = $0 { true } else { false } } }
}

extension [String] {
    /// Whether no character of a screen's rows moves, hides or reorders anything.
    var isHarmless: Bool {
        joined().unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) && !(0x202A...0x202E).contains(scalar.value)
                && !(0x2066...0x2069).contains(scalar.value)
        }
    }
}

/// Keys without others held down, by their names.
extension Key {
    static let enter = Key(.enter)
    static let escape = Key(.escape)
    static let tab = Key(.tab)
    static let backTab = Key(.backTab)
    static let backspace = Key(.backspace)
    static let delete = Key(.delete)
    static let insert = Key(.insert)
    static let up = Key(.up)
    static let down = Key(.down)
    static let left = Key(.left)
    static let right = Key(.right)
    static let home = Key(.home)
    static let end = Key(.end)
    static let pageUp = Key(.pageUp)
    static let pageDown = Key(.pageDown)

    static func function(_ number: Int) -> Key { Key(.function(number)) }
}

/// A model with its effects so far, and short words for the events that tests send.
struct Desk {
    var model: ChatModel
    var effects: ChatEffects = []
    /// What was asked for about people, apart from all else: it follows from what is in view.
    var peopleEffects: [CoreEffect] = []
    /// Where others were told that the person types, apart from all else: it follows from every line.
    var typingEffects: [CoreEffect] = []
    /// What the person was notified of, apart from all else: it goes along with the bell.
    var notifications: [TerminalNotification] = []
    /// Whether the core accepts what goes to it before anything else happens.
    var acceptsAtOnce = true

    /// Friday 21 November 2025, 10:00:00 UTC.
    static let wall = Timestamp(milliseconds: 1_763_719_200_000)
    static let start = ContinuousClock.now

    init(size: Size = Size(rows: 24, columns: 80), state: ConnectionStatus.State = .connected) {
        model = ChatModel(
            identity: .init(user: "alice", network: "local"), size: size,
            now: Moment(instant: Self.start, wall: Self.wall), zone: .fixed(seconds: 0),
            status: ConnectionStatus(state: state, roundTripTime: state == .connected ? .microseconds(400) : nil),
            origin: "own")
    }

    /// Joined to `topics`, all live with their history complete, and the effects of that forgotten.
    static func joined(
        _ topics: String..., size: Size = Size(rows: 24, columns: 80), state: ConnectionStatus.State = .connected
    ) -> Desk {
        var desk = Desk(size: size, state: state)
        desk.send(.start(topics: topics))
        for topic in topics {
            desk.send(.topic(topic, .live))
            desk.send(.past(topic, .history([], isComplete: true)))
        }
        (desk.effects, desk.peopleEffects, desk.typingEffects) = ([], [], [])
        return desk
    }

    /// Opens what an earlier run has kept, after the start and before there is a connection; the effects are only those
    /// of that.
    static func opened(
        _ kept: KeptDesk?, named topics: [String] = [], size: Size = Size(rows: 24, columns: 80),
        state: ConnectionStatus.State = .connecting
    ) -> Desk {
        var desk = Desk(size: size, state: state)
        desk.send(.start(topics: topics, keeps: true))
        desk.effects = []
        desk.send(.opened(kept))
        return desk
    }

    /// Sends an event and returns what followed, titles, people, typing and notifications left out.
    @discardableResult
    mutating func send(_ event: ChatEvent) -> ChatEffects {
        let all = update(model, event)
        var new: ChatEffects = []
        for effect in all.core {
            switch effect {
            case .people(.watch), .people(.appear): peopleEffects.append(effect)
            case .people(.typing): typingEffects.append(effect)
            default: new.core.append(effect)
            }
        }
        for effect in all.screen {
            switch effect {
            case .setTitle: break
            case .notify(let notification, isTest: false): notifications.append(notification)
            default: new.screen.append(effect)
            }
        }
        effects += new
        if acceptsAtOnce { new.core.forEach { accept($0) } }
        return new
    }

    /// Tells that the core has accepted what was handed to it.
    private mutating func accept(_ effect: CoreEffect) {
        switch effect {
        case .topics(.publish(let id, _, _)), .letters(.post(let id, _, _, _, _)), .keys(.change(let id, _)):
            let state = model.network.status.state == .connected ? PublishNews.State.sending : .queued
            send(.published(PublishNews(id: id, state: state)))
        default: break
        }
    }

    /// Presses keys one after the other, and returns what followed.
    @discardableResult
    mutating func press(_ keys: Key...) -> ChatEffects {
        var all: ChatEffects = []
        for key in keys { all += send(.input(.key(key))) }
        return all
    }

    @discardableResult
    mutating func press(_ code: Key.Code, _ modifiers: Key.Modifiers) -> ChatEffects { press(Key(code, modifiers)) }

    mutating func type(_ text: String) {
        for character in text { press(.plain(character)) }
    }

    /// Types a text and presses Enter.
    @discardableResult
    mutating func enter(_ text: String) -> ChatEffects {
        type(text)
        return press(.enter)
    }

    /// Runs what the palette finds by some letters.
    @discardableResult
    mutating func choose(_ letters: String) -> ChatEffects {
        press(.control("k"))
        return enter(letters)
    }

    /// Filters the letters of the postbox, and keeps the filter.
    mutating func filter(_ words: String) {
        press(.alt("l"))
        enter(words)
    }

    @discardableResult
    mutating func paste(_ text: String) -> ChatEffects { send(.input(.paste(text))) }

    /// Sends a line to the topic in view, and returns its id.
    mutating func publish(_ text: String) throws -> String {
        let ids: [String] = enter(text).core.compactMap {
            if case .topics(.publish(let id, _, _)) = $0 { id } else { nil }
        }
        return try #require(ids.first, "nothing is published")
    }

    /// What a topic's subscription delivers.
    @discardableResult
    mutating func receive(_ messages: [TopicMessage], in topic: String? = nil) -> ChatEffects {
        send(.topic(topic ?? messages.first?.topic ?? "chat.lobby", .messages(messages)))
    }

    @discardableResult
    mutating func becomes(
        _ state: ConnectionStatus.State, _ reason: ConnectionReason? = nil, attempt: Int = 0
    ) -> ChatEffects {
        send(.statusChanged(ConnectionStatus(state: state, reason: reason, attempt: attempt)))
    }

    @discardableResult
    mutating func published(_ id: String, _ state: PublishNews.State, mayBeStored: Bool = false) -> ChatEffects {
        send(.published(PublishNews(id: id, state: state, mayBeStored: mayBeStored)))
    }

    mutating func loseFocus() {
        // The first report shows that the terminal reports at all.
        send(.input(.focusIn))
        send(.input(.focusOut))
    }

    mutating func wait(_ duration: Duration) {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        send(
            .tick(
                Moment(
                    instant: model.now.instant.advanced(by: duration),
                    wall: Timestamp(milliseconds: model.now.wall.milliseconds + milliseconds))))
    }

    func conversation(_ name: String) -> Conversation? { model.network.conversations.named(name) }

    /// What a conversation shows, row by row, in short.
    func texts(_ name: String) -> [String] {
        guard let conversation = conversation(name) else { return [] }
        return (0..<conversation.count).compactMap { conversation.row(at: $0) }.map { row in
            switch row {
            case .message(let line): "\(line.sequence) \(line.isOwn ? "own " : "")\(line.text)"
            case .gap(_, let lost): "gap \(lost)"
            case .restart: "restart"
            case .outage(_, let outage): "outage \(outage.count)"
            case .pending(let line): "\(line.state) \(line.text)"
            }
        }
    }

    /// The screen's rows.
    func screen(_ size: Size? = nil, after wait: Duration = .zero) -> [String] {
        render(model, size: size ?? model.size, now: model.now.instant.advanced(by: wait)).rows
    }

    /// Whether a row of the screen has some words.
    func shows(_ words: String) -> Bool { screen().contains { $0.contains(words) } }

    /// The screen's last row.
    var bottom: String { screen().last ?? "" }

    /// The topmost row: the title, with the connection and what is new.
    var top: String { screen().first ?? "" }

    /// The words of the notice that is shown.
    var notice: String { model.notices.shown?.text ?? "" }

    /// What is being written.
    var text: String { model.compose.text }

    var view: MainView { model.screen.view }
    var focus: Focus { model.screen.focus }
    var overlay: Overlay? { model.screen.overlay }
    var inbox: Inbox { model.network.inbox }
    var letterIDs: [String] { inbox.letters.map(\.id) }
}

/// A message as the core delivers it; `minutes` after 10:00. Alice's are known to be hers, unless said otherwise.
func message(
    _ sequence: UInt64, _ text: String, from name: String = "bob", topic: String = "chat.lobby", id: String? = nil,
    minutes: Int64 = 0, isRecovered: Bool = false, isOwn: Bool? = nil
) -> TopicMessage {
    let time = Timestamp(milliseconds: Desk.wall.milliseconds + minutes * 60_000)
    return TopicMessage(
        id: id ?? "m\(sequence)", topic: topic, sequence: sequence, from: name, text: text, message: .string(text),
        time: time, sentAt: time, isRecovered: isRecovered, isOwn: isOwn ?? name.isSame(as: "alice"))
}

/// A letter in a postbox.
func letter(
    _ number: Int, _ text: String = "a letter", from: String? = "bob", box: String = "b1", subject: String? = nil
) -> PostboxMessage {
    let time = Timestamp(milliseconds: Desk.wall.milliseconds + Int64(number) * 60_000)
    return PostboxMessage(
        id: "l\(number)", createdAt: time, updatedAt: time, ownerId: "alice", sudoId: "s1", postboxId: box,
        message: text, from: from, subject: subject)
}

/// A postbox of alice's.
func postbox(_ id: String, _ name: String, called title: String? = nil, isEnabled: Bool = true) -> Postbox {
    Postbox(id: id, name: name, title: title, sudoId: "s1", isEnabled: isEnabled, createdAt: Desk.wall)
}

extension Desk {
    /// The postbox open on a page of letters.
    static func inbox(
        _ letters: [PostboxMessage], next: String? = nil, size: Size = Size(rows: 24, columns: 80)
    ) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        desk.send(.postbox(.boxes([postbox("b1", "personal"), postbox("b2", "work")])))
        desk.press(.function(3))
        desk.answerPage(letters, next: next)
        desk.effects = []
        return desk
    }

    /// Answers the page that is being fetched.
    mutating func answerPage(_ letters: [PostboxMessage], next: String? = nil) {
        guard let request = model.network.inbox.fetch?.request else { return }
        send(.postbox(.page(request: request, ListOutput(items: letters, nextToken: next))))
    }
}

/// What a topic's subscription tells, as tests write it.
extension [TopicEvent] {
    static var live: Self { [TopicEvent.live] }
    static var restarted: Self { [TopicEvent.restarted] }
    static func gap(lost: UInt64) -> Self { [TopicEvent.gap(lost: lost)] }
    static func messages(_ messages: [TopicMessage]) -> Self { messages.map { .message($0) } }
    static func failed(_ error: RelayError) -> Self { [.interrupted(error, passes: false)] }

    /// The messages among them.
    var messages: [TopicMessage] { compactMap { if case .message(let message) = $0 { message } else { nil } } }
}
