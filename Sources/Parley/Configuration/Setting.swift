import Relay

/// One setting of the configuration file: what `parley config defaults` prints of it. These tables are the only places
/// that explain settings; a test holds them to what the file's decoder knows.
struct Setting: Hashable, Sendable {
    /// What is written behind the name.
    enum Value: Hashable, Sendable {
        /// What counts when nothing is said, as JSON5.
        case standard(String)
        /// Something that could be written, as JSON5; nothing counts when nothing is said, or what another setting
        /// says.
        case example(String)
        /// Settings of its own.
        case group([Setting])
        /// The keys of the tables.
        case keys
        /// Profiles by their names.
        case profiles
    }

    let name: String
    /// What it is for, in sentences.
    let words: String
    let value: Value

    init(_ name: String, _ words: String, _ value: Value) {
        self.name = name
        self.words = words
        self.value = value
    }

    /// What stands beside the profiles.
    static let ofFile: [Setting] = [
        Setting(
            "retention", "How long messages and letters stay on this machine. The oldest go first.",
            .group([
                Setting("age", "A number with s, m, h, d or w; none is no bound.", .standard("\"none\"")),
                Setting(
                    "size", "Of all messages: a number with kB, MB, GB, TB or KiB to TiB; none is no bound.",
                    .standard("\"1GiB\"")),
                Setting(
                    "topics",
                    "Bounds of topics and patterns. The first entry that matches counts, such as "
                        + "{ topic: \"alerts.>\", age: \"7d\", size: \"10MB\" }.",
                    .standard("[]")),
            ])),
        Setting(
            "join",
            "Topics and patterns to join at each start, besides those that were joined before. chat.lobby is joined where "
                + "there is none at all.",
            .standard("[]")),
        Setting(
            "mutes",
            "Topics and patterns that ring no bell, are not counted in the title, and are left out by the key for the next "
                + "unread topic.",
            .standard("[]")),
        Setting(
            "highlights",
            "Words that call you as your name does, whatever their case.",
            .standard("[]")),
        Setting(
            "bell",
            "What rings the terminal's bell while you are not looking: mentions, which are lines that call you and new "
                + "letters, or none.",
            .standard("\"mentions\"")),
        Setting(
            "notifications",
            "What the terminal shows you while it is out of focus, or tells nothing of its focus and you have typed nothing "
                + "for a minute: one notification in ten seconds at most.",
            .group([
                Setting("mentions", "Lines that call you: true or false.", .standard("true")),
                Setting("letters", "New letters: true or false.", .standard("true")),
                Setting(
                    "ends", "The session's end, such as by the administrator or another device: true or false.",
                    .standard("true")),
                Setting(
                    "by",
                    "By what: auto, what the terminal is known to take, else its bell; bell, osc9, osc777 or osc99, "
                        + "whatever the terminal; none. bell: \"none\" silences the bell here too.",
                    .standard("\"auto\"")),
                Setting(
                    "command",
                    "A line for the shell that notifies you as well, such as on your desktop. It finds what happened in the "
                        + "variables PARLEY_TITLE and PARLEY_TEXT, and has ten seconds.",
                    .example("\"notify-send \\\"$PARLEY_TITLE\\\" \\\"$PARLEY_TEXT\\\"\"")),
            ])),
        Setting(
            "typing",
            "Whether the others in a topic see that you type a line there, and you that they do: true or false.",
            .standard("true")),
        Setting(
            "idleAfter",
            "Seconds without a key or the mouse until you count as away, as out of focus: for a terminal that does not report "
                + "its focus. 10 or more; 0 for never.",
            .standard("0")),
        Setting(
            "followUnread",
            "How many unread messages a topic out of view may collect before it is no longer followed. It rests then, "
                + "marked with +, and does not call you either, until it is in view, which brings all that came. 50 or "
                + "more; 0 follows every topic.",
            .standard("0")),
        Setting(
            "followLetters",
            "Whether new letters are followed while the inbox is out of view: true or false. With false the server knows of "
                + "no subscription 30 seconds after you left the inbox; a letter is counted, and calls you, when the inbox "
                + "is in view again, which brings all that came.",
            .standard("true")),
        Setting(
            "theme",
            "The screen's colours: auto, which asks the terminal for its background, dark, light, high-contrast, "
                + "high-contrast-dark, high-contrast-light, or none.",
            .standard("\"auto\"")),
        Setting(
            "symbols", "The characters that the screen is drawn with: auto, by the locale, unicode or ascii.",
            .standard("\"auto\"")),
        Setting(
            "links",
            "Whether the terminal is told where links lead, so that it can open them (OSC 8): auto, by its type, osc8, "
                + "whatever its type, or off. They are underlined and listed by /links in any case.",
            .standard("\"auto\"")),
        Setting(
            "layout", "The measures of the screen.",
            .group([
                Setting(
                    "sidebar",
                    "Columns of the sidebar, from 8 to 60; 0 shows it only when it is asked for. Without it, what suits "
                        + "the screen.",
                    .example("24"))
            ])),
        Setting(
            "keys",
            "The keys of each action: one, a list, or \"none\". Ctrl-, Alt- and Shift- stand before a key, ^X is Ctrl-x, and "
                + "\"^X s\" is a chord: two keys, one after the other. A name without a pane counts in each that has the "
                + "action. A key stands for one thing in a pane, and a pane's own keys come first. What edits the text has "
                + "readline's names.",
            .keys),
        Setting(
            "profiles",
            "Ways to connect, by name: --profile NAME. The one called default counts when none is named. retention, join, "
                + "mutes, highlights, bell, notifications, typing, idleAfter, followUnread, followLetters, theme and symbols may "
                + "stand in a profile too, and count there instead.",
            .profiles),
    ]

