import Relay
import Terminal

/// A command that a person writes into the compose pane.
enum SlashCommand: Hashable, Sendable {
    case join(String)
    case leave(String?)
    case say(String)
    case post(user: String, postbox: String, subject: String?, text: String)
    /// Begins a letter to somebody, by the address that it goes to.
    case write(to: String)
    /// The unsent line with a number, or all of them.
    case resend(Int?)
    case discard(Int?)
    case unsent
    case history
    /// The next part of what is listed.
    case more
    case edit
    case search(String)
    /// What to look for; empty to go on.
    case find(String)
    /// What was found, by its number.
    case open(Int)
    /// The letter or message with a number, or what is selected or cut short.
    case read(Int?)
    /// The message with a number, counted from the newest, or the selected one; a text to send with it.
    case quote(Int?, String)
    case details(Int?)
    case links
    case link(Int)
    case who
    /// Whose messages to hide; empty to ask who is hidden.
    case ignore(String)
    case unignore(String)
    /// A topic or pattern; nil for the open one.
    case mute(String?)
    case unmute(String?)
    case notify(NotificationAct)
    case suspendAfter(SuspensionChange)
    case away(String)
    case back
    case inbox
    case postbox(PostboxAct)
    /// The sent letter with a number in the list of these, or the list.
    case sent(Int?)
    /// The letter with a number, or those that are marked or selected.
    case delete(Int?)
    /// The file for the letter; empty for a name of its own.
    case save(String)
    /// All topics, or the joined one with a number or name.
    case topics(String)
    case next
    case keyValue(KeyValueRequest)
    /// What requests about keys came to.
    case keyResults
    case close
    case disconnect
    case reconnect
    case log
    case lab(LabRequest)
    case errors
    /// Nothing, or what the person wants to know of.
    case help(String)
    case quit

    /// How a command is written and what it does.
    struct Entry: Hashable, Sendable {
        let name: String
        let arguments: String
        let words: String

        /// As help shows it.
        var usage: String { arguments.isEmpty ? "/\(name)" : "/\(name) \(arguments)" }
    }

