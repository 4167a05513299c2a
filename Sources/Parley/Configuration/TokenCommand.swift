import NIOConcurrencyHelpers
import Relay
import RelayNetwork

/// Asks a profile's `token_command` for an access token whenever the client core wants one.
///
/// Its failures are written to standard error, which is the error log while the screen is up, and to ``failures``: the
/// core only learns that there is no token. Nothing here shows a token.
final class TokenCommand: Sendable {
    private typealias Run = Task<ShellCommand.Output, any Error>

    private struct State {
        var isOver = false
        var runs: Set<Run> = []
    }

    /// What went wrong, a sentence or two each, safe to show.
    let failures: AsyncStream<String>
    private let command: ShellCommand
    private let news: AsyncStream<String>.Continuation
    private let state = NIOLockedValueBox(State())

    init(_ line: String, environment: [String: String], limit: Duration = .seconds(25)) {
        command = ShellCommand(line, environment: environment, limit: limit)
        (failures, news) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(8))
    }

    deinit { news.finish() }

    /// Runs the command and reads its token. A ``Failure`` is reported here, unless the caller does that (`isQuiet`).
    func token(isQuiet: Bool = false) async throws -> String {
        do {
            let output = try await run()
            let token = try Self.token(in: output.text)
            if let words = output.lastComplaint, !isQuiet {
                Output.complain("parley: token_command: " + Self.shown(words, besides: token))
            }
            return token
        } catch let failure as Failure {
            if !isQuiet {
                Output.complain("parley: " + failure.words)
                news.yield(failure.words)
            }
            throw failure
        }
    }

    /// Ends a command that still runs, so that none is left behind when the program ends.
    func end() {
        let runs = state.withLockedValue { state in
            state.isOver = true
            return state.runs
        }
        for run in runs { run.cancel() }
    }

    private func run() async throws -> ShellCommand.Output {
        let started = state.withLockedValue { state -> Run? in
            guard !state.isOver else { return nil }
            let run = Run { [command] in try await command.run() }
            state.runs.insert(run)
            return run
        }
        guard let run = started else { throw CancellationError() }
        defer { state.withLockedValue { _ = $0.runs.remove(run) } }
        do {
            return try await withTaskCancellationHandler {
                try await run.value
            } onCancel: {
                run.cancel()
            }
        } catch ShellCommandError.cancelled {
            throw CancellationError()
        } catch let error as ShellCommandError {
            throw Failure(error)
        }
    }
}

extension TokenCommand {
    /// Why there is no token. Never holds one.
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What happened and what to do next.
        let words: String

        var description: String { words }

        init(_ words: String) { self.words = words }

        init(_ error: ShellCommandError) {
            let advice =
                switch error {
                case .failed, .signalled: " Run it in a shell."
                case .timedOut: " It may not ask questions."
                case .tooMuchOutput: " It prints a token alone."
                case .notStarted, .cancelled: ""
                }
            words = error.words(of: "The token command") { TokenCommand.shown($0) } + advice
        }
    }

    /// The one line of a command's output.
    private static func token(in text: String) throws(Failure) -> String {
        let lines = text.split(separator: "\n")
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }.filter { !$0.isEmpty }
        guard let token = lines.first else { throw Failure("The token command printed no token. Run it in a shell.") }
        guard lines.count == 1 else {
            throw Failure("The token command printed \(lines.count) lines. It prints a token alone, on one line.")
        }
        // The core would refuse it without a word.
        do throws(RelayError) { _ = try RelayCredentials.accessToken(token) } catch {
            throw Failure("The token command printed something else than an access token (a user JWT).")
        }
        return token
    }

    /// A command's complaint as it may be shown: without tokens, whatever traces it writes.
    static func shown(_ text: String, besides token: String? = nil) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map { word -> String in
            if let token, word.contains(token) { return "…" }
            // Every JWT begins with the base64url of {".
            return word.contains("eyJ") ? "…" : String(word)
        }
        return Output.safe(words.joined(separator: " "))
    }
}