    /// What a profile says.
    static let ofProfile: [Setting] = [
        Setting(
            "servers", "Addresses, nats:// or tls://. Without any it is the private network of this machine.",
            .example("[\"tls://chat.example.org\"]")),
        Setting(
            "user", "A user of the private network; elsewhere your name where the credentials don't tell it.",
            .example("\"alice\"")),
        Setting("creds", "A credentials file for these servers.", .example("\"~/work.creds\"")),
        Setting(
            "token_command",
            "A command line that prints an access token (a bearer JWT) on one line, instead of creds. tokenCommand is the "
                + "same.",
            .example("\"pass show chat-token\"")),
        Setting(
            "proxy",
            "http://[user:password@]host:port or socks5://host:port; empty for none, whatever ALL_PROXY says.",
            .example("\"\"")),
        Setting(
            "session",
            "Whether you may be connected more than once: shared (as often as you like, which counts when nothing is "
                + "said), take-over or yield.",
            .example("\"shared\"")),
        Setting(
            "device", "This machine's name, which your other devices show. Without it, the host name.",
            .example("\"desk\"")),
        Setting(
            "reconnect",
            "When another attempt to connect is made: parley (which counts when nothing is said), relayx (gives up after "
                + "120 s, and keeps what waits as not sent), rongcloud or supabase.",
            .example("\"parley\"")),
        Setting(
            "connectTimeout",
            "Seconds after which chat, watch and tail give up the first connection. Without it chat and watch keep trying, "
                + "and tail gives up after 10.",
            .example("10")),
        Setting(
            "suspendAfter",
            "Seconds out of focus until the chat suspends the connection; 0 keeps it. 120 when nothing is said.",
            .example("120")),
        Setting(
            "handleAppLifecycle",
            "Whether the chat watches the terminal's focus, whether one is attached to tmux or screen, the machine's sleep, "
                + "and how long you do nothing: true or false. false asks the terminal for no reports of its focus, and the "
                + "connection is kept until ^Z. When nothing is said, they are watched at a terminal, and not elsewhere.",
            .example("true")),
        Setting(
            "namespace", "The stream of the topics, with hash, on a network without the service that knows them.",
            .example("\"work\"")),
        Setting("hash", "What the topics' subjects begin with there.", .example("\"h\"")),
        Setting(
            "api",
            "What JetStream's subjects begin with on a network whose services tell namespace and hash: these two then count "
                + "only while no service answers. parley join writes it.",
            .example("\"net.API\"")),
        Setting("tlsAuthority", "A PEM file of authorities to trust.", .example("\"~/authority.pem\"")),
        Setting("tlsCertificate", "A PEM file with the client's certificate.", .example("\"~/me.pem\"")),
        Setting("tlsKey", "The PEM file of its private key.", .example("\"~/me.key\"")),
        Setting("tlsFirst", "true where TLS comes before the server's first word.", .example("false")),
        Setting("retention", "As beside the profiles.", .example("{ age: \"30d\" }")),
        Setting("join", "As beside the profiles.", .example("[\"chat.lobby\", \"alerts.>\"]")),
        Setting("mutes", "As beside the profiles.", .example("[\"alerts.>\"]")),
        Setting("highlights", "As beside the profiles.", .example("[\"deploy\"]")),
        Setting("bell", "As beside the profiles.", .example("\"none\"")),
        Setting("notifications", "As beside the profiles.", .example("{ letters: false }")),
        Setting("typing", "As beside the profiles.", .example("false")),
        Setting("idleAfter", "As beside the profiles.", .example("900")),
        Setting("followUnread", "As beside the profiles.", .example("500")),
        Setting("followLetters", "As beside the profiles.", .example("false")),
        Setting("theme", "As beside the profiles.", .example("\"dark\"")),
        Setting("symbols", "As beside the profiles.", .example("\"ascii\"")),
    ]
}