    /// All commands, in the order of the help.
    static let entries: [Entry] = [
        Entry(name: "join", arguments: "TOPIC", words: "join a topic, or a pattern with * or >"),
        Entry(name: "leave", arguments: "[TOPIC]", words: "leave this topic, or that one"),
        Entry(name: "say", arguments: "TEXT", words: "send TEXT as it is; a line that begins with // does the same"),
        Entry(
            name: "post", arguments: "USER[/POSTBOX] [TEXT]",
            words:
                "put a letter into somebody's postbox, personal where none is named; Subject: WORDS | before TEXT is "
                + "its subject; without TEXT, begin one"),
        Entry(name: "resend", arguments: "[NUMBER]", words: "send this topic's unsent lines again, or that one"),
        Entry(name: "discard", arguments: "[NUMBER]", words: "drop this topic's unsent lines, or that one"),
        Entry(name: "unsent", arguments: "", words: "list this topic's unsent lines, with their numbers"),
        Entry(name: "history", arguments: "", words: "load older messages"),
        Entry(name: "more", arguments: "", words: "go on with what is listed: letters, or what was found"),
        Entry(name: "edit", arguments: "", words: "write a text in your editor"),
        Entry(
            name: "search", arguments: "WORDS",
            words: "look through what is kept here: words, \"a phrase\", from: in: after: before:"),
        Entry(name: "open", arguments: "NUMBER", words: "go to that one of what was found"),
        Entry(
            name: "find", arguments: "[LETTERS]",
            words: "go to what has them here, in what is read whole and the open letter too; alone, or by n and N, it "
                + "goes on"),
        Entry(
            name: "topics", arguments: "[NUMBER]", words: "list your topics, with what is unread; or go to that one"),
        Entry(name: "next", arguments: "", words: "go to what calls you, or to the next topic with something unread"),
        Entry(
            name: "read", arguments: "[NUMBER]",
            words: "read a message whole that is cut short, or the letter; in a list of letters, that one; in a topic, "
                + "that message, counted from the newest"),
        Entry(
            name: "quote", arguments: "[NUMBER] [TEXT]",
            words: "quote the newest message, or that one, counted from the newest, to answer it; TEXT stands below it"),
        Entry(name: "details", arguments: "[NUMBER]", words: "what is known of it: id, sequence, times"),
        Entry(name: "links", arguments: "", words: "list the links in view, newest first, or of what is read"),
        Entry(name: "link", arguments: "NUMBER", words: "copy that link of the list; without a screen, say it"),
        Entry(name: "who", arguments: "", words: "list who is in this topic, with away texts"),
        Entry(name: "ignore", arguments: "[NAME]", words: "hide what somebody writes in topics; alone: list them"),
        Entry(name: "unignore", arguments: "NAME", words: "show it again"),
        Entry(
            name: "mute", arguments: "[TOPIC]", words: "no bell and no count in the title for this topic, or that one"),
        Entry(name: "unmute", arguments: "[TOPIC]", words: "let it ring and count again"),
        Entry(
            name: "notify", arguments: "[on|off|test]",
            words: "show what notifies you while you look elsewhere; keep the connection then, or not; try one"),
        Entry(
            name: "suspend-after", arguments: "[TIME]",
            words: "how long the connection is kept while you look elsewhere: 5m, 90s, or never"),
        Entry(name: "away", arguments: "[TEXT]", words: "tell others that you are away, and why"),
        Entry(name: "back", arguments: "", words: "tell others that you are here again"),
        Entry(name: "inbox", arguments: "", words: "open the postbox"),
        Entry(
            name: "postbox", arguments: "[create|rename|enable|disable|delete NAME]",
            words: "list your postboxes; make one: create NAME, or create NAME for PERSONA; give it a title: "
                + "rename NAME TITLE; let it take letters or not; delete it with its letters"),
        Entry(name: "sent", arguments: "[NUMBER]", words: "list the letters you sent from here, or read that one"),
        Entry(
            name: "delete", arguments: "[NUMBER]",
            words: "delete the marked letters, or the selected one; or that one of the list"),
        Entry(name: "save", arguments: "[FILE]", words: "write the letter into a file that only you can read"),
        Entry(
            name: "kv", arguments: "[get|put|delete|keys|watch …]",
            words: "the keys and values that all users of the network share; alone: the latest answers"),
        Entry(
            name: "close", arguments: "[TOPIC]",
            words: "close what is in view: leave the topic, or go back; leave that topic"),
        Entry(name: "disconnect", arguments: "", words: "disconnect and stay offline until /reconnect"),
        Entry(name: "reconnect", arguments: "", words: "connect now"),
        Entry(name: "log", arguments: "", words: "show what happened to the connection"),
        Entry(
            name: "lab", arguments: "[save FILE]",
            words: "break this chat's connection: a rehearsal; keep what was done as a scenario's file"),
        Entry(name: "errors", arguments: "", words: "list recent errors, newest first"),
        Entry(name: "help", arguments: "[WORD]", words: "show the keys and commands, or those that have a word"),
        Entry(name: "quit", arguments: "", words: "leave Parley"),
    ]

    /// Why a line is not a command.
    enum Failure: Error, Hashable, Sendable {
        case unknown(String)
        /// A letter that was to go to a topic.
        case topic(String)
        /// A name that stands for several commands, and which these are.
        case meant(String, String)
        case usage(String)
        /// What it says cannot be meant, and why.
        case mistake(String)

        private static func unknown(_ name: String) -> String {
            if let words = SlashCommand.otherWays[name.lowercased()] {
                return "There is no command /\(name). \(words)"
            }
            let near = SlashCommand.near(name).map { "/\($0)" }.joined(separator: " or ")
            let rest = near.isEmpty ? "/help lists them; // sends a line with a slash." : "Did you mean \(near)?"
            return "There is no command /\(name). \(rest)"
        }

        /// What to tell the person.
        var words: String {
            switch self {
            case .unknown(let name): Self.unknown(name)
            case .topic(let name): SlashCommand.topicWords(name)
            case .meant(let name, let commands): "/\(name) alone can be several commands: \(commands)."
            case .usage(let usage): "Write it as \(usage)"
            case .mistake(let words): words
            }
        }
    }

