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
    case openChat(String)
    case log
    case lab(LabRequest)
    case errors
    /// Nothing, or what the person wants to know of.
    case help(String)
    case quit

    enum Failure: Error, Hashable, Sendable {
        case unknown(String)
        case usage(String)
        /// What it says cannot be meant, and why.
        case mistake(String)

        /// Where to look for a command that is none: other clients have it, or one is meant that is spelled alike.
        private static func hint(_ name: String) -> String {
            switch name.lowercased() {
            case "nick": return "Your name comes with your credentials; --as, --creds or a profile is somebody else."
            case "me": return "Write it as a line; there are no actions."
            case "set": return "Settings are in the configuration file; parley config defaults explains them."
            case "alias", "bind", "key": return "Keys are in the configuration file; parley config defaults lists them."
            case "hilight", "highlight":
                return "highlights in the configuration file are words that call you as your name does."
            case "reload": return "A changed configuration file counts at once."
            case "server":
                return "/connect PROFILE chats on another network too; parley --server URL begins on one without a "
                    + "profile."
            case "kick", "ban", "invite": return "In a shell, parley network user does that."
            default:
                let near = CommandNames(SlashCommand.entries.map(\.name)).near(name).map { "/\($0)" }
                return near.isEmpty
                    ? "/help lists them; // sends a line with a slash."
                    : "Did you mean \(near.joined(separator: " or "))?"
            }
        }

        var words: String {
            switch self {
            case .unknown(let name): "There is no command /\(name). \(Self.hint(name))"
            case .usage(let usage): "Write it as \(usage)"
            case .mistake(let words): words
            }
        }
    }

    static func usage(_ name: String) -> Failure { .usage(entry(named: name)?.usage ?? "/\(name)") }

    /// The postbox that everyone begins with: letters go there that name none.
    static let firstPostbox = "personal"

    /// Where a letter goes that is addressed by a word: `USER/POSTBOX`, or `USER` alone; nil for what is no address.
    static func address(_ word: String) -> (user: String, postbox: String)? {
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

    /// Whether a text would be a command with a slash before it and is not rather a sentence: it begins with a
    /// command's very name, or with one of other clients that begins no sentence, and has behind it what that command
    /// takes.
    static func lacksSlash(_ text: String) -> Bool {
        let name = String(text.prefix { !$0.isWhitespace })
        guard let entry = entry(named: name), entry.name == name || entry.unlikeWords.contains(name),
            (try? parse("/\(text)")) != nil
        else { return false }
        let words = text.split { $0.isWhitespace }.count - 1
        return switch entry.argument {
        case .none: words == 0
        case .name, .file: words <= 1
        case .number, .word, .text: true
        }
    }

    /// To whom a letter goes that is addressed by a name alone; nil where the address has a slash.
    static func bareRecipient(of text: String) -> String? {
        let word = text.drop { !$0.isWhitespace }.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        return word.contains("/") ? nil : String(word)
    }

    /// Reads the text of the compose pane; nil for a message. Throws where it begins like a command and is none.
    static func parse(_ text: String) throws(Failure) -> SlashCommand? {
        let begun = text.drop { $0.isWhitespace }
        // Behind blanks only what is certainly meant as a command is none of the text.
        guard begun.first == "/", !begun.hasPrefix("//"), text.first == "/" || isCommand(begun) else { return nil }
        let name = begun.dropFirst().prefix { !$0.isWhitespace }
        guard let entry = entry(named: name) else { throw .unknown(String(name.prefix(32))) }
        let words = try CommandText(begun.dropFirst(), for: entry)
        guard let command = try entry.read(words) else { throw words.usage }
        return command
    }

    /// Whether a text begins as a command does: with a slash and the name of one, also behind blanks.
    static func isCommand(_ text: some StringProtocol) -> Bool { entry(of: text) != nil }

    /// The command with which a text begins.
    static func entry(of text: some StringProtocol) -> Entry? {
        let begun = text.drop { $0.isWhitespace }
        guard begun.first == "/" else { return nil }
        return entry(named: begun.dropFirst().prefix { !$0.isWhitespace })
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
}
