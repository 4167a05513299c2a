import TestSupport
import Testing

@testable import Parley

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Lines of the input")
struct LineReaderTests {
    /// What a reader gives of each of these pieces, which are written one after the other.
    private func read(_ pieces: [[UInt8]], limit: Int = 1 << 20) throws -> [[String]] {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        var isOpen = true
        defer { if isOpen { close(ends[1]) } }
        var reader = LineReader(ends[0], limit: limit)
        var batches: [[String]] = []
        for (place, piece) in pieces.enumerated() {
            #expect(write(ends[1], piece, piece.count) == piece.count)
            if place == pieces.count - 1 {
                close(ends[1])
                isOpen = false
            }
            // A piece without a line's end is not waited for but with the next one.
            if piece.contains(UInt8(ascii: "\n")), let lines = try reader.next() { batches.append(lines) }
        }
        while let lines = try reader.next() { batches.append(lines) }
        return batches
    }

    private func read(_ pieces: String...) throws -> [[String]] { try read(pieces.map { Array($0.utf8) }) }

    @Test("Those that are there at once come together, without their ends")
    func together() throws {
        #expect(try read("a\nb\r\n\nc\n") == [["a", "b", "", "c"]])
        #expect(try read("a\n", "b\nc\n") == [["a"], ["b", "c"]])
    }

    @Test("What lacks its end waits for the rest, and is a line of its own at the end")
    func unended() throws {
        #expect(try read("a\nb", "c", "d\ne") == [["a"], ["bcd"], ["e"]])
        #expect(try read("") == [])
        #expect(try read("alone") == [["alone"]])
    }

    @Test("A terminal whose window was closed is no end of the input: the status is that of the signal")
    func hangUp() async throws {
        var (window, terminal): (Int32, Int32) = (-1, -1)
        try #require(openpty(&window, &terminal, nil, nil, nil) == 0)
        defer { close(terminal) }
        #expect(ClosedTerminal.isCharacterDevice(terminal) && !ClosedTerminal.isHungUp(terminal))
        #expect(write(window, "a\nb", 3) == 3)
        var reader = LineReader(terminal)
        #expect(try reader.next() == ["a"])
        close(window)
        // A program that another test starts may hold the window until it has let go of what is not its own.
        try await eventually("the end of the terminal") { ClosedTerminal.isHungUp(terminal) }
        let failure = #expect(throws: CommandFailure.self) { try reader.next() }
        #expect(failure == .hangUp && failure?.code == 129)
    }

    @Test("What cannot be written to a terminal that is gone is no failure of the output; on a disk it is one")
    func trouble() throws {
        #expect(Output.Trouble(EIO, isTerminal: true) == .hangUp)
        #expect(Output.Trouble(EIO, isTerminal: false) == .failure)
        #expect(Output.Trouble(ENOSPC, isTerminal: true) == .failure)
        #expect(Output.Trouble(EPIPE, isTerminal: false) == .noReader)
        #expect(
            Output.Trouble(EAGAIN, isTerminal: true) == .full && Output.Trouble(EINTR, isTerminal: true) == .passing)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        #expect(!ClosedTerminal.isCharacterDevice(ends[0]) && !ClosedTerminal.means(EIO, of: ends[0]))
    }

    @Test("Bytes that are no text are replaced, and a line without bounds is refused")
    func strange() throws {
        #expect(try read([[0x61, 0xFF, 0x0A]]) == [["a\u{FFFD}"]])
        #expect(throws: CommandFailure.self) {
            try read([Array(repeating: 0x61, count: 300), Array(repeating: 0x61, count: 300)], limit: 500)
        }
        #expect(throws: CommandFailure.self) {
            var reader = LineReader(-1)
            return try reader.next()
        }
    }
}