    /// What other clients call these commands. They are these commands here too.
    static let otherNames = [
        "query": "post", "q": "post", "msg": "post", "whisper": "post", "dm": "post", "j": "join", "go": "join",
        "part": "leave", "wc": "close", "names": "who", "whois": "who", "list": "topics", "buffer": "topics",
        "window": "topics", "win": "topics", "exit": "quit", "bye": "quit", "connect": "reconnect", "reply": "quote",
        "answer": "quote", "lastlog": "search", "grep": "search", "scrollback": "history",
    ]

    /// The command that a name stands for: itself, or what other clients call it.
    static func command(named name: some StringProtocol) -> String {
        let small = name.lowercased()
        return otherNames[small] ?? small
    }

    /// Where to look for what other clients have commands for and this one has none.
    fileprivate static let otherWays = [
        "nick": "Your name comes with your credentials; --as, --creds or a profile is somebody else.",
        "me": "Write it as a line; there are no actions.",
        "set": "Settings are in the configuration file; parley config defaults explains them.",
        "alias": "Keys are in the configuration file; parley config defaults lists them.",
        "bind": "Keys are in the configuration file; parley config defaults lists them.",
        "key": "Keys are in the configuration file; parley config defaults lists them.",
        "hilight": "highlights in the configuration file are words that call you as your name does.",
        "highlight": "highlights in the configuration file are words that call you as your name does.",
        "reload": "A changed configuration file counts at once.",
        "server": "Another server is another start: parley --server URL, or --profile NAME.",
        "kick": "In a shell, parley network user does that.",
        "ban": "In a shell, parley network user does that.",
        "invite": "In a shell, parley network user does that.",
    ]

    /// The postbox that everyone begins with: letters go there that name none.
    static let firstPostbox = "personal"

    /// Where a letter goes that is addressed by a word: `USER/POSTBOX`, or `USER` alone; nil for what is no address.
    private static func address(_ word: String) -> (user: String, postbox: String)? {
        let parts = word.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard let user = parts.first, !user.isEmpty, parts.count <= 2 else { return nil }
        guard let postbox = parts.dropFirst().first, !postbox.isEmpty else {
            return isName(user) ? (user, firstPostbox) : nil
        }
        return (user, postbox)
    }

    /// How one writes in a topic, for whoever does it as in other clients.
    static func topicWords(_ topic: String) -> String {
        "Letters go to people. /topics \(topic.prefix(64)) goes to the topic; a line without / is said there."
    }

    /// A topic as somebody types it who knows channels: these begin with `#` in other clients.
    static func topic(fromChannel text: String) -> String {
        let bare = text.drop { $0 == "#" }
        return bare.isEmpty ? text : String(bare)
    }

    /// A word that can be somebody's name, with nothing of an address in it.
    static func isName(_ word: String) -> Bool {
        (1...32).contains(word.utf8.count)
            && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-~".contains($0)) }
    }

    /// The commands that a word may stand for that is none.
    fileprivate static func near(_ name: String) -> [String] {
        CommandNames(entries.map(\.name)).near(name)
    }

    /// Names of other clients that begin no sentence: a letter that lacks its slash would be read by a whole topic.
    private static let unlikeWords: Set = ["j", "q", "query", "msg", "whisper", "dm"]

    /// Whether a text would be a command with a slash before it and is not rather a sentence: it begins with a
    /// command's very name, and has behind it what that command takes.
    static func lacksSlash(_ text: String) -> Bool {
        let name = String(text.prefix { !$0.isWhitespace })
        let isName = entries.contains { $0.name == name } || unlikeWords.contains(name)
        guard isName, let command = try? parse("/\(text)") else { return false }
        let words = text.split { $0.isWhitespace }.count - 1
        if entries.contains(where: { $0.name == name && $0.arguments.isEmpty }) { return words == 0 }
        return switch command {
        case .join, .leave, .mute, .unmute, .ignore, .unignore, .topics, .save: words <= 1
        default: true
        }
    }

