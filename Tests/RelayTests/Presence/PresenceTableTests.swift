import NIOCore
import Testing

@testable import NATS
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
        _ user: String, _ presence: Presence?, device: String = "d", at seconds: Int64 = 0, isListed: Bool = false,
        isTyping: Bool = false
    ) -> PresenceTable.Item {
        PresenceTable.Item(
            entry: PresenceEntry(user: user, device: device, presence: presence, isTyping: isTyping),
            time: seconds * 1_000_000_000, isListed: isListed)
    }

    private func typists(_ table: PresenceTable) -> [String] { table.roster.users.filter(\.isTyping).map(\.name) }

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

    @Test("Who types is shown until an entry says otherwise, and stays where they were: here or away")
    func typing() {
        var table = table()
        table.take([item("bob", .here, isTyping: true), item("carol", .away("lunch"), isTyping: true)], at: start)
        #expect(typists(table) == ["bob", "carol"] && words(table) == ["bob", "carol away: lunch"])
        table.take([item("bob", .here)], at: start + .seconds(1))
        #expect(typists(table) == ["carol"])
        table.take([item("carol", nil)], at: start + .seconds(2))
        #expect(typists(table).isEmpty && words(table) == ["bob"])
    }

    @Test("Who is not heard of again types no more after six seconds, to the second, and is still here")
    func typingEnds() {
        var table = table()
        table.take([item("bob", .here, isTyping: true)], at: start)
        table.take([item("carol", .here, isTyping: true)], at: start + .seconds(1))
        #expect(table.nextExpiry == start + .seconds(6))
        table.take([item("bob", .here, isTyping: true)], at: start + .seconds(4))
        table.expire(at: start + .seconds(7) - .nanoseconds(1))
        #expect(typists(table) == ["bob", "carol"])
        table.expire(at: start + .seconds(7))
        #expect(typists(table) == ["bob"] && table.nextExpiry == start + .seconds(10))
        table.expire(at: start + .seconds(10))
        #expect(typists(table).isEmpty && words(table) == ["bob", "carol"])
        #expect(table.nextExpiry == start + .seconds(91))
    }

    @Test("Of what was there before, typing is as old as the server's own times say, whatever a sender's clock says")
    func listedTyping() {
        var table = table()
        let items = [
            item("dora", .here, at: 994, isListed: true, isTyping: true),
            item("carol", .here, at: 995, isListed: true, isTyping: true),
            item("alice", .here, at: 1_000, isListed: true),
        ]
        table.take(items, at: start)
        #expect(typists(table) == ["carol"] && words(table) == ["alice", "carol", "dora"])
        table.expire(at: start + .seconds(1))
        #expect(typists(table).isEmpty)
        // What comes now was written now, whatever time it has.
        table.take([item("dora", .here, at: 5, isTyping: true)], at: start + .seconds(1))
        #expect(typists(table) == ["dora"])
    }

    @Test("A user types where any device does, and a device that gives way to others takes its typing along")
    func typingDevices() {
        var table = table()
        table.take([item("bob", .away("old"), device: "a", isTyping: true)], at: start)
        table.take([item("bob", .here, device: "b")], at: start + .seconds(1))
        #expect(typists(table) == ["bob"])
        for number in 0..<PresenceTable.deviceLimit - 1 {
            table.take([item("bob", .here, device: "c\(number)")], at: start + .seconds(2))
        }
        #expect(typists(table).isEmpty && words(table) == ["bob"])
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

@Suite("Presence: what an entry says, as a value")
struct PresenceEntryTests {
    private func entry(_ value: [UInt8]) -> PresenceEntry? {
        let message = StoredMessage(
            subject: PresenceEntry.subject(user: "bob", device: "d", topic: "chat.room"), sequence: 1,
            time: ServerTime(nanoseconds: 0), headers: [:], payload: ByteBuffer(bytes: value))
        return PresenceEntry(KeyValueEntry(message))
    }

    @Test("What is written reads back, with typing and without", arguments: [Presence.here, .away("lunch")])
    func roundTrip(presence: Presence) {
        for isTyping in [true, false] {
            let expected = PresenceEntry(user: "bob", device: "d", presence: presence, isTyping: isTyping)
            #expect(entry(PresenceEntry.value(presence, isTyping: isTyping)) == expected)
        }
        // What clients from before typing was known write, and read.
        #expect(String(decoding: PresenceEntry.value(.here), as: UTF8.self) == #"{"state":"here"}"#)
        #expect(
            String(decoding: PresenceEntry.value(.here, isTyping: true), as: UTF8.self)
                == #"{"state":"here","typing":true}"#)
    }

    @Test(
        "What says nothing of typing is none, and what else an entry has does no harm",
        arguments: [
            (#"{"state":"here"}"#, false), (#"{"state":"here","typing":true,"mood":[1]}"#, true),
            (#"{"state":"here","typing":false}"#, false), (#"{"state":"here","typing":1}"#, false),
            (#"{"state":"here","typing":"true"}"#, false), (#"{"state":"here","typing":{"typing":true}}"#, false),
        ])
    func reading(text: String, isTyping: Bool) {
        #expect(entry(Array(text.utf8))?.isTyping == isTyping)
        #expect(entry(Array(text.utf8))?.presence == .here)
    }

    @Test("Typing alone makes nobody present")
    func typingAlone() {
        #expect(entry(Array(#"{"typing":true}"#.utf8)) == nil)
        #expect(entry(Array(#"{"state":"gone","typing":true}"#.utf8)) == nil)
    }
}

@Suite("Presence: what is written of the own user, as a value")
struct PresenceAnnouncementTests {
    private typealias Write = PresenceAnnouncement.Write

    private let start = ContinuousClock.now

    private func announcement(_ topics: [String]) -> PresenceAnnouncement {
        var announcement = PresenceAnnouncement(device: "d")
        announcement.topics = topics
        return announcement
    }

    @Test("What is new is written, and all of it again with each renewal")
    func renewals() {
        var one = announcement(["a", "b"])
        let first = one.writes(as: "me", granted: nil, limit: 9, renews: false, at: start)
        #expect(first == [Write(topic: "a", presence: .here), Write(topic: "b", presence: .here)])
        #expect(one.writes(as: "me", granted: nil, limit: 9, renews: false, at: start).isEmpty)
        #expect(one.writes(as: "me", granted: nil, limit: 9, renews: true, at: start) == first)
        one.presence = .away("lunch")
        one.topics = ["b", "c"]
        let changed = one.writes(as: "me", granted: nil, limit: 9, renews: false, at: start)
        #expect(
            changed == [
                Write(topic: "a"), Write(topic: "b", presence: .away("lunch")),
                Write(topic: "c", presence: .away("lunch")),
            ])
        #expect(one.withdrawal() == [Write(topic: "b"), Write(topic: "c")])
        #expect(one.withdrawal().isEmpty)
        #expect(one.writes(as: "me", granted: nil, limit: 9, renews: false, at: start).count == 2)
    }

    @Test("Thousands of topics are a bounded number of entries: the first ones that are granted, each once")
    func bounded() {
        var one = announcement(["ops.x", "chat.0", "chat.0"] + (1..<5_000).map { "chat.\($0)" })
        let writes = one.writes(as: "me", granted: ["chat.>"], limit: 32, renews: true, at: start)
        #expect(writes.map(\.topic) == (0..<32).map { "chat.\($0)" })
        // The topic that is looked at now moves to the front, and the last one makes room.
        one.topics.insert("chat.4000", at: 0)
        let moved = one.writes(as: "me", granted: ["chat.>"], limit: 32, renews: false, at: start)
        #expect(moved == [Write(topic: "chat.31"), Write(topic: "chat.4000", presence: .here)])
    }

    @Test("Another user's entries are not touched after a sign-in as somebody else")
    func anotherUser() {
        var one = announcement(["a"])
        _ = one.writes(as: "me", granted: nil, limit: 9, renews: false, at: start)
        one.topics = []
        #expect(one.writes(as: "you", granted: nil, limit: 9, renews: false, at: start).isEmpty)
    }

    /// What is written now, in short: a mark of typing is a star behind the topic.
    private func written(
        _ announcement: inout PresenceAnnouncement, renews: Bool = false, after seconds: Double
    ) -> [String] {
        let now = start + .seconds(seconds)
        return announcement.writes(as: "me", granted: nil, limit: 9, renews: renews, at: now).map { write in
            write.presence == nil ? "-\(write.topic)" : write.topic + (write.isTyping ? "*" : "")
        }
    }

    /// Tells where the person types, and what is to be written at once.
    private func typed(
        _ announcement: inout PresenceAnnouncement, _ topic: String?, after seconds: Double
    ) -> [String] {
        let now = start + .seconds(seconds)
        let due = announcement.setTyping(in: topic, at: now)
        return due == now ? written(&announcement, after: seconds) : []
    }

    @Test("A key is told at once, the keys after it every four seconds, and the end at once")
    func typing() {
        var one = announcement(["a", "b"])
        _ = written(&one, after: 0)
        #expect(typed(&one, "a", after: 1) == ["a*"])
        for second in [1, 2, 3, 4, 4.999] { #expect(typed(&one, "a", after: second) == []) }
        #expect(typed(&one, "a", after: 5) == ["a*"])
        #expect(typed(&one, nil, after: 5.5) == ["a"])
        #expect(typed(&one, nil, after: 6) == [])
        #expect(typed(&one, "a", after: 6.5) == ["a*"])
    }

    @Test("A key that is a little early counts when the time has come, unless the line has ended by then")
    func early() {
        var one = announcement(["a"])
        _ = typed(&one, "a", after: 0)
        #expect(one.setTyping(in: "a", at: start + .seconds(2.5)) == nil)
        #expect(one.setTyping(in: "a", at: start + .seconds(3.5)) == start + .seconds(4))
        one.goOnTyping(at: start + .seconds(4))
        #expect(written(&one, after: 4) == ["a*"])
        #expect(typed(&one, nil, after: 4.5) == ["a"])
        one.goOnTyping(at: start + .seconds(8))
        #expect(written(&one, after: 8) == [])
    }

    @Test("Typing in another topic ends it in the one before")
    func anotherTopic() {
        var one = announcement(["a", "b"])
        _ = written(&one, after: 0)
        _ = typed(&one, "a", after: 1)
        #expect(typed(&one, "b", after: 2) == ["a", "b*"])
    }

    @Test("A renewal does not tell that the typing goes on, and takes it back where others know better already")
    func renewedTyping() {
        var one = announcement(["a", "b"])
        _ = written(&one, after: 0)
        _ = typed(&one, "a", after: 27)
        #expect(written(&one, renews: true, after: 30) == ["b"])
        #expect(written(&one, renews: true, after: 60) == ["a", "b"])
        #expect(typed(&one, nil, after: 61) == [])
    }

    @Test("Where the user does not appear, nobody learns that it types")
    func invisible() {
        var one = announcement(["a"])
        _ = written(&one, after: 0)
        #expect(typed(&one, "secret", after: 1) == [])
        one.topics = []
        #expect(typed(&one, "a", after: 2) == ["-a"])
    }

    @Test("A new connection begins without typing")
    func forgotten() {
        var one = announcement(["a"])
        _ = typed(&one, "a", after: 0)
        one.forgetTyping()
        #expect(written(&one, renews: true, after: 1) == ["a"])
        #expect(typed(&one, "a", after: 1) == ["a*"])
    }
}
