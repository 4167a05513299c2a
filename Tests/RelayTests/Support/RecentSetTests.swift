import Testing

@testable import Relay

@Suite("The newest of many values")
struct RecentSetTests {
    @Test("Remembers at least as many as asked for and fewer than twice as many, the newest", arguments: [1, 2, 3, 64])
    func bounds(capacity: Int) {
        for count in 1...(5 * capacity) {
            var set = RecentSet<Int>(capacity: capacity)
            for number in 0..<count {
                let isNew = set.insert(number)
                #expect(isNew)
            }
            let known = (0..<count).filter { number in
                var copy = set
                return !copy.insert(number)
            }
            #expect(known.count >= min(count, capacity) && known.count < 2 * capacity)
            #expect(known == Array((count - known.count)..<count))
        }
    }

    @Test("What is inserted again and again is not forgotten over others")
    func again() {
        var set = RecentSet<Int>(capacity: 10)
        for number in 1...1_000 {
            set.insert(number)
            if number % 9 == 0 { set.insert(0) }
            #expect(number < 9 || set.contains(0))
        }
    }
}
