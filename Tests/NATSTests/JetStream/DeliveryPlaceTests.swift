import NIOCore
import Testing

@testable import NATS

@Suite("Place of a delivered message")
struct DeliveryPlaceTests {
    @Test(
        "is read from the reply subject in its old and new forms",
        arguments: [
            "$JS.ACK.S.C.1.22.333.1700000000123456789.4", "$JS.ACK._.HASH.S.C.1.22.333.1700000000123456789.4",
            "$JS.ACK.domain.HASH.S.C.1.22.333.1700000000123456789.4.random",
            "$JS.ACK.domain.HASH.S.C.1.22.333.1700000000123456789.4.random.and.more",
        ])
    func forms(reply: String) throws {
        let place = try #require(DeliveryPlace(reply))
        #expect(place.streamSequence == 22)
        #expect(place.consumerSequence == 333)
        #expect(place.time == 1_700_000_000_123_456_789)
        #expect(place.pending == 4)
    }

    @Test(
        "is not read from anything else",
        arguments: [
            "", "$", "$JS.ACK", "_INBOX.a.b", "$JS.ACK.S.C.1.22.333.1700000000.", "$JS.ACK.S.C.1.22.333.1700000000",
            "$JS.ACK._.S.C.1.22.333.1700000000.4", "$JS.ACK.S.C.1.x.333.1700000000.4",
            "$JS.ACK.S.C.1..333.1700000000.4",
            "$JS.ACK.S.C.1.-2.333.1700000000.4", "$JS.ACK.S.C.1.22.333.99999999999999999999.4",
            "$JS.ACK.S.C.1.4611686018427387904.333.1700000000.4", "$JS.ACK.S.C.1.22.9999999999999999999.1700000000.4",
            "$JS.ACK.S.C.1.22.333.9999999999999999999.4", "$JS.ACK.S.C.1.22.333.1700000000.9223372036854775807",
            "a.b.c.d.e.1.2.3.4",
            "........", "$JS.API.S.C.1.22.333.1700000000.4",
        ])
    func others(reply: String) { #expect(DeliveryPlace(reply) == nil) }

    @Test("a stored message is made of a delivered one")
    func message() throws {
        let block = "NATS/1.0\r\nA: 1\r\n\r\n"
        let message = NATSMessage(
            subject: "s", reply: "$JS.ACK.S.C.1.22.3.1700000000123456789.4", content: ByteBuffer(string: block + "x"),
            headerLength: block.utf8.count)
        let place = try #require(message.reply.flatMap { DeliveryPlace($0) })
        let stored = StoredMessage(message, at: place)
        #expect(stored.subject == "s" && stored.sequence == 22 && stored.pending == 4)
        #expect(stored.time == ServerTime(nanoseconds: 1_700_000_000_123_456_789))
        #expect(stored.headers["A"] == "1" && String(buffer: stored.payload) == "x")
        #expect(stored.acknowledgementSubject == message.reply)
    }
}
