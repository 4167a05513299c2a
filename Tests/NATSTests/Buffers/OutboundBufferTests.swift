import NIOCore
import Testing

@testable import NATS

@Suite("Outbound buffer")
struct OutboundBufferTests {
    private func append(_ count: Int, to buffer: OutboundBuffer) throws(NATSError) -> OutboundBuffer.Appended {
        try buffer.append { $0.writeRepeatingByte(1, count: count) }
    }

    @Test("asks for one flush for all that comes before it is taken")
    func oneFlush() throws {
        let buffer = OutboundBuffer(highWaterMark: 100, limit: 200)
        #expect(try append(1, to: buffer).needsFlush)
        #expect(try !append(1, to: buffer).needsFlush)
        #expect(buffer.take()?.readableBytes == 2)
        #expect(buffer.take() == nil)
        #expect(try append(1, to: buffer).needsFlush)
    }

    @Test("asks for one flush, at its end, for all that comes while it is held")
    func held() throws {
        let buffer = OutboundBuffer(highWaterMark: 1_000, limit: 1_000)
        #expect(buffer.hold())
        #expect(!buffer.hold())
        for _ in 0..<3 { #expect(try !append(10, to: buffer).needsFlush) }
        #expect(buffer.release())
        #expect(buffer.take()?.readableBytes == 30)
        #expect(buffer.hold())
        #expect(!buffer.release())
        #expect(try append(10, to: buffer).needsFlush)
        #expect(!buffer.hold())
    }

    @Test("lets so many writes wait for the socket, and collects the rest until one of them is through")
    func maximumWrites() throws {
        let buffer = OutboundBuffer(highWaterMark: 1_000, limit: 10_000)
        for _ in 0..<OutboundBuffer.maximumWrites {
            #expect(try append(1, to: buffer).needsFlush)
            #expect(buffer.take()?.readableBytes == 1)
        }
        #expect(try append(1, to: buffer).needsFlush)
        #expect(buffer.take() == nil)
        #expect(try !append(1, to: buffer).needsFlush)
        buffer.written(1)
        #expect(buffer.ended())
        #expect(buffer.take()?.readableBytes == 2)
        #expect(!buffer.ended())
    }

    @Test("has room for what ends something where there is none for anything else")
    func endings() throws {
        let buffer = OutboundBuffer(highWaterMark: 10, limit: 100)
        _ = try append(100, to: buffer)
        #expect(throws: NATSError.outboundBufferFull(bytes: 100)) { try append(1, to: buffer) }
        #expect(try !buffer.append(isEnding: true, { $0.writeRepeatingByte(1, count: 9) }).isBelowHighWaterMark)
        #expect(buffer.unwrittenBytes == 109)
        buffer.close(.closed)
        #expect(throws: NATSError.closed) { try buffer.append(isEnding: true) { _ in } }
    }

    @Test("tells when the high-water mark is reached, counting what the socket has not taken yet")
    func highWater() throws {
        let buffer = OutboundBuffer(highWaterMark: 100, limit: 1_000)
        #expect(try append(99, to: buffer).isBelowHighWaterMark)
        #expect(buffer.take()?.readableBytes == 99)
        #expect(try !append(1, to: buffer).isBelowHighWaterMark)
        #expect(buffer.unwrittenBytes == 100)
        buffer.written(99)
        #expect(try append(1, to: buffer).isBelowHighWaterMark)
    }

    @Test("wakes waiters when half the mark is left")
    func drained() async throws {
        let buffer = OutboundBuffer(highWaterMark: 100, limit: 1_000)
        #expect(try buffer.drainWaiter() == nil)
        _ = try append(100, to: buffer)
        let waiter = try #require(try buffer.drainWaiter())
        buffer.written(50)
        #expect(try buffer.drainWaiter() != nil)
        buffer.written(1)
        try await waiter.result()
        #expect(try buffer.drainWaiter() == nil)
    }

    @Test("a mark above the limit is the limit, so that who was refused has something to wait for")
    func markAboveLimit() throws {
        let buffer = OutboundBuffer(highWaterMark: 1_000, limit: 100)
        #expect(try !append(100, to: buffer).isBelowHighWaterMark)
        #expect(throws: NATSError.outboundBufferFull(bytes: 100)) { try append(1, to: buffer) }
        #expect(try buffer.drainWaiter() != nil)
    }
}
