import Testing

@testable import Relay

@Suite("Presence: who is in a topic, as a value")
struct PresenceTableTests {
    private let start = ContinuousClock.now

    private func table() -> PresenceTable {
        var table = PresenceTable(lifetime: .seconds(90))
        table.opened()
        return table
    }

    private func item(
        _ user: String, _ presence: Presence?, device: String = "d", at seconds: Int64 = 0, isListed: Bool = false
    ) -> PresenceTable.Item {
        PresenceTable.Item(
            entry: PresenceEntry(user: user, device: device, presence: presence), time: seconds * 1_000_000_000,
            isListed: isListed)
    }

    private func words(_ table: PresenceTable) -> [String] {
        table.roster.users.map { user in
            switch user.presence {
            case .here: user.name
            case .away(let text): "\(user.name) away: \(text)"
            }
        }
    }

    @Test("Users come, go away with a text, come back and leave, and are listed by name")
    func comingAndGoing() {
        var table = table()
        table.take([item("bob", .here), item("alice", .here)], at: start)
        #expect(words(table) == ["alice", "bob"])
        table.take([item("bob", .away("lunch"))], at: start)
        #expect(words(table) == ["alice", "bob away: lunch"])
        table.take([item("bob", .here), item("alice", nil), item("nobody", nil)], at: start)
        #expect(words(table) == ["bob"])
    }

    @Test("Who does not renew is gone after the lifetime, to the second, and who renews stays")
    func expiry() {
        var table = table()
        table.take([item("bob", .here), item("carol", .here)], at: start)
        #expect(table.nextExpiry == start + .seconds(90))
        table.take([item("bob", .here)], at: start + .seconds(30))
        table.expire(at: start + .seconds(89))
        #expect(words(table) == ["bob", "carol"])
        table.expire(at: start + .seconds(90))
        #expect(words(table) == ["bob"] && table.nextExpiry == start + .seconds(120))
        table.expire(at: start + .seconds(120))
        #expect(words(table).isEmpty && table.nextExpiry == nil && table.roster.isKnown)
    }

    @Test("What was there before is as old as the server's own times say, whatever clock this machine has")
    func listed() {
        var table = table()
        // Carol wrote 80 s before alice did, who wrote last; dora's entry is past its time already.
        let items = [
            item("dora", .here, at: 900, isListed: true), item("carol", .here, at: 920, isListed: true),
            item("alice", .here, at: 1_000, isListed: true),
        ]
        table.take(items, at: start)
        #expect(words(table) == ["alice", "carol"])
        table.expire(at: start + .seconds(10))
        #expect(words(table) == ["alice"])
        // A server whose clock was put back makes nobody old.
        table.take([item("bob", .here, at: 5)], at: start + .seconds(10))
        table.expire(at: start + .seconds(80))
        #expect(words(table) == ["alice", "bob"])
    }

    @Test("A user with several devices is here where any of them is, and away with the newest text otherwise")
    func devices() {
        var table = table()
        table.take([item("bob", .away("old"), device: "a")], at: start)
        table.take([item("bob", .here, device: "b")], at: start + .seconds(1))
        #expect(words(table) == ["bob"])
        table.take([item("bob", .away("new"), device: "b")], at: start + .seconds(2))
        #expect(words(table) == ["bob away: new"])
        table.take([item("bob", nil, device: "b")], at: start + .seconds(3))
        #expect(words(table) == ["bob away: old"])
    }

