import ArgumentParser
import RelayLab

/// What the commands have in common by which a person rehearses by hand.
struct LabHandOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where chance comes from.", valueName: "number"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("A file for what happened, as lines of JSON.", valueName: "file"))
    var log: String?

    @Flag(help: "Print one JSON object for each event.")
    var json = false
}

/// Lines of standard input, one after the other, without a thread of the pool waiting for them.
enum HandLines {
    /// So many lines may wait for those before them to be done.
    private static let capacity = 1_024

    /// Does what each line says, until the end of the input. What cannot be done is said.
    ///
    /// - Parameter ofLinkAlone: whether acts that are not about the link are refused.
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

    /// The lines that hold something, until the end of the input.
    private static func read() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(capacity))
        Task {
            await blocking {
                var reader = LineReader(limit: 64 << 10)
                while let found = try? reader.next() {
                    for line in found where line.contains(where: { !$0.isWhitespace }) {
                        switch continuation.yield(line) {
                        case .enqueued: break
                        case .dropped: Output.complain("parley: \(capacity) lines wait already; left out: \(line)")
                        // Nobody waits for more.
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
