import Foundation
import NATS
import Platform
import RelayFaults
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Deleting letters over a slow link and a broken one")
    struct InboxDeletion {
        /// Letters in the postbox beside the welcome.
        private static let count = 2_000

        /// Cuts the connection of a deletion that is under way, and lets another one pass once it has ended.
        private static func breakOff(_ scene: Scene) async throws -> Scene.End {
            await scene.proxy.cut()
            let end = try await scene.end("what became of the letters")
            #expect(end.deleted > 0 && end.staying > 0)
            #expect(end.deleted + end.unknown + end.staying == count + 1, "\(end)")
            try await scene.bob.waitFor("word of the outage", deadline: .seconds(60)) { $0.contains("↻ RECONNECTING") }
            try await scene.proxy.set(.passThrough)
            try await scene.bob.waitFor("the connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
            try await scene.listAgrees()
            return end
        }

        @Test(
            "B50 An outage in the middle of a deletion: the end says how many are gone, stay and are unknown, and the list agrees with the server afterwards",
            arguments: NATSServerProcess.binaries)
        func outage(_ binary: NATSServerBinary) async throws {
            try await Scene.run(binary, letters: Self.count) { scene in
                try await scene.beginToDeleteAll()
                // No answer passes from now on, and nobody connects: of what the server has deleted meanwhile nothing
                // is known here.
                try await scene.proxy.set(.refuse, .throttle(bytesPerSecond: 0, .fromServer))
                let end = try await Self.breakOff(scene)
                let left = try await scene.network.letters(of: "bob").count
                #expect((end.staying...(end.staying + end.unknown)).contains(left), "\(end), \(left) left")
            }
        }

        @Test(
            "B50 A server that is killed in the middle of a deletion: what it has again is on the list with what stayed",
            arguments: NATSServerProcess.binaries)
        func killed(_ binary: NATSServerBinary) async throws {
            try await Scene.run(binary, letters: Self.count) { scene in
                try await scene.beginToDeleteAll()
                try await scene.proxy.set(.refuse, .throttle(bytesPerSecond: 0, .fromServer))
                let server = try #require(scene.network.description?.serverPid)
                #expect(kill(server, SIGKILL) == 0)
                let end = try await Self.breakOff(scene)
                // It writes deletions to the disk some time after it has confirmed them.
                let left = try await scene.network.letters(of: "bob").count
                #expect((end.staying...(Self.count + 1)).contains(left), "\(end), \(left) left")
            }
        }

        @Test(
            "B50 Escape stops a deletion in its middle: the end says how many are gone and stay, and the server has those",
            arguments: NATSServerProcess.binaries)
        func stopped(_ binary: NATSServerBinary) async throws {
            try await Scene.run(binary, letters: Self.count) { scene in
                try await scene.beginToDeleteAll()
                try scene.bob.press(.escape)
                let end = try await scene.end("what became of the letters")
                #expect(end.deleted > 0 && end.staying > 0 && end.unknown == 0)
                #expect(end.deleted + end.staying == Self.count + 1, "\(end)")
                try await scene.proxy.set(.passThrough)
                #expect(try await scene.network.letters(of: "bob").count == end.staying)
                try await scene.listAgrees()
            }
        }

        @Test("B41 A letter that arrives while the page is on its way is on the screen with it, once")
        func arrival() async throws {
            try await Scene.run(NATSServerProcess.anyBinary, letters: 3) { scene in
                let bob = scene.bob
                // Neither the page nor the news of the letter passes.
                try await scene.proxy.set(.throttle(bytesPerSecond: 0, .fromServer))
                try bob.press(.ctrl("r"))
                try await bob.waitFor(text: "listing …")
                let posted = try await scene.network.parley(
                    "inbox", "post", "--as", "carol", "bob/personal", "while it loads")
                #expect(posted.exitCode == 0, "\(posted)")
                #expect(!bob.screen.contains("while it loads"))
                try await scene.proxy.set(.passThrough)
                try await bob.waitFor("the page with the letter", deadline: .seconds(60)) { screen in
                    !screen.contains("listing") && screen.count(of: "while it loads") == 1
                        && (1...3).allSatisfy { screen.count(of: "letter \($0)") == 1 }
                        && screen.count(of: "Welcome") == 1 && screen.rows[0].hasSuffix("✉ 5")
                }
            }
        }
    }
}

/// Bob's chat on his postbox, with a proxy between him and the network, and what the network has beside the proxy.
private struct Scene {
    /// Bytes a second that come through while letters are deleted: each takes some 130, so that all of them take half a
    /// minute at least, and a part of them takes no longer than an answer may.
    private static let rate = 8_000

    /// Letters that a page of this window has at least.
    private static let leastPage = 90

    /// What a deletion's end says.
    struct End: Hashable {
        var deleted: Int
        var unknown: Int
        var staying: Int
    }

    let network: PrivateNetworkFixture
    let proxy: FaultProxy
    let bob: PseudoTerminal
    /// All letters at the beginning.
    let total: Int

