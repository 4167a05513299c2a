import Relay

/// A configuration file that says what counts without one, each setting with its explanation: the only place that
/// explains settings. A test holds it to the settings that the file's decoder knows.
enum DefaultConfiguration {
    /// The file's text: JSON5, at most 100 columns wide but for long values. A line with // and a name is an example.
    static var text: String {
        #"""
        // What counts without a configuration file. `parley config path` tells where the file goes. A
        // running chat takes a change at once, but for what concerns the connection. Lines with // and a
        // name are examples.
        {
            // How long messages and letters stay on this machine. The oldest go first.
            retention: {
                // A number with s, m, h, d or w; none is no bound.
                age: "none",
                // Of all messages: a number with kB, MB, GB, TB or KiB to TiB; none is no bound.
                size: "1GiB",
                // Bounds of topics and patterns. The first entry that matches counts, such as { topic:
                // "alerts.>", age: "7d", size: "10MB" }.
                topics: [],
            },

            // Topics and patterns to join at each start, besides those that were joined before. chat.lobby
            // is joined where there is none at all.
            join: [],

            // Topics and patterns that ring no bell, are not counted in the title, and are left out by the
            // key for the next unread topic.
            mutes: [],

            // Words that call you as your name does, whatever their case.
            highlights: [],

            // What rings the terminal's bell while you are not looking: mentions, which are lines that call
            // you and new letters, or none.
            bell: "mentions",

            // What the terminal shows you while it is out of focus, or tells nothing of its focus and you
            // have typed nothing for a minute: one notification in ten seconds at most.
            notifications: {
                // Lines that call you: true or false.
                mentions: true,
                // New letters: true or false.
                letters: true,
                // The session's end, such as by the administrator or another device: true or false.
                ends: true,
                // By what: auto, what the terminal is known to take, else its bell; bell, osc9, osc777 or
                // osc99, whatever the terminal; none. bell: "none" silences the bell here too.
                by: "auto",
                // A line for the shell that notifies you as well, such as on your desktop. It finds what
                // happened in the variables PARLEY_TITLE and PARLEY_TEXT, and has ten seconds.
                // command: "notify-send \"$PARLEY_TITLE\" \"$PARLEY_TEXT\"",
            },

            // Whether the others in a topic see that you type a line there, and you that they do: true or
            // false.
            typing: true,

            // Seconds without a key or the mouse until you count as away, as out of focus: for a terminal
            // that does not report its focus. 10 or more; 0 for never.
            idleAfter: 0,

            // How many unread messages a topic out of view may collect before it is no longer followed. It
            // rests then, marked with +, and does not call you either, until it is in view, which brings
            // all that came. 50 or more; 0 follows every topic.
            followUnread: 0,

            // Whether new letters are followed while the inbox is out of view: true or false. With false
            // the server knows of no subscription 30 seconds after you left the inbox; a letter is counted,
            // and calls you, when the inbox is in view again, which brings all that came.
            followLetters: true,

            // The screen's colours: auto, which asks the terminal for its background, dark, light,
            // high-contrast, high-contrast-dark, high-contrast-light, or none.
            theme: "auto",

            // The characters that the screen is drawn with: auto, by the locale, unicode or ascii.
            symbols: "auto",

            // Whether the terminal is told where links lead, so that it can open them (OSC 8): auto, by its
            // type, osc8, whatever its type, or off. They are underlined and listed by /links in any case.
            links: "auto",

            // The measures of the screen.
            layout: {
                // Columns of the sidebar, from 8 to 60; 0 shows it only when it is asked for. Without it,
                // what suits the screen.
                // sidebar: 24,
            },

            // The keys of each action: one, a list, or "none". Ctrl-, Alt- and Shift- stand before a key,
            // ^X is Ctrl-x, and "^X s" is a chord: two keys, one after the other. A name without a pane
            // counts in each that has the action. A key stands for one thing in a pane, and a pane's own
            // keys come first. What edits the text has readline's names.
            keys: {
                \#(keys)
            },

            // Ways to connect, by name: --profile NAME. The one called default counts when none is named.
            // retention, join, mutes, highlights, bell, notifications, typing, idleAfter, followUnread,
            // followLetters, theme and symbols may stand in a profile too, and count there instead.
            profiles: {
                default: {
                    // Addresses, nats:// or tls://. Without any it is the private network of this machine.
                    // servers: ["tls://chat.example.org"],
                    // A user of the private network; elsewhere your name where the credentials don't tell
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
                    // Whether you may be connected more than once: shared (as often as you like, which
                    // counts when nothing is said), take-over or yield.
                    // session: "shared",
                    // This machine's name, which your other devices show. Without it, the host name.
                    // device: "desk",
                    // When another attempt to connect is made: parley (which counts when nothing is said),
                    // relayx (gives up after 120 s, and keeps what waits as not sent), rongcloud or
                    // supabase.
                    // reconnect: "parley",
                    // Seconds after which chat, watch and tail give up the first connection. Without it
                    // chat and watch keep trying, and tail gives up after 10.
                    // connectTimeout: 10,
                    // Seconds out of focus until the chat suspends the connection; 0 keeps it. 120 when
                    // nothing is said.
                    // suspendAfter: 120,
                    // Whether the chat watches the terminal's focus, whether one is attached to tmux or
                    // screen, the machine's sleep, and how long you do nothing: true or false. false asks
                    // the terminal for no reports of its focus, and the connection is kept until ^Z. When
                    // nothing is said, they are watched at a terminal, and not elsewhere.
                    // handleAppLifecycle: true,
                    // The stream of the topics, with hash, on a network without the service that knows
                    // them.
                    // namespace: "work",
                    // What the topics' subjects begin with there.
                    // hash: "h",
                    // What JetStream's subjects begin with on a network whose services tell namespace and
                    // hash: these two then count only while no service answers. parley join writes it.
                    // api: "net.API",
                    // A PEM file of authorities to trust.
                    // tlsAuthority: "~/authority.pem",
                    // A PEM file with the client's certificate.
                    // tlsCertificate: "~/me.pem",
                    // The PEM file of its private key.
                    // tlsKey: "~/me.key",
                    // true where TLS comes before the server's first word.
                    // tlsFirst: false,
                    // As beside the profiles.
                    // retention: { age: "30d" },
                    // As beside the profiles.
                    // join: ["chat.lobby", "alerts.>"],
                    // As beside the profiles.
                    // mutes: ["alerts.>"],
                    // As beside the profiles.
                    // highlights: ["deploy"],
                    // As beside the profiles.
                    // bell: "none",
                    // As beside the profiles.
                    // notifications: { letters: false },
                    // As beside the profiles.
                    // typing: false,
                    // As beside the profiles.
                    // idleAfter: 900,
                    // As beside the profiles.
                    // followUnread: 500,
                    // As beside the profiles.
                    // followLetters: false,
                    // As beside the profiles.
                    // theme: "dark",
                    // As beside the profiles.
                    // symbols: "ascii",
                },
            },
        }
        """#
    }

    /// A line for each action.
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
