import ArgumentParser
import Relay
import RelayNetwork

/// The options shared by commands about a user.
struct AdministrationOptions: ParsableArguments {
    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var choice: NetworkChoice

    @Argument(help: "The user's name.")
    var name: String

    /// - Parameters:
    ///   - action: the command's name, for scripts.
    ///   - sentence: the outcome, for people.
    func report(_ action: String, _ sentence: String) {
        choice.advise(about: name)
        guard json else { return Output.line(sentence) }
        Output.json(["user": .string(name), "action": .string(action)])
    }
}

struct ReasonOption: ParsableArguments {
    @Option(help: ArgumentHelp("The reason, which the user is told.", valueName: "text"))
    var reason: String?
}

struct NetworkUserKickCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick", abstract: "End a user's connections; the user may connect again.")
    @OptionGroup var options: AdministrationOptions
    @OptionGroup var why: ReasonOption

    func run() async throws {
        let count = try await options.choice.administrator().kick(user: options.name, reason: why.reason)
        if count == 0 { Output.complain("parley: \(options.name) is not connected; no one was kicked") }
        guard count > 0 || options.json else { return }
        options.report("kick", "kicked \(options.name), \(count == 1 ? "1 connection" : "\(count) connections")")
    }
}

struct NetworkUserBanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Keep a user out until the ban is lifted.")
    @OptionGroup var options: AdministrationOptions
    @OptionGroup var why: ReasonOption

    func run() async throws {
        let isNew = try await options.choice.administrator().ban(user: options.name, reason: why.reason)
        options.report("ban", isNew ? "banned \(options.name)" : "\(options.name) was banned already")
    }
}

struct NetworkUserUnbanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unban", abstract: "Lift a user's ban.")
    @OptionGroup var options: AdministrationOptions

    func run() async throws {
        let wasBanned = try await options.choice.administrator().unban(user: options.name)
        options.report("unban", wasBanned ? "unbanned \(options.name)" : "\(options.name) was not banned")
    }
}

struct NetworkUserDeactivateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deactivate", abstract: "Close a user's account; the postboxes stay.")
    @OptionGroup var options: AdministrationOptions
    @OptionGroup var why: ReasonOption

    func run() async throws {
        let isNew = try await options.choice.administrator().deactivate(user: options.name, reason: why.reason)
        options.report("deactivate", isNew ? "deactivated \(options.name)" : "\(options.name) was deactivated already")
    }
}

struct NetworkUserActivateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Open a deactivated user's account again.")
    @OptionGroup var options: AdministrationOptions

    func run() async throws {
        let wasClosed = try await options.choice.administrator().activate(user: options.name)
        options.report("activate", wasClosed ? "activated \(options.name)" : "\(options.name) was not deactivated")
    }
}

struct NetworkBlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block", abstract: "End all users' connections and let no one in; stored data stays.")
    @OptionGroup var choice: NetworkChoice
    @OptionGroup var why: ReasonOption

    func run() async throws {
        try await choice.administrator().blockApplication(reason: why.reason)
        Output.line("blocked: nobody can connect until `parley network unblock`")
    }
}

struct NetworkUnblockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unblock", abstract: "Let users in again.")
    @OptionGroup var choice: NetworkChoice

    func run() async throws {
        try await choice.administrator().unblockApplication()
        Output.line("open")
    }
}
