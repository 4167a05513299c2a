import Foundation
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What was said long ago")
    struct History {
        /// Messages with the numbers that they have in the stream.
        private static func lines(_ range: ClosedRange<Int>) -> [(topic: String, payload: [UInt8])] {
            range.map { number in
                let time = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
                let line = ChatLine(username: "bob", text: "as number \(number).", timestamp: time)
                let envelope = Envelope(id: "id-\(number)", room: "chat.lobby", message: line.value, start: time)
                return ("chat.lobby", envelope.encoded())
            }
        }

        /// Pages up until the first message is in view.
        private static func toBeginning(_ chat: PseudoTerminal) async throws {
            try await chat.press(.pageUp, until: "the first message") {
                $0.contains("as number 1.") && $0.contains("the beginning")
            }
        }

        private static func live(_ network: PlainNetwork) async throws -> PseudoTerminal {
            let chat = try network.chat()
            try await chat.waitFor("the live topic") {
                $0.contains("● CONNECTED") && $0.main(row: 1).contains("chat.lobby") && !$0.contains("joining …")
            }
            return chat
        }

        @Test(
            "B38 B48 Paging up leads to a topic's first message; what the network deleted since is a row with the number",
            arguments: NATSServerProcess.binaries)
        func beginning(_ binary: NATSServerBinary) async throws {
            let network = try await PlainNetwork(binary)
            // More than two pages, and what comes while the chat runs.
            try await network.store(Self.lines(1...445))
            let alice = try await Self.live(network)
            defer { alice.close() }
            try await network.store(Self.lines(446...450))
            try await alice.waitFor(text: "as number 450.")
            // The first steps stand where the first message will.
            try alice.press(.escape)
            try await alice.waitFor("the end of the first steps") { !$0.contains("First steps") }
            try await Self.toBeginning(alice)
            try alice.press(.ctrl("q"))
            #expect(try await alice.waitForExit() == .exited(0))

            try await network.store(Self.lines(451...470))
            try await network.delete(through: 457)
            let again = try await Self.live(network)
            defer { again.close() }
            let screen = try await again.waitFor("the row between what is here and what the network has") { screen in
                guard let here = screen.row(containing: "as number 450."),
                    let gone = screen.row(containing: "7 messages are gone"),
                    let behind = screen.row(containing: "as number 458."),
                    let newest = screen.row(containing: "as number 470.")
                else { return false }
                return here < gone && gone < behind && behind < newest
            }
            #expect(!screen.contains("as number 457."))
            // This machine has what the network has deleted.
            try await Self.toBeginning(again)
        }
    }
}
