import NATS
import Relay
import Testing

@Suite struct PostboxIdentifierTests {
    @Test("B45, B50: identifiers and tokens come back as they were, and are never taken for each other")
    func roundTrip() throws {
        var random = SeededGenerator(seed: 45)
        var numbers: [(UInt64, UInt64)] = [(0, 0), (.max, ServerNumber.limit), (1_763_719_262_345_678_901, 1)]
        numbers += (0..<2_000).map { _ in (random.next(), random.next() >> 2) }
        for (incarnation, sequence) in numbers {
            let id = PostboxMessageID(incarnation: incarnation, sequence: sequence)
            let token = PageToken(incarnation: incarnation, sequence: sequence)
            #expect(PostboxMessageID(id.text) == id)
            #expect(try PageToken(token.text) == token)
            #expect(PostboxMessageID(token.text) == nil)
            #expect(throws: RelayError.invalidToken) { try PageToken(id.text) }
            #expect(id.text.utf8.count == 32)
        }
    }

    @Test("B45: an identifier or a token of a place that no stream has is refused", arguments: [1 << 62, UInt64.max])
    func impossible(sequence: UInt64) {
        #expect(PostboxMessageID(PostboxMessageID(incarnation: 1, sequence: sequence).text) == nil)
        #expect(throws: RelayError.invalidToken) { try PageToken(PageToken(incarnation: 1, sequence: sequence).text) }
    }

    @Test("B45: any single changed character is noticed")
    func tampering() throws {
        let token = PageToken(incarnation: 1_763_719_262_345_678_901, sequence: 42).text
        let id = PostboxMessageID(incarnation: 1_763_719_262_345_678_901, sequence: 42).text
        for text in [token, id] {
            for index in text.indices {
                for replacement in "abcdefghijklmnopqrstuvwxyz234567A1=é" where replacement != text[index] {
                    let changed = text.replacingCharacter(at: index, with: replacement)
                    #expect(throws: RelayError.invalidToken) { try PageToken(changed) }
                    #expect(PostboxMessageID(changed) == nil)
                }
            }
        }
    }

    @Test("B45: foreign texts are refused", arguments: ["", "a", "42", String(repeating: "a", count: 32), "nextToken"])
    func foreign(_ text: String) {
        #expect(PostboxMessageID(text) == nil)
        #expect(throws: RelayError.invalidToken) { try PageToken(text) }
    }
}

extension String {
    fileprivate func replacingCharacter(at index: Index, with replacement: Character) -> String {
        var copy = self
        copy.replaceSubrange(index...index, with: [replacement])
        return copy
    }
}
