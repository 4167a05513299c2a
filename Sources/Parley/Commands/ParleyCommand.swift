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
            PostboxCommand.self, WatchCommand.self, NetworkCommand.self,
        ],
        defaultSubcommand: ChatCommand.self)

    static func main() async {
        await main(rearranged(Array(CommandLine.arguments.dropFirst())))
    }

    /// Puts identity and server behind the subcommand when they stand before it, as in `parley --as alice tail chat.qa`.
    static func rearranged(_ words: [String]) -> [String] {
        let flags: Set = ["--profile", "--server", "--creds", "--as", "--config"]
        var leading = 0
        while leading < words.count {
            let word = words[leading]
            if flags.contains(word) {
                leading += 2
            } else if flags.contains(where: { word.hasPrefix($0 + "=") }) {
                leading += 1
            } else {
                break
            }
        }
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard leading > 0, leading < words.count, names.contains(words[leading]) else { return words }
        let rest = words[leading...]
        let end = rest.firstIndex(of: "--") ?? rest.endIndex
        return Array(rest[..<end]) + words[..<leading] + rest[end...]
    }
}