    /// To whom a letter goes that is addressed by a name alone; nil where the address has a slash.
    static func bareRecipient(of text: String) -> String? {
        let word = text.drop { !$0.isWhitespace }.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        return word.contains("/") ? nil : String(word)
    }

    /// Reads the text of the compose pane.
    ///
    /// - Returns: nil when the text is not a command but a message.
    /// - Throws: `Failure` when it begins like a command and is none.
    static func parse(_ text: String) throws(Failure) -> SlashCommand? {
        let begun = text.drop { $0.isWhitespace }
        // Behind blanks only what is certainly meant as a command is none of the text.
        guard begun.first == "/", !begun.hasPrefix("//"), text.first == "/" || isCommand(begun) else { return nil }
        let body = begun.dropFirst()
        let name = body.prefix { !$0.isWhitespace }
        let rest = body.dropFirst(name.count).drop { $0.isWhitespace }
        let argument = String(rest)
        let word = String(rest.prefix { !$0.isWhitespace })
        // All of it: a topic has no spaces, and a text with some is refused rather than half understood.
        let trimmed = String(argument.reversed().drop { $0.isWhitespace }.reversed())
        let command = command(named: name)
        if !trimmed.isEmpty, entries.contains(where: { $0.name == command && $0.arguments.isEmpty }) {
            throw usage(command)
        }
        let topic = try textCommands.contains(command) ? trimmed : unquoted(trimmed)
        // With blanks only between quotation marks.
        if nameCommands.contains(command), topic == trimmed, topic.contains(where: \.isWhitespace) {
            throw usage(command)
        }
        switch command {
        // In other clients it writes to somebody or leaves the program, so that alone it does neither.
        case "post" where name.lowercased() == "q" && argument.isEmpty: throw .meant("q", "/quit or /query NAME")
        case "join":
            guard !topic.isEmpty else { throw usage("join") }
            return .join(topic)
        case "leave":
            return .leave(topic.isEmpty ? nil : topic)
        case "say":
            guard !argument.isEmpty else { throw usage("say") }
            return .say(argument)
        case "post":
            let (subject, letter) = LetterSubject.split(String(rest.dropFirst(word.count).drop { $0.isWhitespace }))
            // An address that was left out is not the first word of what stands below.
            let gap = body.dropFirst(name.count).prefix { $0.isWhitespace }
            if word.first == "#", word.count > 1 { throw .topic(Self.topic(fromChannel: word)) }
            guard !gap.contains(where: \.breaksLine), let (user, postbox) = address(word) else { throw usage("post") }
            guard !letter.isEmpty else {
                guard subject == nil else { throw .usage(LetterSubject.usage) }
                return .write(to: "\(user)/\(postbox)")
            }
            return .post(user: user, postbox: postbox, subject: subject, text: letter)
        case "resend": return .resend(try number(topic, of: "resend"))
        case "discard": return .discard(try number(topic, of: "discard"))
        case "unsent": return .unsent
        case "history": return .history
        case "more": return .more
        case "edit": return .edit
        case "search":
            guard !argument.isEmpty else { throw usage("search") }
            if let missing = SearchQuery.missingValue(in: argument) { throw .mistake(missing) }
            if let mistake = SearchQuery(argument).mistake { throw .mistake(mistake) }
            return .search(argument)
        case "find": return .find(argument)
        case "open":
            guard let number = try number(topic, of: "open") else { throw usage("open") }
            return .open(number)
        case "read": return .read(try number(topic, of: "read"))
        case "quote":
            guard let number = Int(word), number > 0 else { return .quote(nil, argument) }
            return .quote(number, String(rest.dropFirst(word.count).drop { $0.isWhitespace }))
        case "details": return .details(try number(topic, of: "details"))
        case "topics": return .topics(topic)
        case "next": return .next
        case "links": return .links
        case "link":
            guard let number = Int(topic), number > 0 else { throw usage("link") }
            return .link(number)
        case "who": return .who
        case "ignore": return .ignore(topic)
        case "unignore":
            guard !topic.isEmpty else { throw usage("unignore") }
            return .unignore(topic)
        case "mute": return .mute(topic.isEmpty ? nil : topic)
        case "unmute": return .unmute(topic.isEmpty ? nil : topic)
        case "notify":
            guard let act = NotificationAct(topic) else { throw usage("notify") }
            return .notify(act)
        case "suspend-after":
            guard let change = SuspensionChange(topic) else { throw usage("suspend-after") }
            return .suspendAfter(change)
        case "away": return .away(topic)
        case "back": return .back
        case "inbox": return .inbox
        case "postbox":
            return .postbox(try PostboxAct(argument))
        case "sent": return .sent(try number(topic, of: "sent"))
        case "delete": return .delete(try number(topic, of: "delete"))
        case "save": return .save(topic)
        case "kv":
            guard !trimmed.isEmpty else { return .keyResults }
            guard let request = KeyValueRequest(argument) else { throw .usage(KeyValueRequest.usage) }
            return .keyValue(request)
        case "close": return topic.isEmpty ? .close : .leave(topic)
        case "disconnect": return .disconnect
        case "reconnect": return .reconnect
        case "log": return .log
        case "lab":
            guard let request = LabRequest(topic) else { throw usage("lab") }
            return .lab(request)
        case "errors": return .errors
        case "help": return .help(topic)
        case "quit": return .quit
        default: throw .unknown(String(name.prefix(32)))
        }
    }

