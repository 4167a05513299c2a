import TestSupport
import Testing

@testable import Parley

@Suite("Running a token command", .realProcesses)
struct TokenCommandTests {
    @Test(
        "What a failing token command says names the cause and no token",
        arguments: [
            ("echo eyJtoken; exit 4", "exit status 4"), ("echo 'no way.' >&2; exit 5", "exit status 5 (no way)"),
            ("printf 'a\\033[2Jb\\n' >&2; exit 6", "exit status 6 ("), ("true", "printed no token"),
            ("echo eyJa; echo eyJb", "printed 2 lines"), ("echo eyJhalf.token", "something else"),
            ("echo 'got eyJtoken.x.y' >&2; exit 7", "exit status 7 (got …)"), ("kill -9 $$", "signal 9"),
        ])
    func tokenFailures(_ line: String, _ words: String) async throws {
        let command = TokenCommand(line, environment: ["PATH": "/usr/bin:/bin"], limit: .seconds(60))
        let failure = await #expect(throws: TokenCommand.Failure.self) { try await command.token(isQuiet: true) }
        let text = try #require(failure).words
        #expect(text.contains(words) && !text.contains("eyJ") && !text.contains("\u{1B}"))
    }

    @Test("A token command that is asked to end does, and runs no more")
    func tokenEnd() async {
        let command = TokenCommand("sleep 600", environment: ["PATH": "/usr/bin:/bin"], limit: .seconds(600))
        let token = Task { try await command.token(isQuiet: true) }
        command.end()
        await #expect(throws: CancellationError.self) { try await token.value }
        await #expect(throws: CancellationError.self) { try await command.token(isQuiet: true) }
    }
}
