import Testing

@testable import Relay

@Suite("Part of a stream")
struct StreamSourceTests {
    @Test("B48 of its messages as many of the newest are read as fit, and one in any case")
    func fitting() {
        #expect(StreamSource.fitting([], count: 5, bytes: 100) == 0)
        #expect(StreamSource.fitting(([1, 1, 1]), count: 2, bytes: 100) == 2)
        #expect(StreamSource.fitting(([1, 1, 1]), count: 5, bytes: 100) == 3)
        #expect(StreamSource.fitting(([60, 40, 60]), count: 5, bytes: 100) == 2)
        #expect(StreamSource.fitting(([1, 101, 50]), count: 5, bytes: 100) == 1)
        #expect(StreamSource.fitting(([1, 200]), count: 5, bytes: 100) == 1)
    }
}
