import Relay
import Terminal

enum SlashCommand: Hashable, Sendable {
    case join(String)
    case leave(String?)
    case say(String)
    case post(user: String, postbox: String, subject: String?, text: String)
    case write(to: String)
    /// The unsent line with a number, or all of them.
    case resend(Int?)
    case discard(Int?)
    case unsent
    case history
    case more
    case edit
    case search(String)
    /// The text to find; empty for the next match.
    case find(String)
    /// A search result by its number.
    case open(Int)
    /// The letter or message with a number, or the selected or abridged one.
    case read(Int?)
    /// The message with a number, counted from the newest, or the selected one, and a text to send with it.
    case quote(Int?, String)
    case details(Int?)
    case links
    case link(Int)
    case who
    /// Whose messages to hide; empty to list those hidden.
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
    /// The sent letter with a number, or the list of them.
    case sent(Int?)
    /// The letter with a number, or the marked or selected ones.
    case delete(Int?)
    /// The file for the letter; empty for a default name.
    case save(String)
    /// The joined topic with a number or name; empty for the list of topics.
    case topics(String)
    case next
    case keyValue(KeyValueRequest)
    case keyResults
    case close
    case disconnect
    case reconnect
    case openChat(String)
    case log
    case lab(LabRequest)
    case errors
    /// The subject; empty for all help.
    case help(String)
    case quit

    enum Failure: Error, Hashable, Sendable {
        case unknown(String)
        case usage(String)
        /// Why the command is invalid.
        case mistake(String)

        /// Advice for an unknown command, which may be one of another client or misspelled.
        private static func hint(_ name: String) -> String {
            switch name.lowercased() {
            case "nick": return "Your name comes with your credentials; --as, --creds or a profile is somebody else."
            case "me": return "Write it as a line; there are no actions."
            case "set": return "Settings are in the configuration file; parley config defaults explains them."
            case "alias", "bind", "key": return "Keys are in the configuration file; parley config defaults lists them."
            case "hilight", "highlight":
                return "highlights in the configuration file are words that mention you, as your name does."
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

    /// The postbox that everyone starts with, and the default for letters.
    static let firstPostbox = "personal"

    /// Parses an address: `USER/POSTBOX`, or `USER` alone; nil if invalid.
    static func address(_ word: String) -> (user: String, postbox: String)? {
        let parts = word.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard let user = parts.first, !user.isEmpty, parts.count <= 2 else { return nil }
        guard let postbox = parts.dropFirst().first, !postbox.isEmpty else {
            return isName(user) ? (user, firstPostbox) : nil
        }
        return (user, postbox)
    }

    /// The advice for a user who addresses a topic as in other clients.
    static func topicWords(_ topic: String) -> String {
        "Letters go to people. /topics \(topic.prefix(64)) goes to the topic; a line without / is said there."
    }

    /// A topic typed as a channel, which begins with `#` in other clients.
    static func topic(fromChannel text: String) -> String {
        let bare = text.drop { $0 == "#" }
        return bare.isEmpty ? text : String(bare)
    }

    /// Whether a word can be a user's name, without a postbox.
    static func isName(_ word: String) -> Bool {
        (1...32).contains(word.utf8.count)
            && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-~".contains($0)) }
    }

    /// Whether a text is probably a command without its slash rather than a sentence: it begins with a command's exact
    /// name, or with an alias that never begins a sentence, and its argument fits.
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

    /// The recipient of a letter addressed by a name alone; nil if the address has a slash.
    static func bareRecipient(of text: String) -> String? {
        let word = text.drop { !$0.isWhitespace }.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        return word.contains("/") ? nil : String(word)
    }

    /// Parses the text of the compose pane; nil for a message. Throws if it begins like a command but is invalid.
    static func parse(_ text: String) throws(Failure) -> SlashCommand? {
        let begun = text.drop { $0.isWhitespace }
        // After leading whitespace, only a known command is taken as one.
        guard begun.first == "/", !begun.hasPrefix("//"), text.first == "/" || isCommand(begun) else { return nil }
        let name = begun.dropFirst().prefix { !$0.isWhitespace }
        guard let entry = entry(named: name) else { throw .unknown(String(name.prefix(32))) }
        let words = try CommandText(begun.dropFirst(), for: entry)
        guard let command = try entry.read(words) else { throw words.usage }
        return command
    }

    /// Whether a text begins with a slash and a command's name, possibly after whitespace.
    static func isCommand(_ text: some StringProtocol) -> Bool { entry(of: text) != nil }

    static func entry(of text: some StringProtocol) -> Entry? {
        let begun = text.drop { $0.isWhitespace }
        guard begun.first == "/" else { return nil }
        return entry(named: begun.dropFirst().prefix { !$0.isWhitespace })
    }

    /// The message in a text that is not a command: a double slash at its beginning, or after a quotation, means one.
    static func message(in text: String) -> String {
        var message = text
        if text.hasPrefix("//") {
            message.removeFirst()
        } else if let line = lineBelowQuotation(in: text), line.hasPrefix("//") {
            message.remove(at: line.startIndex)
        }
        return message
    }

    /// The first line after the quotation that a text begins with; nil if there is none.
    static func lineBelowQuotation(in text: String) -> Substring? {
        guard text.first == ">" else { return nil }
        return text.split(whereSeparator: \.breaksLine).first { $0.first != ">" }
    }
}
