import Platform
import RelayNetwork
import Terminal

/// The command of the configuration that notifies the person, as by the desktop.
actor NotifierFeed {
    private let queue: EventQueue
    private let tasks: ChatTasks
    private var isRunning = false

    /// The time that the command has; the next notification comes no sooner.
    private static let limit = Duration.seconds(10)

    init(_ queue: EventQueue, _ tasks: ChatTasks) { (self.queue, self.tasks) = (queue, tasks) }

    /// Runs it, and goes on. One that still runs makes up for the next.
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

    /// What is run. The texts of others are in the environment alone, where no shell takes them for its own, and
    /// without what a terminal obeys; secrets that were meant for this program are not.
    static func command(
        _ line: String, _ notification: TerminalNotification, _ environment: [String: String]
    ) -> ShellCommand {
        var environment = environment.filter { !$0.key.hasPrefix("PARLEY_") }
        environment["PARLEY_TITLE"] = SafeText(notification.title).description
        environment["PARLEY_TEXT"] = SafeText(notification.body).description
        return ShellCommand(line, environment: environment, limit: limit)
    }
}
