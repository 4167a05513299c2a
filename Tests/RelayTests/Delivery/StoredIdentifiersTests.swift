import NIOCore
import Testing

@testable import NATS
@testable import Relay

@Suite("What looking for messages has come by")
struct StoredIdentifiersTests {
    private func stored(_ range: ClosedRange<UInt64>) -> [StoredMessage] {
        range.map { sequence in
            StoredMessage(
                subject: "net.room", sequence: sequence, time: ServerTime(nanoseconds: 0),
                headers: ["Nats-Msg-Id": "id-\(sequence)"], payload: ByteBuffer())
        }
    }

    @Test("B30 a part knows the places of what it was given, and where to go on")
    func part() {
        var part = StoredIdentifiers.Part(from: 5, isFarBack: false, isWhole: false)
        #expect(part.next == 5 && part.place(of: "id-5") == nil)
        part.add(stored(5...9))
        #expect(part.place(of: "id-5") == 5 && part.place(of: "id-9") == 9 && part.place(of: "id-10") == nil)
        #expect(part.next == 10)
        part.reach(20)
        #expect(part.next == 21)
        part.reach(3)
        #expect(part.next == 21)
    }

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

    @Test("Where they become too many, the newest topic's stay")
    func bound() {
        let identifiers = StoredIdentifiers()
        var large = StoredIdentifiers.Part(from: 1, isFarBack: true, isWhole: true)
        large.add(stored(1...UInt64(StoredIdentifiers.limit / 2 + 1)))
        identifiers.keep(large, of: "a")
        identifiers.keep(large, of: "b")
        #expect(identifiers.part(of: "a", behind: nil) == nil && identifiers.part(of: "b", behind: nil) != nil)
    }
}
