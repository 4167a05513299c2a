import Platform
import Relay
import RelayNetwork
import Terminal

// The command of the configuration that notifies the person, as by the desktop.
extension ChatEngine {
    /// The time that it has; the next notification comes no sooner.
    private static let notifierLimit = Duration.seconds(10)

    /// Runs it, and goes on. One that still runs makes up for the next.
    func runNotifier(_ line: String, _ notification: TerminalNotification) {
        guard notifier == nil else { return }
        let command = Self.notifier(line, notification, ProcessInfo.processInfo.environment)
        notifier = Task { [weak self, queue] in
            do throws(ShellCommandError) { _ = try await command.run() } catch {
                let words = error.words(of: "The command of notifications in the configuration")
                if error != .cancelled { await queue.send(.notice(words, isFailure: true)) }
            }
            await self?.notifierEnded()
        }
    }

    private func notifierEnded() { notifier = nil }

    /// What is run. The texts of others are in the environment alone, where no shell takes them for its own, and
    /// without what a terminal obeys; secrets that were meant for this program are not.
    static func notifier(
        _ line: String, _ notification: TerminalNotification, _ environment: [String: String]
    ) -> ShellCommand {
        var environment = environment.filter { !$0.key.hasPrefix("PARLEY_") }
        environment["PARLEY_TITLE"] = SafeText(notification.title).description
        environment["PARLEY_TEXT"] = SafeText(notification.body).description
        return ShellCommand(line, environment: environment, limit: notifierLimit)
    }
}