/// A configuration file that says what counts without one, each setting with its explanation.
enum DefaultConfiguration {
    /// The file's text: JSON5, at most 100 columns wide but for long values.
    static var text: String {
        var lines = wrapped(
            "What counts without a configuration file. `parley config path` tells where the file goes. A running chat takes "
                + "a change at once, but for what concerns the connection. Lines with // and a name are examples.",
            columns: 97
        ).map { "// " + $0 }
        lines.append("{")
        for setting in Setting.ofFile {
            if lines.last != "{" { lines.append("") }
            lines += self.lines(setting, depth: 1)
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }

    private static func lines(_ setting: Setting, depth: Int) -> [String] {
        let margin = String(repeating: "    ", count: depth)
        let words = wrapped(setting.words, columns: 97 - margin.count).map { margin + "// " + $0 }
        switch setting.value {
        case .standard(let value): return words + ["\(margin)\(setting.name): \(value),"]
        case .example(let value): return words + ["\(margin)// \(setting.name): \(value),"]
        case .group(let settings):
            return words + block(setting.name, settings.flatMap { lines($0, depth: depth + 1) }, margin)
        case .keys: return words + block(setting.name, keys(margin + "    "), margin)
        case .profiles:
            let profile = Setting.ofProfile.flatMap { lines($0, depth: depth + 2) }
            return words + block(setting.name, block("default", profile, margin + "    "), margin)
        }
    }

    private static func keys(_ margin: String) -> [String] {
        KeyMap.standard.tables.flatMap { table in
            table.entries.map { entry in
                let name = JSONText.text(.string("\(table.name).\(entry.name)"))
                let keys = entry.sequences.map { MessageValue.string($0.label) }
                let value = keys.count == 1 ? keys[0] : .array(keys)
                return "\(margin)\(name): \(JSONText.text(value, spaced: true)), // \(entry.binding.words)"
            }
        }
    }

    private static func block(_ name: String, _ lines: [String], _ margin: String) -> [String] {
        ["\(margin)\(name): {"] + lines + ["\(margin)},"]
    }

    private static func wrapped(_ words: String, columns: Int) -> [String] {
        var lines: [String] = []
        for word in words.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= columns {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
