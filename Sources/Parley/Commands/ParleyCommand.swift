import ArgumentParser
import CProcess
import Platform
import Relay
import RelayNetwork

/// The root command. `parley` alone means `parley chat`.
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
            StoreCommand.self, NetworkCommand.self, JoinCommand.self, LabCommand.self, ConfigCommand.self,
            DoctorCommand.self, MeasureScreenCommand.self,
        ],
        defaultSubcommand: ChatCommand.self)

    /// Runs on the first thread, which the chat keeps: the cooperative pool has few.
    @MainActor static func main() async {
        cprocess_return_large_blocks()
        do {
            if let mistake = OpenFileLimit.mistake() {
                throw CommandFailure(.badConfiguration, mistake)
            }
            // The standard library's own strings have invalid bytes replaced.
            let bytes = (1..<max(1, Int(CommandLine.argc))).map { place in
                CommandLine.unsafeArgv[place].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
            }
            if let failure = TextInput.mistake(inArguments: bytes) { throw failure }
            let words = answered(rearranged(Array(CommandLine.arguments.dropFirst()))) { isKnownTopic($0, of: [$0]) }
            if let mistake = mistake(in: words, isKnownTopic: { isKnownTopic($0, of: words) }) {
                throw CommandFailure(.usage, mistake)
            }
            // Setting up the parser would double the time to the first frame.
            if let topics = topics(in: words) {
                try checkFolders()
                return try ChatCommand.run(topics: topics)
            }
            var command = try parseAsRoot(words)
            if words.first != "help" { try checkFolders() }
            guard var task = command as? any AsyncParsableCommand else { return try command.run() }
            try await task.run()
        } catch { exit(withError: reported(error)) }
    }

    /// Refuses an environment whose folders lead to files that are not the user's: a network would be started there.
    private static func checkFolders() throws(CommandFailure) {
        guard let mistake = UserFolders.mistake(in: ProcessInfo.processInfo.environment) else { return }
        throw CommandFailure(.badConfiguration, mistake)
    }

    /// The topics to join, if the words are neither a command nor flags; nil if they need the parser.
    static func topics(in words: [String]) -> [String]? {
        guard let first = words.first else { return [] }
        let isCommand = first == "help" || configuration.subcommands.contains { $0.configuration.commandName == first }
        return isCommand || words.contains { $0.hasPrefix("-") } ? nil : words
    }

    /// Moves leading identity and server flags after the subcommand, as in `parley --as alice tail chat.qa`.
    static func rearranged(_ words: [String]) -> [String] {
        let leading = leadingFlags(words)
        guard leading > 0, leading < words.count, words[leading] != "help", names.contains(words[leading]) else {
            return words
        }
        let rest = words[leading...]
        let end = rest.firstIndex(of: "--") ?? rest.endIndex
        return Array(rest[..<end]) + words[..<leading] + rest[end...]
    }

    /// Maps commands known from other programs, such as `version`, to Parley's own, unless the user has a topic of that
    /// name.
    static func answered(_ words: [String], isKnownTopic: (String) -> Bool) -> [String] {
        guard let first = words.first, let meant = otherWords[first], !isKnownTopic(first) else { return words }
        return meant + words.dropFirst()
    }

    private static let otherWords = [
        "version": ["--version"], "man": ["help"], "manual": ["help"], "usage": ["help"], "commands": ["help"],
    ]

    /// Says why the word in a command's place is not one; nil if it is, or can be a topic.
    ///
    /// A mistyped command would otherwise be joined as a topic. So a word that resembles a command is refused unless
    /// the user has that topic, and so is any with `--help`. A pattern, or a topic of several tokens, is never taken
    /// for a command.
    ///
    /// - Parameter isKnownTopic: whether the user has that topic; called only for a word that resembles a command.
    static func mistake(in words: [String], isKnownTopic: (String) -> Bool) -> String? {
        let asked = words.prefix { $0 != "--" }
        let place = leadingFlags(words)
        guard place < asked.count, !asked[place].hasPrefix("-") else { return nil }
        let word = asked[place]
        guard !names.contains(word), !word.contains(where: { ".*>".contains($0) }) else { return nil }
        let (near, name) = (names.near(word), Output.safe(word))
        guard near.isEmpty || isKnownTopic(word) else {
            let commands = Wording.alternatives(near.map { "parley \($0)" })
            return
                "There is no command “\(name)”. Did you mean \(commands)? parley chat \(name) joins a topic of that name."
        }
        guard asked.contains("--help") || asked.contains("-h") else { return nil }
        return "There is no command “\(name)”. parley --help lists them; parley chat \(name) joins a topic."
    }

    /// Whether a topic is in the local store of the user that the words name.
    private static func isKnownTopic(_ word: String, of words: [String]) -> Bool {
        guard let chat = try? ChatCommand.parse(words) else { return false }
        // The command line's topics are for the first profile.
        let flags = NoConnectionFlags(
            profiles: Array(chat.connection.profiles.prefix(1)), config: chat.connection.config)
        let isOne = chat.connection.profiles.count < 2
        guard let path = try? isOne ? chat.connection.plan().store : flags.plan().store else { return false }
        return LocalStore.hasTopic(word, inFile: path)
    }

    private static let names = CommandNames(below: ParleyCommand.self)

    /// The number of leading words that are identity and server flags or their values.
    private static func leadingFlags(_ words: [String]) -> Int {
        let flags = ["--profile", "--server", "--creds", "--as", "--config", "--proxy", "--log"]
        var leading = 0
        while leading < words.count, let flag = flags.first(where: { "\(words[leading])=".hasPrefix($0 + "=") }) {
            leading += words[leading] == flag ? 2 : 1
        }
        return leading
    }
}
