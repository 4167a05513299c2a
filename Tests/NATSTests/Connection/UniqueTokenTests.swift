import Testing

@testable import NATS

@Suite("Names that cannot be guessed")
struct UniqueTokenTests {
    @Test("are 22 characters of base 62, each of them as likely at each place")
    func spread() {
        let tokens = (0..<20_000).map { _ in Array(UniqueToken.next().utf8) }
        #expect(tokens.allSatisfy { $0.count == 22 && Subject.isPublishable(String(decoding: $0, as: UTF8.self)) })
        for place in 0..<22 {
            var counts: [UInt8: Int] = [:]
            for token in tokens { counts[token[place], default: 0] += 1 }
            #expect(counts.count == 62)
            // 323 each on average; so far away a fair draw gets once in 10 to the 20.
            #expect(counts.values.allSatisfy { (150...520).contains($0) })
        }
    }

    @Test("share nothing with the names before them")
    func unrelated() {
        let tokens = (0..<20_000).map { _ in UniqueToken.next() }
        #expect(Set(tokens).count == tokens.count)
        #expect(Set(tokens.map { $0.prefix(8) }).count == tokens.count)
        #expect(Set(tokens.map { $0.suffix(8) }).count == tokens.count)
        for (one, next) in zip(tokens, tokens.dropFirst()) {
            let same = zip(one.utf8, next.utf8).count { $0 == $1 }
            #expect(same < 10)
        }
    }
}
