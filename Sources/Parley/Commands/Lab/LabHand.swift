import ArgumentParser
import RelayLab

struct LabHandOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Random seed.", valueName: "number"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("A log file of all events, as lines of JSON.", valueName: "file"))
    var log: String?

    @Flag(help: "Print one JSON object for each event.")
    var json = false
}

/// Acts read from standard input, without blocking a thread of the pool.
enum HandLines {
    /// The most lines that may wait for earlier ones to be carried out.
    private static let capacity = 1_024

    /// Carries out the act of each line, until the end of the input, and reports failures.
    ///
    /// - Parameter ofLinkAlone: whether to refuse acts that are not about the link.
    static func perform(in session: LabSession, ofLinkAlone: Bool = false) async {
        for await line in read() {
            do {
                guard case .act(let act, let lasting) = try LabStep(parsing: line).kind else { continue }
                guard !ofLinkAlone || act.name.isOfLink else {
                    Output.complain("parley: “\(act.name.rawValue)” is not about the link.")
                    continue
                }
                try await session.perform(act, lasting: lasting)
            } catch let error as LabScenarioError {
                Output.complain("parley: \(error.words)")
            } catch {
                Output.complain("parley: \(error)")
            }
        }
    }

    /// The lines that are not blank, until the end of the input.
    private static func read() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(capacity))
        Task {
            await blocking {
                var reader = LineReader(limit: 64 << 10)
                while let found = try? reader.next() {
                    for line in found where line.contains(where: { !$0.isWhitespace }) {
                        switch continuation.yield(line) {
                        case .enqueued: break
                        case .dropped: Output.complain("parley: \(capacity) lines are waiting; skipped: \(line)")
                        // The reader has ended.
                        default: return
                        }
                    }
                }
                continuation.finish()
            }
        }
        return lines
    }
}
