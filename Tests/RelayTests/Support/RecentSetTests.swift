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

    /// A value whose hash says little.
    private struct Alike: Hashable {
        let number: Int

        func hash(into hasher: inout Hasher) { hasher.combine(number % 3) }
    }

    @Test("Values whose hashes are equal are told apart, before and after they are forgotten")
    func collisions() {
        var set = RecentSet<Alike>(capacity: 50)
        #expect(set.isEmpty && !set.contains(Alike(number: 0)))
        for number in 0..<500 {
            #expect(!set.contains(Alike(number: number)))
            let isNew = set.insert(Alike(number: number))
            let isNewAgain = set.insert(Alike(number: number))
            let isBeforeNew = set.insert(Alike(number: max(0, number - 1)))
            #expect(isNew && !isNewAgain && !isBeforeNew)
            #expect(!set.isEmpty && set.contains(Alike(number: number)))
            #expect(set.contains(Alike(number: max(0, number - 1))))
        }
        #expect(!set.contains(Alike(number: 0)))
        let isFirstNew = set.insert(Alike(number: 0))
        #expect(isFirstNew)
    }
}
