import Relay

/// A configuration file with the default of each setting and its explanation: the only place that explains settings. A
/// test compares it with the settings that the decoder knows.
enum DefaultConfiguration {
    /// The file's text: JSON5, at most 100 columns wide except for long values.
    static var text: String {
        #"""
        // The defaults, which apply without a configuration file. `parley config path` prints where the
        // file goes. A running chat applies changes at once, except for connection settings. Lines with
        // // and a name are examples.
        {
            // How long messages and letters stay on this machine. The oldest go first.
            retention: {
                // A number with s, m, h, d or w; none for no limit.
                age: "none",
                // Of all messages: a number with kB, MB, GB, TB or KiB to TiB; none for no limit.
                size: "1GiB",
                // Limits of topics and patterns. The first entry that matches applies, such as { topic:
                // "alerts.>", age: "7d", size: "10MB" }.
                topics: [],
            },

            // Topics and patterns to join at each start, besides those joined before. If there are none
            // at all, chat.lobby is joined.
            join: [],

            // Topics and patterns that ring no bell, are not counted in the title, and are skipped by the
            // key for the next unread topic.
            mutes: [],

            // Words that mention you, as your name does, regardless of case.
            highlights: [],

            // What rings the terminal's bell while you are not looking: mentions, which includes new
            // letters, or none.
            bell: "mentions",

            // What the terminal shows you while it is out of focus, or does not report its focus and you
            // have not typed for a minute: at most one notification in ten seconds.
            notifications: {
                // Mentions: true or false.
                mentions: true,
                // New letters: true or false.
                letters: true,
                // The end of the session, such as by the administrator or another device: true or false.
                ends: true,
                // How: auto, which is what the terminal is known to support, or else its bell; bell, osc9,
                // osc777 or osc99, whatever the terminal; none. bell: "none" silences the bell here too.
                by: "auto",
                // A shell command that notifies you as well, such as on your desktop. It gets the texts in
                // the variables PARLEY_TITLE and PARLEY_TEXT, and has ten seconds.
                // command: "notify-send \"$PARLEY_TITLE\" \"$PARLEY_TEXT\"",
            },

            // Whether you and the others in a topic see each other typing a line there: true or false.
            typing: true,

            // Seconds without a key or the mouse until you count as away, as if out of focus, for a
            // terminal that does not report its focus. 10 or more; 0 for never.
            idleAfter: 0,

            // How many unread messages a topic out of view may collect before it is no longer followed. It
            // is then marked with + and does not notify you; showing it fetches what you missed. 50 or
            // more; 0 follows every topic.
            followUnread: 0,

            // Whether new letters are followed while the inbox is out of view: true or false. With false,
            // the subscription ends 30 seconds after you leave the inbox; new letters are fetched, counted
            // and announced when you return to it.
            followLetters: true,

            // The screen's colours: auto, which asks the terminal for its background, dark, light,
            // high-contrast, high-contrast-dark, high-contrast-light, or none.
            theme: "auto",

            // The characters that the screen is drawn with: auto, by the locale, unicode or ascii.
            symbols: "auto",

            // Whether links are written with their targets, so that the terminal can open them (OSC 8):
            // auto, by its type, osc8, whatever its type, or off. Links are always underlined and listed
            // by /links.
            links: "auto",

            // The layout of the screen.
            layout: {
                // The sidebar's width in columns, from 8 to 60; 0 hides it until asked for. By default it
                // suits the screen.
                // sidebar: 24,
            },

            // The keys of each action: one, a list, or "none". Ctrl-, Alt- and Shift- precede a key, ^X is
            // Ctrl-x, and "^X s" is a chord: two keys, one after the other. A name without a pane applies
            // to each pane that has the action. A key has one meaning in a pane, and a pane's own keys
            // come first. The actions that edit the text have readline's names.
            keys: {
                \#(keys)
            },

            // Ways to connect, by name: --profile NAME. default is used when none is named. A profile may
            // override retention, join, mutes, highlights, bell, notifications, typing, idleAfter,
            // followUnread, followLetters, theme and symbols.
            profiles: {
                default: {
                    // Addresses, nats:// or tls://. Without any, this machine's private network is used.
                    // servers: ["tls://chat.example.org"],
                    // A user of the private network; elsewhere your name, if the credentials don't contain
                    // it.
                    // user: "alice",
                    // A credentials file for these servers.
                    // creds: "~/work.creds",
                    // A command line that prints an access token (a bearer JWT) on one line, instead of
                    // creds. tokenCommand is the same.
                    // token_command: "pass show chat-token",
                    // http://[user:password@]host:port or socks5://host:port; empty for none, whatever
                    // ALL_PROXY says.
                    // proxy: "",
                    // Whether you may be connected more than once: shared (as often as you like, the
                    // default), take-over or yield.
                    // session: "shared",
                    // This machine's name, which your other devices show. By default, the host name.
                    // device: "desk",
                    // The reconnect policy: parley (the default), relayx (gives up after 120 s, and keeps
                    // waiting messages as not sent), rongcloud or supabase.
                    // reconnect: "parley",
                    // Seconds after which chat, watch and tail give up the first connection. By default
                    // chat and watch keep trying, and tail gives up after 10.
                    // connectTimeout: 10,
                    // Seconds out of focus until the chat suspends the connection; 0 keeps it. The default
                    // is 120.
                    // suspendAfter: 120,
                    // Whether the chat watches the terminal's focus, whether one is attached to tmux or
                    // screen, the machine's sleep, and how long you are idle: true or false. With false,
                    // the terminal is not asked to report its focus, and the connection is kept until ^Z.
                    // By default, true at a terminal and false elsewhere.
                    // handleAppLifecycle: true,
                    // The stream of the topics, with hash, on a network without the service that reports
                    // them.
                    // namespace: "work",
                    // The prefix of the topics' subjects there.
                    // hash: "h",
                    // The prefix of JetStream's subjects on a network whose services report namespace and
                    // hash, which are then used only while no service answers. parley join writes it.
                    // api: "net.API",
                    // A PEM file of authorities to trust.
                    // tlsAuthority: "~/authority.pem",
                    // A PEM file with the client's certificate.
                    // tlsCertificate: "~/me.pem",
                    // A PEM file with its private key.
                    // tlsKey: "~/me.key",
                    // true if the TLS handshake precedes the server's greeting.
                    // tlsFirst: false,
                    // As above, for this profile only.
                    // retention: { age: "30d" },
                    // As above, for this profile only.
                    // join: ["chat.lobby", "alerts.>"],
                    // As above, for this profile only.
                    // mutes: ["alerts.>"],
                    // As above, for this profile only.
                    // highlights: ["deploy"],
                    // As above, for this profile only.
                    // bell: "none",
                    // As above, for this profile only.
                    // notifications: { letters: false },
                    // As above, for this profile only.
                    // typing: false,
                    // As above, for this profile only.
                    // idleAfter: 900,
                    // As above, for this profile only.
                    // followUnread: 500,
                    // As above, for this profile only.
                    // followLetters: false,
                    // As above, for this profile only.
                    // theme: "dark",
                    // As above, for this profile only.
                    // symbols: "ascii",
                },
            },
        }
        """#
    }

    private static var keys: String {
        let lines = KeyMap.standard.tables.flatMap { table in
            table.entries.map { entry in
                let name = JSONText.text(.string("\(table.name).\(entry.name)"))
                let keys = entry.sequences.map { MessageValue.string($0.label) }
                let value = keys.count == 1 ? keys[0] : .array(keys)
                return "\(name): \(JSONText.text(value, spaced: true)), // \(entry.binding.words)"
            }
        }
        return lines.joined(separator: "\n        ")
    }
}
