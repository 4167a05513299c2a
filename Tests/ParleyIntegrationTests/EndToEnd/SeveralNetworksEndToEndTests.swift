import Platform
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Several networks in one window")
    struct SeveralNetworks {
        @Test(
            "B69 One ends and comes back while the other chats; both have lines and letters, and are there again offline"
        )
        func two() async throws {
            try await PrivateNetworkFixture.run { work in
                try await PrivateNetworkFixture.run { home in
                    let started = try await work.parley("network", "start")
                    #expect(started.status.isSuccess, "\(started)")
                    let creds = work.folder.path("alice.creds")
                    _ = try await work.objects("network", "user", "add", "alice", "--out", creds, "--json")
                    let server = try #require(work.description)
                    let profiles = """
                        { profiles: {
                            home: { user: 'alice' },
                            work: { servers: ['\(server.servers[0])'], creds: '\(creds)' },
                        } }
                        """
                    let path = try home.folder.write(profiles, to: "config.json")
                    let flags = ["--config", path, "--profile", "home", "--profile", "work", "chat.lobby"]
                    let chat = try home.terminal(flags, columns: 100)
                    try await chat.waitFor("both networks") { $0.contains("● HOME") && $0.contains("● WORK") }

                    // A line here, and one that comes there.
                    try chat.type("hello home")
                    try chat.press(.enter)
                    try await eventually("the line at home") {
                        try await home.texts(on: "chat.lobby") == ["hello home"]
                    }
                    try await chat.waitFor(text: "hello home")
                    try await Self.goTo("work", chat)
                    try chat.type("/join chat.team")
                    try chat.press(.enter)
                    try await chat.waitFor(text: "── chat.team")
                    try chat.type("hello work")
                    try chat.press(.enter)
                    try await eventually("the line at work") { try await work.texts(on: "chat.team") == ["hello work"] }
                    try await Self.goTo("home", chat)
                    try await chat.waitFor(text: "── chat.lobby")
                    let said = try await work.parley("send", "chat.team", "from bob", "--as", "bob")
                    #expect(said.status.isSuccess, "\(said)")
                    try await chat.waitFor("what is unread there") { screen in
                        screen.rows.contains { $0.hasPrefix(" chat.team") && $0.prefix(24).hasSuffix(" 1 ") }
                    }
                    try chat.press(.alt("a"))
                    try await chat.waitFor(text: "from bob")

                    // A letter at each.
                    for (name, network) in [("work", work), ("home", home)] {
                        if name == "home" { try await Self.goTo(name, chat) }
                        try chat.type("/post alice note for \(name)")
                        try chat.press(.enter)
                        try await eventually("the letter at \(name)") {
                            try await network.letters(of: "alice").last == "note for \(name)"
                        }
                    }

                    // The server of one ends, and nobody starts it again for a while.
                    kill(server.hostPid, SIGSTOP)
                    kill(server.serverPid, SIGKILL)
                    try await chat.waitFor("the outage of one") { $0.contains("↻ WORK") && $0.contains("● HOME") }
                    try chat.type("meanwhile")
                    try chat.press(.enter)
                    try await eventually("what is said meanwhile") {
                        try await home.texts(on: "chat.lobby") == ["hello home", "meanwhile"]
                    }
                    try await Self.goTo("work", chat)
                    try await chat.waitFor(text: "── chat.team")
                    try chat.type("waits")
                    try chat.press(.enter)
                    kill(server.hostPid, SIGCONT)
                    try await eventually("what has waited", deadline: .seconds(60)) {
                        try await work.texts(on: "chat.team") == ["hello work", "from bob", "waits"]
                    }
                    try await chat.waitFor("both networks") { $0.contains("● HOME") && $0.contains("● WORK") }
                    try chat.press(.ctrl("q"))
                    #expect(try await chat.waitForExit(deadline: .seconds(60)) == .exited(0))

                    // Offline.
                    let stopped = try await work.parley("network", "stop", "--force")
                    #expect(stopped.status.isSuccess, "\(stopped)")
                    let again = try home.terminal(Array(flags.dropLast()), columns: 100)
                    try await again.waitFor("one of them") { $0.contains("● HOME") && $0.contains("meanwhile") }
                    try await Self.goTo("work", again)
                    try await again.waitFor("what is kept of the other") {
                        $0.contains("from bob") && !$0.contains("● WORK")
                    }
                    try again.press(.ctrl("q"))
                    #expect(try await again.waitForExit(deadline: .seconds(60)) == .exited(0))
                }
            }
        }

        /// Brings a network in front, by its name.
        private static func goTo(_ name: String, _ chat: PseudoTerminal) async throws {
            try chat.press(.ctrl("g"))
            try await chat.waitFor(text: "┌─ Go to")
            try chat.type(name)
            try chat.press(.enter)
            try await chat.waitFor("no list") { !$0.contains("┌─ Go to") }
        }
    }
}
