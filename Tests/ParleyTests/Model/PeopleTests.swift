import Relay
import Terminal
import Testing

@testable import Parley

@Suite("People")
struct PeopleTests {
    private static let roster = PresenceRoster(users: [
        PresentUser(name: "alice", presence: .here), PresentUser(name: "bob", presence: .here),
        PresentUser(name: "carol", presence: .away("lunch until two")), PresentUser(name: "dora", presence: .away("")),
    ])

    private func heading(_ desk: Desk) -> String { desk.screen()[1] }

    @Test("The heading says how many are here and away, while that is known")
    func heading() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        #expect(heading(desk).hasSuffix("│── chat.lobby ─────────────────────────────────────────────"))
        desk.send(.people(topic: "chat.lobby", Self.roster))
        #expect(heading(desk).hasSuffix("│── chat.lobby ─ 2 here, 2 away ────────────────────────────"))
        desk.send(.people(topic: "chat.lobby", PresenceRoster(users: [.init(name: "alice", presence: .here)])))
        #expect(heading(desk).contains("chat.lobby ─ 1 here ──"))
        let crowd = (0..<5_000).map { PresentUser(name: "u\($0)", presence: .here) }
        desk.send(.people(topic: "chat.lobby", PresenceRoster(users: crowd, isTruncated: true)))
        #expect(heading(desk).contains("chat.lobby ─ 5,000+ here ──"))
        // What comes late of another topic is none of this one's.
        desk.send(.people(topic: "chat.qa", Self.roster))
        #expect(heading(desk).contains("5,000+ here"))
        desk.send(.people(topic: "chat.lobby", .unknown))
        #expect(!heading(desk).contains("here"))
        desk.send(.people(topic: "chat.lobby", Self.roster))
        desk.becomes(.reconnecting)
        #expect(!heading(desk).contains("here"))
    }

    @Test("The topic in view is watched and no other, and others see the person in the topics looked at last")
    func following() {
        var desk = Desk()
        desk.send(.start(topics: ["chat.lobby", "chat.qa", "alerts.>"]))
        #expect(
            desk.peopleEffects == [
                .people(.watch(topic: "chat.lobby")), .people(.appear(in: ["chat.lobby", "chat.qa"])),
            ])
        desk.peopleEffects = []
        desk.press(.control("n"))
        #expect(desk.view == .conversation("chat.qa"))
        #expect(desk.peopleEffects == [.people(.watch(topic: "chat.qa"))])
        desk.peopleEffects = []
        // Nobody is in a pattern, and the postbox has nobody either: what was known stays known.
        desk.press(.control("n"))
        #expect(desk.view == .conversation("alerts.>"))
        desk.press(.function(3))
        #expect(desk.peopleEffects.isEmpty)
        desk.press(.escape)
        desk.enter("/leave chat.qa")
        #expect(desk.peopleEffects.contains(.people(.appear(in: ["chat.lobby"]))))
    }

    @Test("Of a thousand topics the person is seen in 32, and moves with what is looked at")
    func manyTopics() {
        var desk = Desk()
        desk.send(.start(topics: (0..<1_000).map { "room.\($0)" }))
        #expect(desk.peopleEffects.last == .people(.appear(in: (0..<32).map { "room.\($0)" })))
        desk.peopleEffects = []
        desk.press(.control("p"))
        #expect(desk.view == .conversation("room.999"))
        #expect(
            desk.peopleEffects == [
                .people(.watch(topic: "room.999")),
                .people(.appear(in: ["room.999"] + (0..<31).map { "room.\($0)" })),
            ])
    }

    @Test("/who lists them with their texts, scrolls, follows what changes, and goes away with a key")
    func who() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: 60))
        desk.send(.people(topic: "chat.lobby", Self.roster))
        desk.enter("/who")
        #expect(
            Array(desk.screen()[0...6]) == [
                "┌─ Who is in chat.lobby ───────────────────────────────────┐",
                "│ alice (you)       here                                   │",
                "│ bob               here                                   │",
                "│ carol             away: lunch until two                  │",
                "│ dora              away                                   │",
                "│                                                          │",
                "│                                                          │",
            ])
        desk.send(.people(topic: "chat.lobby", PresenceRoster(users: [.init(name: "bob", presence: .away("tea"))])))
        #expect(desk.screen()[1] == "│ bob               away: tea                              │")
        desk.send(.people(topic: "chat.lobby", .unknown))
        #expect(desk.shows("Nobody is known"))
        let crowd = (100..<300).map { PresentUser(name: "u\($0)", presence: .here) }
        desk.send(.people(topic: "chat.lobby", PresenceRoster(users: crowd, isTruncated: true)))
        desk.press(.end)
        #expect(desk.shows("and others"))
        desk.press(.home, .down)
        #expect(desk.screen()[1].contains("u101"))
        desk.press(.escape)
        #expect(desk.overlay == nil)
    }

    @Test("/who says why where nobody is known")
    func whoIsUnknown() {
        var desk = Desk.joined("chat.lobby", "alerts.>")
        desk.enter("/who")
        #expect(desk.overlay == nil && desk.notice.contains("does not tell"))
        desk.becomes(.reconnecting)
        desk.enter("/who")
        #expect(desk.notice == "Who is in chat.lobby is known when connected.")
        desk.press(.control("n"))
        desk.enter("/who")
        #expect(desk.notice.contains("is a pattern"))
    }

    @Test("/away and /back tell others, and the title says so as long as it lasts")
    func away() {
        var desk = Desk.joined("chat.lobby")
        #expect(desk.enter("/away lunch until two ") == [.people(.setPresence(.away("lunch until two")))])
        #expect(desk.notice == "You are away: lunch until two. /back when you return.")
        #expect(desk.screen()[0].hasPrefix(" parley  alice@local (away) ─"))
        #expect(desk.enter("/back") == [.people(.setPresence(.here))])
        #expect(desk.screen()[0].hasPrefix(" parley  alice@local ─"))
        #expect(desk.enter("/away") == [.people(.setPresence(.away("")))])
        let tooLong = "/away " + String(repeating: "x", count: 201)
        #expect(desk.enter(tooLong) == [])
        #expect(desk.notice.contains("at most 200 characters"))
        #expect(desk.model.network.people.own == .away(""))
    }

    @Test("B53: a hostile name and a hostile away text move nothing")
    func hostile() {
        let attack = "\u{1B}[2J\u{9B}5n\u{202E}evil\r\n\u{8}"
        var desk = Desk.joined("chat.lobby")
        let users = [PresentUser(name: attack, presence: .away(attack)), PresentUser(name: "bob", presence: .here)]
        desk.send(.people(topic: "chat.lobby", PresenceRoster(users: users)))
        desk.enter("/who")
        #expect(desk.shows("evil") && desk.shows("bob") && desk.screen().isHarmless)
    }
}
