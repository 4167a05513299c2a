import Platform
import RelayNetwork
import Terminal

/// The configured notification command.
actor NotifierFeed {
    private let queue: EventQueue
    private let tasks: ChatTasks
    private var isRunning = false

    private static let limit = Duration.seconds(10)

    init(_ queue: EventQueue, _ tasks: ChatTasks) { (self.queue, self.tasks) = (queue, tasks) }

    /// Starts the command, unless an earlier one is still running.
    func run(_ line: String, _ notification: TerminalNotification) {
        guard !isRunning else { return }
        isRunning = true
        let command = Self.command(line, notification, ProcessInfo.processInfo.environment)
        tasks.begin { [queue] in
            do throws(ShellCommandError) { _ = try await command.run() } catch {
                let words = error.words(of: "The command of notifications in the configuration")
                if error != .cancelled { await queue.send(.notice(words, isFailure: true)) }
            }
            await self.ended()
        }
    }

    private func ended() { isRunning = false }

    /// The command to run. Other people's texts are passed in the environment only, where no shell interprets them, and
    /// without terminal control characters; this program's secrets are removed.
    static func command(
        _ line: String, _ notification: TerminalNotification, _ environment: [String: String]
    ) -> ShellCommand {
        var environment = environment.filter { !$0.key.hasPrefix("PARLEY_") }
        environment["PARLEY_TITLE"] = SafeText(notification.title).description
        environment["PARLEY_TEXT"] = SafeText(notification.body).description
        return ShellCommand(line, environment: environment, limit: limit)
    }
}
