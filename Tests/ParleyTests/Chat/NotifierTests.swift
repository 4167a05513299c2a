import Foundation
import Relay
import RelayNetwork
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("The command that notifies the person")
struct NotifierTests {
    @Test("It has what happened in its environment, where no text of others is anything else than a text")
    func texts() async throws {
        let folder = try TemporaryDirectory("notifier")
        let queue = EventQueue {}
        let tasks = ChatTasks()
        async let running: Void = tasks.run()
        let notifier = NotifierFeed(queue, tasks)
        let file = folder.path("told")
        let notification = TerminalNotification(
            title: "bob; touch \(folder.path("made"))", body: "$(id) \u{1B}[31mred\"'")
        let line = "printf '%s|%s' \"$PARLEY_TITLE\" \"$PARLEY_TEXT\" > '\(file)'"
        await notifier.run(line, notification)
        let expected = "\(notification.title)|$(id) "
        try await eventually("the text") {
            let told = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return told.hasPrefix(expected) && told.hasSuffix("red\"'") && !told.contains("\u{1B}")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path("made")))
        tasks.end()
        await running
    }

    @Test("Secrets that were meant for this program are none of its")
    func secrets() {
        let environment = ["PARLEY_TOKEN": "secret", "PARLEY_SECRET": "secret", "HOME": "/home/alice"]
        let command = NotifierFeed.command("true", TerminalNotification(title: "t", body: "b"), environment)
        #expect(command.environment == ["HOME": "/home/alice", "PARLEY_TITLE": "t", "PARLEY_TEXT": "b"])
    }

    @Test("One that fails is told, with what it complained of")
    func failure() async throws {
        let queue = EventQueue {}
        let tasks = ChatTasks()
        async let running: Void = tasks.run()
        let notifier = NotifierFeed(queue, tasks)
        let notification = TerminalNotification(title: "t", body: "b")
        await notifier.run("echo no bus >&2; exit 3", notification)
        var told: [String] = []
        try await eventually("the failure") {
            while let (event, _) = queue.take() {
                if case .notice(let words, isFailure: true) = event { told.append(words) }
            }
            return !told.isEmpty
        }
        #expect(told == ["The command of notifications in the configuration failed with exit status 3 (no bus)."])
        tasks.end()
        await running
    }
}
