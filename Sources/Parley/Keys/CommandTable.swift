import Relay

extension SlashCommand {
    /// A command: its names, argument, help and completion, and its parser.
    struct Entry: Hashable, Sendable {
        /// The argument as help shows it; brackets mean that it is optional.
        enum Argument: Hashable, Sendable {
            case none
            case name(String), number(String), word(String), file(String)
            /// A text, whose quotation marks belong to it.
            case text(String)

            var shown: String {
                switch self {
                case .none: ""
                case .name(let shown), .number(let shown), .word(let shown), .file(let shown), .text(let shown): shown
                }
            }

            var isNeeded: Bool { !shown.isEmpty && shown.first != "[" }
        }

        enum Completion: Hashable, Sendable {
            case nothing, topics, mutedTopics, people, addresses, commands, postboxes
            /// The values of `in:` and `from:`.
            case filters
            case words([String])
        }

        /// What a command waits for in a session without a screen.
        enum Need: Hashable, Sendable {
            /// The requested letters or messages.
            case list
            /// The first attempt to connect: before that it would list only what is stored here, if anything.
            case connection
            /// The answers to earlier commands, whose results it may refer to.
            case answers
        }

        let name: String
        /// Its names in other clients.
        let aliases: [String]
        /// The aliases that never begin a sentence: a letter without its slash would be read by an entire topic.
        let unlikeWords: [String]
        let argument: Argument
        let completion: Completion
        let needs: Set<Need>
        let words: String
        /// Parses the command; nil if its argument is invalid.
        let read: @Sendable (CommandText) throws(Failure) -> SlashCommand?

        init(
            _ name: String, aka aliases: [String] = [], unlikeWords: [String] = [], takes argument: Argument = .none,
            completing completion: Completion = .nothing, needing needs: Set<Need> = [], _ words: String,
            read: @escaping @Sendable (CommandText) throws(Failure) -> SlashCommand?
        ) {
            (self.name, self.aliases, self.unlikeWords) = (name, aliases + unlikeWords, unlikeWords)
            (self.argument, self.completion, self.needs) = (argument, completion, needs)
            (self.words, self.read) = (words, read)
        }

        var usage: String { argument == .none ? "/\(name)" : "/\(name) \(argument.shown)" }

