import Foundation
import NATS
import Relay
import RelayNetwork
import TestSupport
import Testing

@testable import Parley
@testable import Terminal

@Suite("What the doctor says")
struct DoctorTests {
    private static func probe(
        isTerminal: Bool = true, type: String? = "xterm-256color", entry: TerminalProbe.Entry? = .known(colors: 256),
        size: Size? = Size(rows: 24, columns: 80), refusesColors: Bool = false
    ) -> TerminalProbe {
        TerminalProbe(isTerminal: isTerminal, type: type, entry: entry, size: size, refusesColors: refusesColors)
    }

    private static func findings(
        _ probe: TerminalProbe, _ environment: [String: String] = ["LANG": "C.UTF-8"], isInstalled: Bool = true
    ) -> [String: Finding] {
        Dictionary(
            TerminalFindings.all(probe, environment, isLocaleInstalled: isInstalled).map { ($0.check, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    @Test("A good terminal is well in every respect")
    func goodTerminal() {
        let findings = Self.findings(Self.probe())
        #expect(findings.values.allSatisfy { $0.outcome == .ok && $0.fix == nil })
        #expect(findings["terminal"]?.detail == "xterm-256color, 80×24")
        #expect(findings["colours"]?.detail == "256")
    }

    @Test(
        "A terminal that cannot be used says how to mend it",
        arguments: [
            probe(type: nil, entry: nil), probe(type: "nonsense", entry: .unknown),
            probe(type: "dumb", entry: .tooSimple), probe(entry: .noDatabase),
        ])
    func badTerminal(probe: TerminalProbe) {
        let finding = Self.findings(probe)["terminal"]
        #expect(finding?.outcome == .failure(78))
        #expect(finding?.fix?.isEmpty == false)
    }

    @Test("A pipe, a small window and a plain locale are warnings, and NO_COLOR is a wish")
    func warnings() {
        #expect(Self.findings(Self.probe(isTerminal: false))["terminal"]?.outcome == .warning)
        #expect(Self.findings(Self.probe(size: Size(rows: 4, columns: 80)))["terminal"]?.outcome == .warning)
        for environment in [[:], ["LANG": "C"], ["LANG": "C.UTF-8", "LC_ALL": "POSIX"], ["LANG": "de_DE.ISO-8859-1"]] {
            let finding = Self.findings(Self.probe(), environment)["locale"]
            #expect(finding?.outcome == .warning && finding?.fix?.contains("C.UTF-8") == true)
        }
        #expect(Self.findings(Self.probe(), ["LANG": "xx_XX.UTF-8"], isInstalled: false)["locale"]?.outcome == .warning)
        #expect(Self.findings(Self.probe(), ["LC_CTYPE": "en_GB.utf8"])["locale"]?.outcome == .ok)
        let plain = Self.findings(Self.probe(refusesColors: true))["colours"]
        #expect(plain?.outcome == .ok && plain?.detail.contains("NO_COLOR") == true)
    }

    @Test(
        "Of the focus it says what the terminal has answered, and without reports the way out",
        arguments: [
            (.answered(.reports), nil), (.tmux(passesOn: true), nil), (.unknown, nil), (.answered(.denies), "/away"),
            (.answered(.silent), "/away"), (.answered(.unanswered), "/away"), (.screen, "/away"),
            (.tmux(passesOn: false), "tmux set -g focus-events on"), (.tmux(passesOn: nil), "focus-events on"),
        ] as [(TerminalFindings.FocusWord, String?)])
    func focus(word: TerminalFindings.FocusWord, fix: String?) throws {
        let all = TerminalFindings.all(Self.probe(), ["LANG": "C.UTF-8"], isLocaleInstalled: true, focus: word)
        let finding = try #require(all.first { $0.check == "focus" })
        #expect(finding.outcome == (fix == nil ? .ok : .warning))
        #expect(fix.map { finding.fix?.contains($0) == true } ?? (finding.fix == nil))
        // Truthfully: who is not seen to leave is taken to be there.
        #expect(fix == nil || finding.detail.contains("you count as present"))
    }

    @Test("Within screen it is screen that passes nothing on, unless it says that it does")
    func focusInScreen() {
        for answer in [TerminalProbe.FocusAnswer.denies, .silent, .unanswered] {
            #expect(TerminalFindings.FocusWord.of(answer, isInScreen: true) == .screen)
            #expect(TerminalFindings.FocusWord.of(answer, isInScreen: false) == .answered(answer))
        }
        #expect(TerminalFindings.FocusWord.of(.reports, isInScreen: true) == .answered(.reports))
        #expect(TerminalFindings.FocusWord.of(nil, isInScreen: true) == .unknown)
        let all = TerminalFindings.all(Self.probe(), ["LANG": "C.UTF-8"], isLocaleInstalled: true, focus: .screen)
        let finding = all.first { $0.check == "focus" }
        #expect(finding?.detail.hasPrefix("screen does not pass it on: you count as present") == true)
    }

    @Test("The terminal database knows xterm, and not everything")
    func database() {
        // The real database, without a terminal.
        let environment = TerminalProbe.look()
        #expect(environment.type == nil || environment.entry != nil)
        #expect(TerminalProbe.entry(of: "xterm-256color") == .known(colors: 256))
        #expect(TerminalProbe.entry(of: "no-such-terminal") == .unknown)
        #expect(TerminalProbe.entry(of: "dumb") == .tooSimple)
    }

    @Test(
        "B2 Credentials are named by their place and time, never by what they hold",
        arguments: [
            (nil, Finding.Outcome.ok, "without end"), (3_600 * 24 * 30, .ok, "they expire in 30 days"),
            (3_600 * 5 + 60, .warning, "they expire in 5 h 1 min"), (-3_600 * 3, .failure(77), "expired 3 h ago"),
        ] as [(Int64?, Finding.Outcome, String)])
    func credentials(expiresIn: Int64?, outcome: Finding.Outcome, words: String) throws {
        let now = Timestamp(milliseconds: 1_763_719_200_000)
        let end = expiresIn.map { 1_763_719_200 + $0 }
        let token = try Self.token(expires: end)
        let times = try #require(RelayCredentials.accessToken(token).times)
        #expect(times == TokenTimes(issued: 1_763_719_000, expires: end))
        let finding = CredentialsFindings.read(times, place: "PARLEY_TOKEN", user: "alice", now: now)
        #expect(finding.outcome == outcome)
        #expect(finding.detail == "PARLEY_TOKEN, user alice; \(words)")
        #expect("\(CredentialsSource.token(token))" == "PARLEY_TOKEN")
        #expect("\(CredentialsSource.apiKey("key", secret: "SUSECRET"))".contains("SUSECRET") == false)
    }

    @Test("A clock that cannot be right is seen")
    func clock() {
        let now = Timestamp(milliseconds: 1_763_719_200_000)
        #expect(CredentialsFindings.clock(now: now, issued: 1_763_719_100).outcome == .ok)
        #expect(CredentialsFindings.clock(now: now, issued: 1_763_719_200 + 86_400).outcome == .warning)
        #expect(CredentialsFindings.clock(now: Timestamp(milliseconds: 0), issued: nil).outcome == .failure(78))
    }

    @Test(
        "A server without TLS, or one that wants a certificate, is told by what to do about it, and the clock is left out",
        arguments: [
            (
                "the server offers no TLS at this port; use a nats:// address without TLS settings",
                "TLS: the server offers no TLS at this port", "use a nats:// address without TLS settings"
            ),
            (
                "the server asks for a certificate; set tlsCertificate and tlsKey in the profile",
                "TLS: the server asks for a certificate", "set tlsCertificate and tlsKey in the profile"
            ),
            (
                "the certificate is not for host", "TLS: the certificate is not for host",
                "check tlsAuthority in the profile, the certificate's name, and the clock"
            ),
        ])
    func secureConnection(detail: String, words: String, fix: String) {
        let finding = ServerFindings.finding("server", .tlsFailure(detail))
        #expect(finding == Finding("server", .noConnection, words, fix: fix))
    }

    @Test("Files: a good configuration, one that others can change, a broken one, a folder that cannot be")
    func files() throws {
        let folder = try TemporaryDirectory("doctor")
        let path = folder.path("config.json")
        #expect(FileFindings.configuration(flag: path, [:]).outcome == .failure(78))
        #expect(FileFindings.configuration(flag: nil, ["XDG_CONFIG_HOME": folder.path("none")]).outcome == .ok)
        try folder.write("{ profiles: { default: { user: 'alice' } } }", to: "config.json")
        chmod(path, 0o600)
        #expect(FileFindings.configuration(flag: path, [:]).detail == "\(path), 1 profile")
        chmod(path, 0o622)
        #expect(FileFindings.configuration(flag: path, [:]).outcome == .warning)
        try folder.write("{ profiles: { default: { usr: 'alice' } } }", to: "config.json")
        let broken = FileFindings.configuration(flag: path, [:])
        #expect(broken.outcome == .failure(78) && broken.detail.contains("usr"))

        #expect(FileFindings.dataFolder(["XDG_DATA_HOME": folder.path("data")]).detail.contains("not made yet"))
        #expect(FileFindings.dataFolder(["XDG_DATA_HOME": path]).outcome == .failure(73))
    }

    @Test("The local store: none, a database, and something else under its name")
    func store() throws {
        let folder = try TemporaryDirectory("doctor")
        let path = folder.path("alice.sqlite")
        #expect(FileFindings.localStore(nil).outcome == .ok)
        #expect(FileFindings.localStore(path) == Finding("local store", .ok, "\(path) (not made yet)"))
        try folder.write("SQLite format 3\0 and so on", to: "alice.sqlite")
        #expect(FileFindings.localStore(path) == Finding("local store", .ok, "\(path), 26 bytes"))
        try folder.write(String(repeating: "a log ", count: 1_000), to: "alice.sqlite-wal")
        #expect(FileFindings.localStore(path) == Finding("local store", .ok, "\(path), 6 kB"))
        try folder.write("", to: "alice.sqlite.suspect")
        let suspect = FileFindings.localStore(path)
        #expect(suspect.outcome == .warning && suspect.fix?.contains("start parley") == true)
        try FileManager.default.removeItem(atPath: path + ".suspect")
        try folder.write("something else entirely", to: "alice.sqlite")
        #expect(FileFindings.localStore(path).outcome == .warning)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(FileFindings.localStore(path).outcome == .failure(73))
    }

    @Test("Work that takes too long is given up")
    func deadline() async {
        #expect(await within(.seconds(60)) { 7 } == 7)
        let forever = AsyncStream<Void>.makeStream()
        let late = await within(.milliseconds(20)) { () -> Int in
            for await _ in forever.stream {}
            return 1
        }
        #expect(late == nil)
    }

    @Test("A line shows what was checked, the outcome, and how to repair it; the object says the same")
    func lines() {
        let finding = Finding("locale", .warning, "none \u{1B}[2J", fix: "export LANG=C.UTF-8")
        #expect(finding.line(isColored: false).hasPrefix("! locale            none "))
        #expect(finding.line(isColored: false).hasSuffix("  → export LANG=C.UTF-8"))
        #expect(!finding.line(isColored: false).contains("\u{1B}"))
        #expect(finding.json["ok"] == .bool(true))
        #expect(Finding("x", .failure(69), "y").json["ok"] == .bool(false))
        #expect(Finding("x", .ok, "y").json["fix"] == .null)
    }

    private static func token(expires: Int64?) throws -> String {
        let pair = NKeyPair.generate(.user)
        return try UserClaims(
            subject: pair.publicKey, name: "alice", issuedAt: 1_763_719_000, expires: expires, grant: UserGrant()
        ).encode(signedBy: .generate(.account))
    }
}
