import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

/// Events that a person, a network and an attacker could cause, from a seed.
private struct EventSource {
    var state: UInt64
    /// The keys that the configuration may say.
    let keyMaps: [KeyMap]

    mutating func next(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ mixed >> 31) % UInt64(max(1, bound)))
    }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[next(choices.count)] }

    static let topics = ["chat.lobby", "chat.qa", "alerts.>", "a.b.c", "chat.*"]
    static let texts = [
        "hello", "", " ", "日本語のテキスト", "👩‍👩‍👧‍👦👍🏽❤️", "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", "\u{1B}[2J\u{1B}]0;x\u{7}",
        "\u{9B}31m", "a\u{202E}b\u{2066}c", "tab\tnew\nline\r\n\n", String(repeating: "long ", count: 80),
        String(repeating: "字", count: 90), "/join chat.qa", "/leave", "/log", "/nothing", "//x", "/search a",
        "\u{7F}\u{0}",
        "@alice", "> `code` of https://例え.jp/(a)_b, ``x`` http://a@b.c/\n```\nhttp://d.e\n```",
        "[\"http://a.b\", {\"long\": \"\u{202E}" + String(repeating: "漢", count: 60) + "\"}]",
        "\u{E0041}\u{200D}\u{FEFF}",
        String(repeating: "\n", count: 220),
    ]
    static let codes: [Key.Code] = [
        .enter, .tab, .backTab, .backspace, .delete, .insert, .escape, .up, .down, .left, .right, .home, .end, .pageUp,
        .pageDown, .function(1), .function(2), .function(3), .function(4), .function(8), .function(8), .function(12),
    ]

    mutating func key() -> Key {
        switch next(6) {
        case 0, 1: Key(pick(Self.codes))
        case 2: Key(pick(Self.codes), pick([.alt, .control, .shift]))
        case 3: .control(pick(Array("abcdefghijklnopqtuwxyz")))
        case 4: Key(.character(pick(Array("dD rRcnp*jkyN/xyä字👍 "))))
        default: .alt(pick(Array("abdfgjkox19/")))
        }
    }

    mutating func text() -> String { pick(Self.texts) }

    mutating func topicMessage() -> TopicMessage {
        let sequence = pick([UInt64(next(400)), UInt64(next(400)), UInt64.max, 0])
        let time = Timestamp(milliseconds: pick([Desk.wall.milliseconds + Int64(next(1 << 30)), .max, .min, 0]))
        return TopicMessage(
            id: "m\(next(500))", topic: pick(["chat.lobby", "chat.qa", "alerts.x", "a.b.c"]), sequence: sequence,
            from: pick([nil, text()]), text: text(), message: .null, time: time, sentAt: time, isRecovered: next(2) == 0
        )
    }

    mutating func letters() -> [PostboxMessage] {
        (0..<next(30)).map { _ in
            letter(next(100), text(), from: pick([nil, text()]), box: pick(["b1", "b2", text()]))
        }
    }

    mutating func error() -> RelayError {
        pick([.notConnected, .server(code: 7, text()), .notFound(text()), .invalidToken, .timeout(text())])
    }

    mutating func roster() -> PresenceRoster {
        let users = (0..<next(40)).map { _ in
            PresentUser(name: text(), presence: pick([.here, .away(""), .away(text())]), isTyping: next(8) == 0)
        }
        return PresenceRoster(users: users, isKnown: next(4) > 0, isTruncated: next(4) == 0)
    }

    mutating func outcome() -> PublishNews.State {
        pick([
            .acknowledged(sequence: UInt64(next(400)), isDuplicate: false), .failed(error()), .discarded(.closedByUser),
        ])
    }

    mutating func event(_ model: ChatModel) -> ChatEvent {
        switch next(28) {
        case 0...6: return .input(.key(key()))
        case 7: return .input(.paste(text()))
        case 8:
            return .input(
                .mouse(
                    MouseEvent(
                        kind: pick([.press, .release, .drag, .scrollUp, .scrollDown]), button: pick([.left, .right]),
                        row: next(50), column: next(140))))
        case 9: return .input(pick([.focusIn, .focusOut, .reply(.deviceAttributes)]))
        case 10: return .resized(size())
        case 11:
            let instant = model.now.instant.advanced(by: .milliseconds(next(9000)))
            return .tick(Moment(instant: instant, wall: model.now.wall))
        case 12: return .statusChanged(status(model))
        case 13, 14: return .topic(pick(Self.topics), .messages((0..<next(40)).map { _ in topicMessage() }))
        case 15:
            let messages = (0..<next(40)).map { _ in topicMessage() }
            let gap = KeptGap(end: UInt64(next(400)), lost: 3)
            let news: [ChatEvent.PastNews] = [
                .history(messages, isComplete: next(2) == 0), .keptHistory(messages, gaps: [gap]),
                .kept(KeptTopic(messages: messages, gaps: [gap], readThrough: 20)), .historyFailed(error()),
            ]
            return .past(pick(Self.topics), pick(news))
        case 16:
            return .topic(
                pick(Self.topics),
                pick([[.live], [.restarted], [.gap(lost: UInt64(next(9)))], [.interrupted(error(), passes: false)]]))
        case 17, 18:
            let id = "own-\(next(40))"
            return .published(PublishNews(id: id, state: pick([.sending, .queued, outcome()])))
        case 19: return .published(PublishNews(id: "own-\(next(40))", state: outcome()))
        case 20:
            let request = model.network.inbox.fetch?.request ?? UInt64(next(40))
            return .postbox(
                pick([
                    .page(request: request, ListOutput(items: letters(), nextToken: pick([nil, "t"]))),
                    .pageFailed(request: request, error()),
                ]))
        case 21:
            let ids = model.network.inbox.deletion.run?.ids ?? ["l1"]
            let result = BulkDeletion(deleted: ids, failed: [.init(id: "l2", error: error())])
            return .postbox(pick([.deleted(result), .deleting(done: next(ids.count + 1))]))
        case 22:
            return .postbox(
                pick([
                    .boxes([postbox("b1", text()), postbox("b2", "work", isEnabled: false)]), .boxes([]),
                    .counts(["b1": next(2000), "b2": -1]), .created(letter(next(100), text())),
                    .portion(
                        request: model.network.inbox.finding?.sweep.request ?? UInt64(next(40)),
                        LetterPortion(letters: letters(), nextToken: pick([nil, "t"]))),
                ]))
        case 23: return searchNews(model)
        case 24, 25:
            return .configuration(
                pick([
                    .changed(settings(model)), .changed(settings(model)), .changed(settings(model)), .forNextStart,
                    .refused(text()), .mended,
                ]))
        default:
            if next(8) == 0 {
                let command = pick([
                    "/leave", "/leave chat.qa", "/close", "/disconnect", "/resend", "/discard", "/delete", "/history",
                    "/search hello",
                    "/search 日本 from:bob in:chat.*", "/who", "/save", "/away \(text())", "/back", "/links", "/link 1",
                    "/lab", "/lab", "/lab save \(text())", "/kv", "/help letter",
                ])
                return .input(.paste(command))
            }
            return pick([
                .suspending, .resumed, .log(text()), .keys(text(), isFailure: next(2) == 0),
                .people(topic: pick(Self.topics), roster()),
                .notice(text(), isFailure: true), .start(topics: Self.topics), .lab(labNews()), .lab(labNews()),
            ])
        }
    }

    /// What the configuration says from now on: one thing of it is another, so that nothing else tells of that.
    mutating func settings(_ model: ChatModel) -> ChatSettings {
        var settings = model.settings
        switch next(8) {
        case 0: settings.typing.toggle()
        case 1: settings.followedUnread = pick([nil, 1, 20])
        case 2: settings.layout = LayoutSetting(sidebar: pick([nil, 0, 8, 60]))
        case 3:
            let names: [String] = pick([[], ["chat.*"], ["chat.lobby"], ["alerts.>"], Self.topics])
            settings.mutes = names.compactMap { try? TopicPattern($0) }
        case 4: settings.highlights = pick([[], ["hello"], ["字", "long"]])
        case 5: settings.keys = pick(keyMaps)
        case 6: settings.idleTime = pick([nil, .seconds(5)])
        default: settings.join = pick([[], ["chat.qa"], ["a.b.c", "chat.*"]])
        }
        return settings
    }

    /// News of the lab, wherever it is.
    mutating func labNews() -> ChatEvent.LabNews {
        pick([
            .opened([:]), .opened([.kick: .needsAdministrator, .ban: .needsCluster]), .glance(LabScene.begun.glance),
            .glance(LabScene.cut.glance), .over(LabScene.over.glance), .failed(error: text()),
            .refused(.kick, error: text()),
        ])
    }

    /// An answer to the search or the excerpt in view, or to none.
    mutating func searchNews(_ model: ChatModel) -> ChatEvent {
        var request = UInt64(next(40))
        switch model.screen.view {
        case .search(let search): request = search.request ?? request
        case .excerpt(let excerpt): request = excerpt.request ?? request
        default: break
        }
        let items = (0..<next(40)).map { _ in foundItem() }
        let part = ExcerptPart(
            direction: pick([.around, .before, .after]), messages: (0..<next(40)).map { _ in topicMessage() },
            gaps: [KeptGap(end: UInt64(next(400)), lost: UInt64(next(3)))], isOldest: next(2) == 0,
            isNewest: next(2) == 0)
        return .search(
            pick([
                .found(request: request, items, isComplete: next(2) == 0), .failed(request: request, text()),
                .around(request: request, part), .around(request: request, part),
                .aroundFailed(request: request, text()),
            ]))
    }

    private mutating func foundItem() -> FoundItem {
        let time = Timestamp(milliseconds: pick([Desk.wall.milliseconds + Int64(next(1 << 30)), .max, .min, 0]))
        if next(5) == 0 {
            return .letter(
                KeptLetter(
                    direction: pick([.received, .sent]), id: "l\(next(9))", person: pick([nil, text()]),
                    postbox: pick(["b1", text()]), time: time, text: text()))
        }
        let place = KeptPlace(
            stream: StreamIdentity(name: "s", incarnation: 1), sequence: pick([UInt64(next(400)), UInt64.max - 1]))
        return .message(
            FoundMessage(
                topic: pick(["chat.lobby", "chat.qa", "alerts.x", "a.b.c"]), place: place, id: "m\(next(500))",
                from: text(), time: time, text: text()))
    }

    mutating func size() -> Size {
        switch next(4) {
        case 0: Size(rows: next(6), columns: next(24))
        case 1: Size(rows: next(46), columns: next(130))
        default: Size(rows: 4 + next(12), columns: 18 + next(60))
        }
    }

    mutating func status(_ model: ChatModel) -> ConnectionStatus {
        ConnectionStatus(
            state: pick(ConnectionStatus.State.allCases),
            reason: pick([nil, .connectionLost(text()), .kickedByOtherDevice(text()), .banned(text())]),
            attempt: next(100),
            nextRetryAt: pick([nil, model.now.instant.advanced(by: .milliseconds(next(100_000)))]),
            roundTripTime: pick([nil, .microseconds(next(10_000_000))]),
            silentSince: pick([nil, nil, model.now.instant.advanced(by: .zero - .milliseconds(next(100_000)))]),
            outageBegan: pick([nil, model.now.instant]), isLongOutage: next(2) == 0)
    }
}

