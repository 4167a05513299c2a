import Testing

@testable import RelayNetwork

@Suite("Network: shares of consumers")
struct ConsumerSharesTests {
    private let now = ContinuousClock.now

    private func place(_ name: String, in stream: String = "S") -> ConsumerShares.Place {
        .init(stream: stream, name: name)
    }

    @Test("B67: what a user makes beyond the own share of a stream has to go, and nobody else's")
    func bound() throws {
        let (alice, bob) = (try UserName("alice"), try UserName("bob"))
        var shares = ConsumerShares(bound: 2)
        // The third is a change of the second; another stream has a share of its own.
        let made = [place("a"), place("b"), place("b"), place("a", in: "T"), place("c")].map {
            shares.made($0, by: alice, at: now)
        }
        #expect(made == [false, false, false, false, true])
        let other = shares.made(place("d"), by: bob, at: now)
        #expect(!other)
        shares.ended(place("c"))
        shares.ended(place("a"))
        let later = [place("e"), place("f")].map { shares.made($0, by: alice, at: now) }
        #expect(later == [false, true])
        #expect(shares.known(in: "S") == [place("b"), place("d"), place("e"), place("f")])
        for name in ["b", "d", "e"] { shares.ended(place(name)) }
        let isBeyond = shares.isBeyond(place("f"), of: alice, at: now)
        #expect(!isBeyond)
        let more = [place("g"), place("h")].map { shares.made($0, by: alice, at: now) }
        #expect(more == [false, true])
    }

    @Test("B67: who is shut out keeps no consumer, and makes none until the connections have ended")
    func shut() throws {
        let (alice, bob) = (try UserName("alice"), try UserName("bob"))
        var shares = ConsumerShares(bound: 9)
        let first = [shares.made(place("a"), by: alice, at: now), shares.made(place("b"), by: bob, at: now)]
        #expect(first == [false, false])
        let own = shares.shut(alice, until: now + .seconds(10))
        #expect(own == [place("a")])
        let later = [9, 10].map { shares.made(place("a\($0)"), by: alice, at: now + .seconds($0)) }
        #expect(later == [true, false])
        let other = shares.made(place("c"), by: bob, at: now)
        #expect(!other)
    }
}
