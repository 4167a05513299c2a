import NIOConcurrencyHelpers
import Relay
import RelayNetwork

/// Runs a profile's `token_command` whenever the client core needs an access token.
///
/// Failures go to standard error, which is the error log while the screen is up, and to ``failures``; the core only
/// learns that there is no token. Tokens are never shown.
final class TokenCommand: Sendable {
    private typealias Run = Task<ShellCommand.Output, any Error>

    private struct State {
        var isOver = false
        var runs: Set<Run> = []
    }

    /// What went wrong, in a sentence or two each, without any token.
    let failures: AsyncStream<String>
    private let command: ShellCommand
    private let news: AsyncStream<String>.Continuation
    private let state = NIOLockedValueBox(State())

    init(_ line: String, environment: [String: String], limit: Duration = .seconds(25)) {
        command = ShellCommand(line, environment: environment, limit: limit)
        (failures, news) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(8))
    }

    deinit { news.finish() }

    /// Runs the command and reads its token.
    ///
    /// - Parameter isQuiet: whether the caller reports a ``Failure``.
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

    /// Ends running commands, so that none outlives the program.
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
    /// Why there is no token. Never contains one.
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
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

    /// The token in a command's output, which must be its only line.
    private static func token(in text: String) throws(Failure) -> String {
        let lines = text.split(separator: "\n")
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }.filter { !$0.isEmpty }
        guard let token = lines.first else { throw Failure("The token command printed no token. Run it in a shell.") }
        guard lines.count == 1 else {
            throw Failure("The token command printed \(lines.count) lines. It prints a token alone, on one line.")
        }
        // The core would refuse it without saying why.
        do throws(RelayError) { _ = try RelayCredentials.accessToken(token) } catch {
            throw Failure("The token command printed something else than an access token (a user JWT).")
        }
        return token
    }

    /// A command's error output made safe to show: without anything that may be a token.
    static func shown(_ text: String, besides token: String? = nil) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map { word -> String in
            if let token, word.contains(token) { return "…" }
            // Every JWT begins with the base64url encoding of {".
            return word.contains("eyJ") ? "…" : String(word)
        }
        return Output.safe(words.joined(separator: " "))
    }
}