        static func == (left: Entry, right: Entry) -> Bool { left.name == right.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    static let entries: [Entry] = [
        Entry(
            "join", aka: ["go"], unlikeWords: ["j"], takes: .name("TOPIC"), completing: .topics,
            "join a topic, or a pattern with * or >"
        ) { .join($0.word) },
        Entry(
            "leave", aka: ["part"], takes: .name("[TOPIC]"), completing: .topics, "leave this topic, or that one"
        ) { .leave($0.wordIfAny) },
        Entry(
            "say", takes: .text("TEXT"), "send TEXT as it is; a line that begins with // does the same"
        ) { .say($0.text) },
        Entry(
            "post", unlikeWords: ["query", "q", "msg", "whisper", "dm"], takes: .text("USER[/POSTBOX] [TEXT]"),
            completing: .addresses,
            "send a letter, by default to the user's personal postbox; Subject: WORDS | before TEXT sets its subject; "
                + "without TEXT, begin one",
            read: letter),
        Entry(
            "resend", takes: .number("[NUMBER]"), "resend this topic's unsent lines, or that one"
        ) { .resend($0.number) },
        Entry("discard", takes: .number("[NUMBER]"), "drop this topic's unsent lines, or that one") {
            .discard($0.number)
        },
        Entry("unsent", "list this topic's unsent lines, with their numbers") { _ in .unsent },
        Entry("history", aka: ["scrollback"], needing: [.list], "load older messages") { _ in .history },
        Entry("more", needing: [.list], "show more of the list: letters or search results") { _ in .more },
        Entry("edit", "continue in your editor") { _ in .edit },
        Entry(
            "search", aka: ["lastlog", "grep"], takes: .text("WORDS"), completing: .filters,
            "search everything stored here: words, \"a phrase\", from: in: after: before:", read: search),
        Entry("open", takes: .number("NUMBER"), needing: [.list], "go to that search result") {
            $0.number.map { .open($0) }
        },
        Entry(
            "find", takes: .text("[LETTERS]"),
            "find LETTERS in view, also in the full message or the open letter; alone, or by n and N, go on"
        ) { .find($0.text) },
        Entry(
            "topics", aka: ["list", "buffer", "window", "win"], takes: .name("[NUMBER]"),
            "list your topics with their unread counts, or go to one"
        ) { .topics($0.word) },
        Entry("next", "go to the next mention or unread topic") { _ in .next },
        Entry(
            "read", takes: .number("[NUMBER]"), needing: [.list],
            "show the full message or letter; with NUMBER, that letter of the list, or that message of the topic, "
                + "counted from the newest"
        ) { .read($0.number) },
        Entry(
            "quote", aka: ["reply", "answer"], takes: .text("[NUMBER] [TEXT]"), needing: [.list],
            "quote the newest message, or one by its number from the newest, to answer it; TEXT goes below it"
        ) { text in
            let (first, rest) = text.parts
            return if let number = Int(first), number > 0 { .quote(number, rest) } else { .quote(nil, text.text) }
        },
        Entry("details", takes: .number("[NUMBER]"), needing: [.list], "what is known of it: id, sequence, times") {
            .details($0.number)
        },
        Entry("links", "list the links in view, newest first, or of what is read") { _ in .links },
        Entry(
            "link", takes: .number("NUMBER"), "copy that link of the list; without a screen, print it"
        ) { $0.number.map { .link($0) } },
        Entry("who", aka: ["names", "whois"], "list who is in this topic, with away texts") { _ in .who },
        Entry(
            "ignore", takes: .name("[NAME]"), completing: .people,
            "hide a user's messages in topics; alone: list those hidden"
        ) { .ignore($0.word) },
        Entry("unignore", takes: .name("NAME"), completing: .people, "show them again") { .unignore($0.word) },
        Entry(
            "mute", takes: .name("[TOPIC]"), completing: .topics,
            "no bell and no count in the title for this topic, or that one"
        ) { .mute($0.wordIfAny) },
        Entry(
            "unmute", takes: .name("[TOPIC]"), completing: .mutedTopics, "let it ring and count again"
        ) { .unmute($0.wordIfAny) },
        Entry(
            "notify", takes: .word("[on|off|test]"), completing: .words(NotificationAct.words),
            "show how you are notified while you look elsewhere; keep the connection then, or not; test it"
        ) { NotificationAct($0.word).map { .notify($0) } },
        Entry(
            "suspend-after", takes: .word("[TIME]"),
            "how long the connection is kept while you look elsewhere: 5m, 90s, or never"
        ) { SuspensionChange($0.word).map { .suspendAfter($0) } },
        Entry("away", takes: .text("[TEXT]"), "tell others that you are away, and why") { .away($0.word) },
        Entry("back", "tell others that you are here again") { _ in .back },
        Entry("inbox", needing: [.connection], "open the postbox") { _ in .inbox },
        Entry(
            "postbox", takes: .text("[create|rename|enable|disable|delete NAME]"), completing: .postboxes,
            needing: [.connection, .answers],
            "list your postboxes; create NAME, or create NAME for PERSONA; rename NAME TITLE gives one a title; accept "
                + "letters or not; delete one with its letters"
        ) { text throws(Failure) in .postbox(try PostboxAct(text.text)) },
        Entry(
            "sent", takes: .number("[NUMBER]"), needing: [.answers],
            "list the letters you sent from here, or read that one"
        ) { .sent($0.number) },
        Entry(
            "delete", takes: .number("[NUMBER]"), needing: [.list],
            "delete the marked letters, or the selected one; or that one of the list"
        ) { .delete($0.number) },
        Entry("save", takes: .file("[FILE]"), needing: [.list], "save the letter to a file that only you can read") {
            .save($0.word)
        },
        Entry(
            "kv", takes: .text("[get|put|delete|keys|watch …]"),
            "the keys and values that all users of the network share; alone: the latest answers"
        ) { text throws(Failure) in
            guard !text.word.isEmpty else { return .keyResults }
            guard let request = KeyValueRequest(text.text) else { throw .usage(KeyValueRequest.usage) }
            return .keyValue(request)
        },
        Entry(
            "close", aka: ["wc"], takes: .name("[TOPIC]"), completing: .topics,
            "close what is in view: leave the topic, or go back; leave that topic"
        ) { $0.word.isEmpty ? .close : .leave($0.word) },
        Entry("disconnect", "disconnect and stay offline until /reconnect") { _ in .disconnect },
        Entry("reconnect", "connect now") { _ in .reconnect },
        Entry(
            "connect", takes: .name("[PROFILE]"),
            "also chat on another profile's network, in this window; alone, connect now"
        ) { $0.word.isEmpty ? .reconnect : .openChat($0.word) },
        Entry("log", "show what happened to the connection") { _ in .log },
        Entry(
            "lab", takes: .word("[save FILE]"),
            "break this chat's connection: a rehearsal; save it as a scenario file"
        ) { LabRequest($0.word).map { .lab($0) } },
        Entry("errors", "list recent errors, newest first") { _ in .errors },
        Entry(
            "help", takes: .word("[WORD]"), completing: .commands,
            "show the keys and commands, or those that contain WORD"
        ) { .help($0.word) },
        Entry("quit", aka: ["exit", "bye"], "leave Parley") { _ in .quit },
    ]

    static func entry(named name: some StringProtocol) -> Entry? { byName[name.lowercased()] }

    private static let byName = Dictionary(
        entries.flatMap { entry in ([entry.name] + entry.aliases).map { ($0, entry) } }, uniquingKeysWith: { $1 })

    private static func letter(_ text: CommandText) throws(Failure) -> SlashCommand {
        let (word, rest) = text.parts
        if word.first == "#", word.count > 1 { throw .mistake(topicWords(topic(fromChannel: word))) }
        // If the first line has no address, the next line's first word is not one.
        guard !text.gap.contains(where: \.breaksLine), let (user, postbox) = address(word) else { throw text.usage }
        let (subject, letter) = LetterSubject.split(rest)
        guard letter.isEmpty else { return .post(user: user, postbox: postbox, subject: subject, text: letter) }
        guard subject == nil else { throw .usage(LetterSubject.usage) }
        return .write(to: "\(user)/\(postbox)")
    }

    private static func search(_ text: CommandText) throws(Failure) -> SlashCommand {
        if let missing = SearchQuery.missingValue(in: text.text) { throw .mistake(missing) }
        if let mistake = SearchQuery(text.text).mistake { throw .mistake(mistake) }
        return .search(text.text)
    }
}

extension SearchQuery {
    /// Why the query is invalid; nil if it is not. An invalid filter would be searched for as words and find nothing.
    fileprivate var mistake: String? {
        let words = terms.filter { $0.isPhrase && !$0.isExcluded }.map(\.text)
        if let date = words.first(where: { $0.hasPrefix("before:") || $0.hasPrefix("after:") }) {
            return "\(date.prefix(32)) is no date. Write it as before:2026-11-20 or after:2026-11-20T10:00"
        }
        if let topic = words.first(where: { $0.hasPrefix("in:") }) {
            return "\(topic.dropFirst(3).prefix(32)) is no topic. Write it as in:chat.lobby or in:chat.*"
        }
        return isEmpty ? "There is nothing to look for: name a word that has a letter or a digit." : nil
    }
}
