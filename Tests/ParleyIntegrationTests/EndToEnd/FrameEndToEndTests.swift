import Foundation
import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

extension EndToEndTests {
    @Suite("Frames on a real terminal")
    struct Frames {
        @Test(
            "Every cell of a conversation in many scripts is in the terminal what it is on the canvas",
            arguments: [Size(rows: 24, columns: 80), Size(rows: 40, columns: 120)])
        func scripts(_ size: Size) async throws {
            try await PrivateNetworkFixture.run { network in
                for line in ScriptTexts.lines {
                    let sent = try await network.parley("send", "--as", "bob", "chat.lobby", line.text)
                    #expect(sent.status.isSuccess, "\(sent)")
                }
                let stored = try await network.objects(
                    "history", "--as", "bob", "chat.lobby", "--start", "1970-01-01T00:00:00Z", "--json")
                let messages = try stored.map { object in
                    let time = try #require(Timestamp(iso8601: object["time"].string))
                    return TopicMessage(
                        id: object["id"].string, topic: "chat.lobby", sequence: UInt64(object["seq"].int ?? 0),
                        from: object["from"].string, text: object["text"].string,
                        message: .string(object["text"].string), time: time, sentAt: time)
                }
                try #require(messages.map(\.text) == ScriptTexts.lines.map(\.text))
                let (canvas, area) = Self.canvas(of: messages, size)

                let alice = try await network.connected("alice", rows: size.rows, columns: size.columns)
                try await alice.waitFor(text: "and you?")
                // The first steps lie over the conversation.
                try alice.press(.escape)
                var found: [String] = []
                _ = try? await alice.waitFor("the same cells") { _ in
                    found = Self.differences(alice, canvas, area)
                    return found.isEmpty
                }
                #expect(found.isEmpty, "\(found.prefix(20).joined(separator: "\n"))\n\(alice.screen)")
            }
        }

        /// What the model draws of a conversation with these messages, and where the conversation is.
        private static func canvas(of messages: [TopicMessage], _ size: Size) -> (Canvas, Rect) {
            let now = Moment(instant: .now, wall: WallClock.now)
            let model = ChatModel(
                identity: .init(user: "alice", network: "local"), size: size, now: now, zone: .fixed(seconds: 0),
                status: ConnectionStatus(state: .connected), origin: "model")
            for event: ChatEvent in [
                .start(topics: ["chat.lobby"]), .topic("chat.lobby", [.live]),
                .past("chat.lobby", .history(messages, isComplete: true)),
            ] {
                _ = update(model, event)
            }
            return (render(model, size: size, now: now.instant), model.layout(on: size).main)
        }

        /// Where the terminal shows something else than the canvas, in words. A blank that was never written is a
        /// blank.
        private static func differences(_ terminal: PseudoTerminal, _ canvas: Canvas, _ area: Rect) -> [String] {
            var found: [String] = []
            for row in area.row..<area.row + area.rows {
                for column in area.column..<area.column + area.columns {
                    let wanted = canvas[row, column].cluster
                    // The right half of a wide character is its left half's affair.
                    guard wanted.width > 0 else { continue }
                    let cell = terminal.cell(row: row, column: column)
                    var (text, width) = (cell.text.isEmpty ? " " : cell.text, cell.width)
                    // The emulator keeps the two letters of a flag in a cell each.
                    if width == 1, wanted.width == 2 {
                        let next = terminal.cell(row: row, column: column + 1)
                        (text, width) = (text + next.text, width + next.width)
                    }
                    guard !text.unicodeScalars.elementsEqual(wanted.text.unicodeScalars) || width != wanted.width
                    else { continue }
                    let values = { (text: String) in
                        text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
                    }
                    found.append(
                        "row \(row), column \(column): expected “\(wanted.text)” (\(values(wanted.text))) in "
                            + "\(wanted.width), found “\(text)” (\(values(text))) in \(width)")
                }
            }
            return found
        }

        @Test("A large frame is sent as one where the terminal says that it can, and nothing else is")
        func synchronized() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice")
                func output(from begin: Int) -> String {
                    String(decoding: alice.output.dropFirst(begin), as: UTF8.self)
                }
                let (begins, ends) = ("\u{1B}[?2026h", "\u{1B}[?2026l")
                // A terminal that does not know of it has said so by now.
                try alice.press(.f(1))
                try await alice.waitFor(text: "─ Help")
                #expect(!output(from: 0).contains(begins))
                try alice.press(.escape)
                try await alice.waitFor("the help to be gone") { !$0.contains("─ Help") }

                var count = alice.outputCount
                // It answers that it can, as if it had been asked once more.
                try alice.type("\u{1B}[?2026;2$y")
                try alice.press(.f(1))
                try await alice.waitFor(text: "─ Help")
                try await eventually("the frame's end") { output(from: count).contains(ends) }
                let large = output(from: count)
                let frame = large.split(separator: begins, maxSplits: 1).last.map(String.init) ?? ""
                #expect(large.contains(begins) && frame.contains("Help"), "\(large.debugDescription)")
                #expect(large.ranges(of: begins).count == large.ranges(of: ends).count)
                let end = try #require(large.firstRange(of: ends))
                #expect(!large[end.upperBound...].contains("Help"), "all of the frame is within")

                try alice.press(.escape)
                try await alice.waitFor("the help to be gone") { !$0.contains("─ Help") }
                try await eventually("the frame's end") {
                    output(from: count).ranges(of: begins).count == output(from: count).ranges(of: ends).count
                }
                count = alice.outputCount
                try alice.type("x")
                try await alice.waitFor(text: "> x")
                #expect(!output(from: count).contains(begins), "a key is a small frame")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
                #expect(alice.modes.isSane, "\(alice.modes)")
            }
        }
    }
}