    /// Runs a test with so many letters of alice's in bob's postbox, behind the one that welcomes him.
    static func run(
        _ binary: NATSServerBinary, letters count: Int, _ body: (Scene) async throws -> Void
    ) async throws {
        try await PrivateNetworkFixture.run(binary) { network in
            let server = try await network.started()
            let file = network.folder.path("bob.creds")
            _ = try await network.objects("network", "user", "add", "bob", "--out", file, "--json")
            #expect(try await network.letters(of: "bob").count == 1)
            try await network.fill("bob", letters: count)

            let proxy = try await FaultProxy.start(target: try ServerAddress(parsing: server))
            let bob = try network.terminal(
                ["--server", "nats://127.0.0.1:\(proxy.address.port)", "--creds", file], rows: 104, columns: 110)
            try await bob.waitFor("a connected client", deadline: .seconds(60)) {
                $0.contains("● CONNECTED") && $0.contains("personal")
            }
            try bob.press(.f(3))
            try await bob.waitFor("the newest letters", deadline: .seconds(60)) {
                $0.contains("page 1") && $0.contains("letter \(count)") && !$0.contains("listing")
            }
            try await body(Scene(network: network, proxy: proxy, bob: bob, total: count + 1))
        }
    }

    /// Marks every letter, page by page, has all of them deleted over a slow link, and returns when some are gone.
    func beginToDeleteAll() async throws {
        var marked = 0
        while true {
            try bob.press(.ctrl("a"))
            // Those that were marked before are on other pages.
            let screen = try await bob.waitFor("more marks than \(marked)", deadline: .seconds(60)) {
                let (all, here) = Self.marks(in: $0)
                return here > 0 && all - here == marked
            }
            marked = Self.marks(in: screen).all
            if marked == total { break }
            let page = Self.page(in: screen)
            try bob.press(.alt("n"))
            try await bob.waitFor("the page behind page \(page)", deadline: .seconds(60)) {
                Self.page(in: $0) == page + 1 && !$0.contains("listing")
            }
        }
        try await proxy.set(.throttle(bytesPerSecond: Self.rate, .fromServer))
        try bob.press(.delete)
        try await bob.waitFor("the question", deadline: .seconds(60)) { $0.contains("Delete ") && $0.contains("y/N") }
        try bob.type("y")
        try await bob.waitFor("the first letters to be gone", deadline: .seconds(60)) { screen in
            screen.text.firstMatch(of: /deleting ([\d,]+) of/).map { Self.number($0.1) > 0 } ?? false
        }
    }

    /// What is said of a deletion that has come to its end early. The notice passes, and the log keeps it.
    func end(_ what: String) async throws -> End {
        var end: End?
        try await bob.waitFor("the deletion's end", deadline: .seconds(60)) { !$0.contains("deleting ") }
        try bob.press(.f(8))
        try await bob.waitFor(what, deadline: .seconds(60)) { screen in
            let words = /Deleted ([\d,]+) of ([\d,]+); (?:([\d,]+) unknown, )?([\d,]+) stays?\./
            guard let match = screen.text.firstMatch(of: words), Self.number(match.2) == total else { return false }
            end = End(
                deleted: Self.number(match.1), unknown: match.3.map { Self.number($0) } ?? 0,
                staying: Self.number(match.4))
            return true
        }
        try bob.press(.f(8))
        try await bob.waitFor("the postbox") { $0.contains("─ page ") }
        // The log has left the keys to the text.
        try bob.press(.f(3))
        guard let end else { throw TestFailure("there is no end") }
        return end
    }

    /// Returns when the first page has the newest letters that the server has, and the last page the oldest, and no
    /// others.
    func listAgrees() async throws {
        for isFirst in [true, false] {
            try bob.press(.alt(isFirst ? "<" : ">"))
            try await eventually("the \(isFirst ? "first" : "last") page to agree", deadline: .seconds(60)) {
                let stored = try await network.letters(of: "bob").reversed().map { Self.name($0) }
                let screen = bob.screen
                let shown = screen.rows.indices.dropFirst(2).compactMap { Self.letter(screen.main(row: $0)) }
                guard !screen.contains("listing") else { return false }
                let expected = isFirst ? stored.prefix(shown.count) : stored.suffix(shown.count)
                if shown.count >= min(Self.leastPage, stored.count), shown == Array(expected) { return true }
                // It was listed a moment before the server had done all that it was asked for.
                try bob.press(.ctrl("r"))
                return false
            }
        }
    }

    // MARK: Reading the screen

    /// How many letters are marked, and how many of them on this page.
    private static func marks(in screen: TerminalScreen) -> (all: Int, here: Int) {
        guard let match = screen.rows[1].firstMatch(of: /([\d,]+) marked(?:, (\d+) on this page)?/) else {
            return (0, 0)
        }
        let all = number(match.1)
        return (all, match.2.map { number($0) } ?? all)
    }

    private static func page(in screen: TerminalScreen) -> Int {
        screen.rows[1].firstMatch(of: /page ([\d,]+)/).map { number($0.1) } ?? 0
    }

    private static func number(_ text: Substring) -> Int { Int(text.filter(\.isNumber)) ?? 0 }

    /// A letter by the words that it begins with.
    private static func name(_ text: String) -> String { text.hasPrefix("Welcome") ? "Welcome" : text }

    /// The letter in a row of the list; nil where it has none.
    private static func letter(_ row: String) -> String? {
        row.firstMatch(of: /letter \d+|Welcome/).map { String($0.output) }
    }
}
