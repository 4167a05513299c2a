import ArgumentParser

/// The whole command line. `parley` alone is `parley chat`.
@main
struct ParleyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parley",
        abstract: "A terminal chat client whose connection never lies to you.",
        discussion: "Without a server it starts a private network on this machine, for this user alone.",
        version: "0.1.0",
        subcommands: [
            ChatCommand.self, SendCommand.self, TailCommand.self, HistoryCommand.self, InboxCommand.self,
            PostboxCommand.self, NetworkCommand.self,
        ],
        defaultSubcommand: ChatCommand.self)
}
