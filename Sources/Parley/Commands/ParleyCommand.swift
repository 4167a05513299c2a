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
            PostboxCommand.self, KeyValueCommand.self, WatchCommand.self, SearchCommand.self, OutboxCommand.self,
            StoreCommand.self, NetworkCommand.self, DoctorCommand.self,
        ],
        defaultSubcommand: ChatCommand.self)

    static func main() async {
        let words = rearranged(Array(CommandLine.arguments.dropFirst()))
        if let word = unknownCommand(words) {
            let name = Output.safe(word)
            Output.complain(
                "parley: There is no command “\(name)”. parley --help lists them; parley chat \(name) joins a topic.")
            exit(withError: ExitCode(CommandFailure.usage))
        }
        await main(words)
    }

    /// Moves identity and server behind the subcommand when they are before it, as in `parley --as alice tail chat.qa`.
    static func rearranged(_ words: [String]) -> [String] {
        let leading = leadingFlags(words)
        guard leading > 0, leading < words.count, names.contains(words[leading]) else { return words }
        let rest = words[leading...]
        let end = rest.firstIndex(of: "--") ?? rest.endIndex
        return Array(rest[..<end]) + words[..<leading] + rest[end...]
    }

    /// A word that help is asked for as if it were a command, although it is none. Since a topic can be in its place, the
    /// chat's help would be shown for it; a topic of several tokens or a pattern is no attempt at a command.
    static func unknownCommand(_ words: [String]) -> String? {
        let asked = words.prefix { $0 != "--" }
        guard asked.contains("--help") || asked.contains("-h") else { return nil }
        let place = leadingFlags(words)
        guard place < asked.count, !asked[place].hasPrefix("-"), asked[place] != "help" else { return nil }
        let word = asked[place]
        return names.contains(word) || word.contains { ".*>".contains($0) } ? nil : word
    }

    private static var names: [String] { configuration.subcommands.compactMap { $0.configuration.commandName } }

    /// How many words at the beginning are flags of identity and server, with their values.
    private static func leadingFlags(_ words: [String]) -> Int {
        let flags: Set = ["--profile", "--server", "--creds", "--as", "--config", "--proxy"]
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
        return leading
    }
}
