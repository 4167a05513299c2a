import Testing

@testable import Relay

@Suite("What looking for messages has come by")
struct StoredIdentifiersTests {
    @Test("B30 a part serves what is sought behind its beginning, and anywhere only where it reaches far back")
    func serving() {
        let identifiers = StoredIdentifiers()
        identifiers.keep(StoredIdentifiers.Part(from: 10, isFarBack: false, isWhole: false), of: "room")
        #expect(identifiers.part(of: "room", behind: 9)?.first == 10)
        #expect(identifiers.part(of: "room", behind: 30) != nil)
        #expect(identifiers.part(of: "room", behind: 8) == nil)
        #expect(identifiers.part(of: "room", behind: nil) == nil)
        #expect(identifiers.part(of: "other", behind: 30) == nil)
        identifiers.keep(StoredIdentifiers.Part(from: 10, isFarBack: true, isWhole: false), of: "room")
        #expect(identifiers.part(of: "room", behind: nil) != nil)
        identifiers.removeAll()
        #expect(identifiers.part(of: "room", behind: nil) == nil)
    }
}
