import Dispatch
import Platform
import TestSupport
import Testing

@testable import Parley

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

    /// The lines before a failure, and the failure.
    private func failure(_ bytes: [UInt8]) throws -> (lines: [String], failure: CommandFailure?) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        #expect(write(ends[1], bytes, bytes.count) == bytes.count)
        close(ends[1])
        var reader = LineReader(ends[0])
        var lines: [String] = []
        do throws(CommandFailure) {
            while let next = try reader.next() { lines += next }
            return (lines, nil)
        } catch { return (lines, error) }
    }

    @Test(
        "A line that is not UTF-8 is refused with the place of its first bad byte, and those before it are given",
        arguments: [
            ([0x61, 0xFF, 0x0A], [], "line 1, byte 2 is 0xFF"),
            (
                [0x61, 0x0A, 0x62, 0x0D, 0x0A, 0xC3, 0xA4, 0x63, 0xE9, 0x0A, 0x64, 0x0A], ["a", "b"],
                "line 3, byte 4 is 0xE9"
            ),
            // A character that is cut, one that is written with too many bytes, and half of one of UTF-16.
            ([0x61, 0x0A, 0xE2, 0x82], ["a"], "line 2, byte 1 is 0xE2"),
            ([0xC0, 0x80, 0x0A], [], "line 1, byte 1 is 0xC0"),
            ([0xED, 0xA0, 0x80, 0x0A], [], "line 1, byte 1 is 0xED"),
            ([0xEF, 0xBB, 0xBF, 0x61, 0x80, 0x0A], [], "line 1, byte 5 is 0x80"),
            ([0xFF, 0xFE, 0x61, 0x00, 0x0A, 0x00], [], "It looks like UTF-16."),
        ] as [([UInt8], [String], String)])
    func invalid(_ bytes: [UInt8], _ lines: [String], _ words: String) throws {
        let result = try failure(bytes)
        #expect(result.lines == lines)
        #expect(result.failure?.code == .badData && result.failure?.text.contains(words) == true)
        let whole = #expect(throws: CommandFailure.self) { try TextInput.text(of: bytes) }
        #expect(whole?.text.contains(words) == true, "\(String(describing: whole))")
    }

    @Test("A byte order mark is dropped at the beginning alone, and vertical tabs and form feeds stay")
    func marks() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        #expect(
            try read([mark + Array("a\u{B}b\n".utf8) + mark + Array("c\u{C}d\n".utf8)]) == [
                ["a\u{B}b", "\u{FEFF}c\u{C}d"]
            ])
        #expect(try TextInput.text(of: mark + Array("a\u{FEFF}".utf8)) == "a\u{FEFF}")
        #expect(TextInput.argument("\u{FEFF}a\u{FEFF}") == "a\u{FEFF}" && TextInput.argument("") == "")
        #expect(try read([mark]) == [[""]])
    }

    @Test("An argument that is not UTF-8 is named with its first bad byte")
    func arguments() {
        #expect(TextInput.mistake(inArguments: [Array("send".utf8), Array("ä".utf8), []]) == nil)
        let mistake = TextInput.mistake(inArguments: [Array("send".utf8), [0x61, 0xE4, 0x62]])
        #expect(mistake?.code == .badData)
        #expect(mistake?.text.contains("argument 2, byte 2 is 0xE4") == true)
    }

    @Test("A line that is too long is refused with its number, and the lines around it are given")
    func tooLong() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let long = String(repeating: "z", count: 300_000)
        let text = Array("one\n\(long)\nthree\nfour\n\(long)".utf8)
        // More than a pipe holds, so that both ends have to go on at once.
        DispatchQueue(label: "writer").async { [end = ends[1]] in
            defer { close(end) }
            text.withUnsafeBytes { bytes in
                var done = 0
                while done < bytes.count {
                    let count = write(end, bytes.baseAddress?.advanced(by: done), bytes.count - done)
                    guard count > 0 else { return }
                    done += count
                }
            }
        }
        var reader = LineReader(ends[0], limit: 100_000)
        var (lines, refused): ([String], [String]) = ([], [])
        while true {
            do throws(CommandFailure) {
                guard let next = try reader.next() else { break }
                lines += next
            } catch {
                #expect(reader.isInLongLine && error.code == .badData)
                refused.append(error.text)
                guard reader.isInLongLine else { break }
            }
        }
        #expect(lines == ["one", "three", "four"])
        #expect(refused == [2, 5].map { "Line \($0) of the input is longer than 100,000 bytes." })
    }

    @Test("A line without bounds is refused")
    func strange() throws {
        #expect(throws: CommandFailure.self) {
            try read([Array(repeating: 0x61, count: 300), Array(repeating: 0x61, count: 300)], limit: 500)
        }
        #expect(throws: CommandFailure.self) {
            var reader = LineReader(-1)
            return try reader.next()
        }
    }
}