    @Test("Neither a flood of devices nor one of users takes more than its bound")
    func bounds() {
        var table = table()
        for number in 0..<1_000 {
            table.take([item("mallory", .here, device: "d\(number)")], at: start + .milliseconds(number))
        }
        #expect(words(table) == ["mallory"])
        // The devices that were heard of last are those that count.
        table.expire(at: start + .seconds(90) + .milliseconds(999 - PresenceTable.deviceLimit))
        #expect(words(table) == ["mallory"])
        table.expire(at: start + .seconds(91))
        #expect(words(table).isEmpty)
        let crowd = (0..<PresenceTable.entryLimit + 10).map { item("user\($0)", .here) }
        table.take(crowd, at: start)
        #expect(table.roster.users.count == PresenceTable.entryLimit && table.roster.isTruncated)
        // There is room again when some have left.
        table.take([item("user1", nil), item("late", .here)], at: start)
        #expect(table.roster.users.contains { $0.name == "late" } && !table.roster.isTruncated)
    }

    @Test("Without a connection nobody is known to be here")
    func closed() {
        var table = table()
        table.take([item("bob", .here)], at: start)
        table.closed()
        #expect(table.roster == .unknown && table.nextExpiry == nil)
    }

    @Test(
        "A user's key reads back as the user, and what is no key as nobody", arguments: ["bob", "a+b=c", "Ä ö", "x.y"])
    func keys(user: String) {
        #expect(PresenceEntry.user(ofKey: Substring(SessionClaim.key(for: user))) == user)
        for key in ["", "=", "=4", "=zz", "=FF", "=4g", String(repeating: "x", count: 65)] {
            #expect(PresenceEntry.user(ofKey: Substring(key)) == nil, "\(key)")
        }
    }
}

@Suite("Presence: what is written of the own user, as a value")
struct PresenceAnnouncementTests {
    private typealias Write = PresenceAnnouncement.Write

    private func announcement(_ topics: [String]) -> PresenceAnnouncement {
        var announcement = PresenceAnnouncement(device: "d")
        announcement.topics = topics
        return announcement
    }

    @Test("What is new is written, and all of it again with each renewal")
    func renewals() {
        var one = announcement(["a", "b"])
        let first = one.writes(as: "me", granted: nil, limit: 9, renews: false)
        #expect(first == [Write(topic: "a", presence: .here), Write(topic: "b", presence: .here)])
        let nothing = one.writes(as: "me", granted: nil, limit: 9, renews: false)
        #expect(nothing.isEmpty)
        let again = one.writes(as: "me", granted: nil, limit: 9, renews: true)
        #expect(again == first)
        one.presence = .away("lunch")
        one.topics = ["b", "c"]
        let changed = one.writes(as: "me", granted: nil, limit: 9, renews: false)
        #expect(
            changed == [
                Write(topic: "a"), Write(topic: "b", presence: .away("lunch")),
                Write(topic: "c", presence: .away("lunch")),
            ])
        let farewell = one.withdrawal()
        #expect(farewell == [Write(topic: "b"), Write(topic: "c")])
        let none = one.withdrawal()
        #expect(none.isEmpty)
        let back = one.writes(as: "me", granted: nil, limit: 9, renews: false)
        #expect(back.count == 2)
    }

    @Test("Thousands of topics are a bounded number of entries: the first ones that are granted, each once")
    func bounded() {
        var one = announcement(["ops.x", "chat.0", "chat.0"] + (1..<5_000).map { "chat.\($0)" })
        let writes = one.writes(as: "me", granted: ["chat.>"], limit: 32, renews: true)
        #expect(writes.map(\.topic) == (0..<32).map { "chat.\($0)" })
        // The topic that is looked at now moves to the front, and the last one makes room.
        one.topics.insert("chat.4000", at: 0)
        let moved = one.writes(as: "me", granted: ["chat.>"], limit: 32, renews: false)
        #expect(moved == [Write(topic: "chat.31"), Write(topic: "chat.4000", presence: .here)])
    }

    @Test("Another user's entries are not touched after a sign-in as somebody else")
    func anotherUser() {
        var one = announcement(["a"])
        _ = one.writes(as: "me", granted: nil, limit: 9, renews: false)
        one.topics = []
        let writes = one.writes(as: "you", granted: nil, limit: 9, renews: false)
        #expect(writes.isEmpty)
    }
}