@Suite("Frames under anything")
struct RandomFrames {
    @Test(
        "B53: whatever happens, a frame has the screen's size, no control character, and its cursor inside",
        .processorBound,
        arguments: [1, 2, 3, 4] as [UInt64])
    func property(seed: UInt64) async throws {
        let changes = [("quit", "^X ^C"), ("kill-word", "^X w"), ("conversation.send-again", "^X r")]
        let keyMap = try KeyMap(
            changes.map { KeyMap.Change(name: $0, sequences: [try KeySequence(parsing: $1)]) }
                + [KeyMap.Change(name: "yank", sequences: [])])
        var source = EventSource(state: seed, keyMaps: [.standard, keyMap])
        // Half of the runs begin with nothing joined.
        var desk = seed.isMultiple(of: 2) ? Desk.joined("chat.lobby", "alerts.>") : Desk()
        // In half of those topics out of view rest with the first unread messages.
        if seed > 2 { desk.model.settings.followedUnread = 3 }
        let texts = WrappedTexts()
        for step in 0..<250 {
            if step % 10 == 0 { await Task.yield() }
            let event = source.event(desk.model)
            _ = update(desk.model, event)
            if case .input(.paste(let text)) = event, text.hasPrefix("/") { desk.press(.enter) }
            let size = source.next(8) == 0 ? source.size() : desk.model.size
            let frame = render(desk.model, size: size, now: desk.model.now.instant)
            // What earlier frames have measured changes nothing.
            let isSame = frame == render(desk.model, size: size, now: desk.model.now.instant, texts: texts)
            guard isSame, frame.size == size, frame.rows.isHarmless, cursorIsInside(frame) else {
                Issue.record(
                    "seed \(seed), step \(step): \(size) after \(event)\n\(frame.rows.joined(separator: "\n"))")
                return
            }
        }
        #expect(desk.model.network.conversations.count > 0 || desk.view == .welcome)
    }

    private func cursorIsInside(_ frame: Canvas) -> Bool {
        guard let cursor = frame.cursor else { return true }
        return Rect(frame.size).contains(cursor)
    }
}
