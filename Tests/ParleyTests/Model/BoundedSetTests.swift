import Testing

@testable import Parley

@Suite("Identifiers that are remembered")
struct BoundedSetTests {
    @Test("The newest are remembered, as many as wanted, and fewer than twice as many")
    func newest() {
        var set = BoundedSet(limit: 10)
        for number in 1...1_000 {
            set.insert("\(number)")
            let known = (1...number).filter { set.contains("\($0)") }
            #expect(known.count >= min(number, 10) && known.count < 20)
            #expect(known == Array(number - known.count + 1...number))
        }
    }

    @Test("What is inserted again and again is not forgotten over others")
    func again() {
        var set = BoundedSet(limit: 10)
        for number in 1...1_000 {
            set.insert("\(number)")
            if number % 9 == 0 { set.insert("kept") }
            #expect(number < 9 || set.contains("kept"))
        }
    }

    @Test("A letter that is on the screen stays read, and counts as read once, whatever else was listed as read since")
    func read() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.send(.postbox(.counts(["b1": 9_000])))
        desk.press(.enter)
        #expect(desk.model.inbox.unreadCount(ofBox: "b1") == 8_999)
        for start in stride(from: 1_001, to: 9_000, by: 100) {
            desk.send(.postbox(.read(["l1"], counts: nil)))
            desk.send(.postbox(.read(Set((start..<start + 100).map { "l\($0)" }), counts: nil)))
            #expect(desk.model.inbox.letters.map { desk.model.inbox.isUnread($0) } == [false, true])
        }
        desk.press(.enter)
        desk.press(.enter)
        #expect(desk.model.inbox.unreadCount(ofBox: "b1") == 8_999)
    }
}