    /// The commands behind which a text stands, with any quotation marks of its own.
    private static let textCommands: Set = ["say", "post", "search", "find", "quote", "away", "postbox", "kv"]

    /// The commands behind which one name stands.
    private static let nameCommands: Set = [
        "join", "leave", "topics", "ignore", "unignore", "mute", "unmute", "close",
    ]

    /// Whether a text begins as a command does: with a slash and the name of one, also behind blanks.
    static func isCommand(_ text: some StringProtocol) -> Bool {
        let begun = text.drop { $0.isWhitespace }
        guard begun.first == "/" else { return false }
        let name = command(named: begun.dropFirst().prefix { !$0.isWhitespace })
        return entries.contains { $0.name == name }
    }

    /// The message in a text that is not a command: a doubled slash means one, below a quotation too.
    static func message(in text: String) -> String {
        var message = text
        if text.hasPrefix("//") {
            message.removeFirst()
        } else if let line = lineBelowQuotation(in: text), line.hasPrefix("//") {
            message.remove(at: line.startIndex)
        }
        return message
    }

    /// The first line below the quotation with which a text begins; nil where it begins with none.
    static func lineBelowQuotation(in text: String) -> Substring? {
        guard text.first == ">" else { return nil }
        return text.split(whereSeparator: \.breaksLine).first { $0.first != ">" }
    }

    /// A word or words without the quotation marks around them.
    static func unquoted(_ text: String) throws(Failure) -> String {
        guard text.first == "\"" else { return text }
        let words = try words(in: text)
        return words.count == 1 ? words[0] : text
    }

    /// The words of a text. Those between quotation marks are one.
    static func words(in text: String) throws(Failure) -> [String] {
        var words: [String] = []
        var rest = text.drop { $0.isWhitespace }
        while let first = rest.first {
            let word: Substring
            if first == "\"" {
                let inside = rest.dropFirst()
                guard let end = inside.firstIndex(of: "\"") else { throw .mistake("A quotation mark is not closed.") }
                word = inside[..<end]
                rest = inside[end...].dropFirst()
            } else {
                word = rest.prefix { !$0.isWhitespace }
                rest = rest[word.endIndex...]
            }
            words.append(String(word))
            rest = rest.drop { $0.isWhitespace }
        }
        return words
    }

    /// A number that may be left out.
    private static func number(_ text: String, of command: String) throws(Failure) -> Int? {
        guard !text.isEmpty else { return nil }
        guard let number = Int(text), number > 0 else { throw usage(command) }
        return number
    }

    static func usage(_ name: String) -> Failure {
        .usage(entries.first { $0.name == name }?.usage ?? "/\(name)")
    }
}

extension SearchQuery {
    /// Why it cannot be meant as it is; nil where it can. A filter that is none counts as words, which nobody finds.
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
