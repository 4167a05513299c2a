import Foundation
import NATS
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Flags, environment and configuration file")
struct ConfigurationTests {
    private func plan(
        _ words: [String], environment: [String: String] = [:], file: String? = nil
    ) throws -> ConnectionPlan {
        let folder = try TemporaryDirectory("config")
        var words = words
        if let file {
            try folder.write(file, to: "config.json")
            words += ["--config", folder.path("config.json")]
        }
        return try ConnectionOptions.parse(words).plan(environment.merging(["XDG_CONFIG_HOME": folder.path]) { $1 })
    }

    private func user(_ plan: ConnectionPlan) -> String? {
        if case .privateNetwork(let user, _) = plan.target { user } else { nil }
    }

    private func hosts(_ plan: ConnectionPlan) -> [String] {
        if case .servers(let addresses, _, _) = plan.target { addresses.map(\.host) } else { [] }
    }

    @Test("Without anything it is the private network, as the login's name")
    func nothing() throws {
        #expect(user(try plan([], environment: ["USER": "al ice/1"])) == "alice1")
        #expect(user(try plan(["--as", "bob"])) == "bob")
    }

    @Test("Without a name in the environment that can be a user's, the account's counts")
    func account() throws {
        func name(_ environment: [String: String], _ account: String?) -> String {
            ConnectionOptions.loginName(environment, account: { account })
        }
        #expect(name([:], "svc-chat") == "svc-chat")
        #expect(name(["USER": "", "LOGNAME": ""], "svc chat") == "svcchat")
        #expect(name(["USER": "日本"], "root") == "root")
        #expect(name(["USER": "日本", "LOGNAME": "nihon"], "root") == "nihon")
        #expect(name(["USER": "alice", "LOGNAME": "bob"], "root") == "alice")
        #expect(name(["USER": String(repeating: "a", count: 100)], nil) == String(repeating: "a", count: 64))
        #expect(name([:], nil) == "me" && name([:], "日本") == "me")
        // The account of whoever runs this, as the system has it.
        let own = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) }
        #expect(user(try plan([])) == name([:], own))
    }

    @Test("Flags win over the file; the file may hold comments")
    func precedence() throws {
        let file = """
            {
              // where we meet
              profiles: {
                default: { user: "carol", suspendAfter: 5 },
                work: { servers: ["nats://work.example:4333"], reconnect: "relayx", namespace: "n", hash: "h", },
              },
            }
            """
        #expect(user(try plan([], file: file)) == "carol")
        #expect(try plan([], file: file).suspendAfter == 5)
        #expect(user(try plan(["--as", "bob"], file: file)) == "bob")
        let work = try plan(["--profile", "work"], file: file)
        #expect(hosts(work) == ["work.example"])
        #expect(work.reconnect == .relayx)
        #expect(work.namespace == .init(name: "n", hash: "h"))
        #expect(hosts(try plan(["--profile", "work", "--server", "nats://other"], file: file)) == ["other"])
        #expect(user(try plan(["--profile", "work", "--as", "bob"], file: file)) == "bob")
    }

    @Test("A theme and its symbols stand beside the profiles, or in one, which wins")
    func theme() throws {
        let file = """
            { theme: "light", symbols: "ascii",
              profiles: { work: { theme: "high-contrast" }, plain: { theme: "none", symbols: "unicode" } } }
            """
        #expect(try plan([]).appearance == Appearance())
        #expect(try plan([], file: file).appearance == Appearance(.light, symbols: .ascii))
        #expect(try plan(["--profile", "work"], file: file).appearance == Appearance(.highContrast, symbols: .ascii))
        let plain = Appearance(.colorless, symbols: .unicode)
        #expect(try plan(["--profile", "plain"], file: file).appearance == plain)
        let inC = try plan([], environment: ["LANG": "C"]).appearance
        #expect(inC.usesPlainSymbols)
    }

    @Test(
        "A file that cannot be understood says where",
        arguments: [
            ("{ profile: {} }", "profile"), ("{ profiles: { a: { server: [] } } }", "server"),
            ("{ profiles: { a: { servers: \"x\" } } }", "profiles.a.servers"), ("{ not json", "config.json"),
            ("{ profiles: { default: { reconnect: \"never\" } } }", "never"),
            ("{ theme: \"pink\" }", "theme: “pink” is no theme; these are: auto, dark, light, high-contrast,"),
            ("{ profiles: { a: { symbols: \"emoji\" } } }", "profiles.a.symbols: “emoji”"), ("{ theme: 3 }", "theme"),
        ])
    func mistakes(_ file: String, _ named: String) throws {
        #expect {
            _ = try plan([], file: file)
        } throws: { error in
            guard let failure = error as? CommandFailure else { return false }
            return failure.code == 78 && failure.text.contains(named)
        }
    }

    @Test("A profile or file that is not there is a configuration mistake, a missing standard file is none")
    func missing() throws {
        #expect(throws: CommandFailure.self) { try plan(["--profile", "nope"]) }
        #expect(throws: CommandFailure.self) { try plan(["--config", "/nonexistent/parley.json"]) }
        #expect(throws: CommandFailure.self) { try plan([], environment: ["PARLEY_CONFIG": "/nonexistent.json"]) }
        #expect(throws: CommandFailure.self) { try plan(["--as", "bob", "--server", "nats://x"]) }
    }

    @Test("Secrets come from the environment, and their mistakes never repeat them")
    func secrets() throws {
        #expect {
            _ = try plan(
                ["--server", "nats://x"], environment: ["PARLEY_API_KEY": "key", "PARLEY_SECRET": "SUVERYSECRET"])
        } throws: { error in
            "\(error)".contains("secret") && !"\(error)".contains("SUVERYSECRET")
        }
    }

    @Test("Without a server a token or key in the environment is of a user of the private network, and of no other")
    func ownNetwork() throws {
        let pair = NKeyPair.generate(.user)
        func token(_ name: String?) throws -> String {
            try UserClaims(subject: pair.publicKey, name: name, grant: UserGrant())
                .encode(signedBy: .generate(.account))
        }
        let alice = ["PARLEY_TOKEN": try token("alice"), "USER": "login"]
        let pairs = ["PARLEY_API_KEY": try token("alice"), "PARLEY_SECRET": pair.withSeedText { $0 }, "USER": "login"]
        for environment in [alice, pairs] {
            for words in [[], ["--as", "alice"]] {
                let plan = try plan(words, environment: environment)
                #expect(user(plan) == "alice" && plan.credentials?.user == "alice")
            }
            let failure = #expect(throws: CommandFailure.self) { try plan(["--as", "bob"], environment: environment) }
            #expect(failure?.code == 64 && failure?.text.hasPrefix("--as names bob, but PARLEY_") == true)
            #expect(failure?.text.contains("belongs to alice. ") == true, "\(failure?.text ?? "")")
        }
        let nameless = #expect(throws: CommandFailure.self) {
            try plan([], environment: ["PARLEY_TOKEN": token(nil)])
        }
        #expect(nameless?.code == 64 && nameless?.text.hasPrefix("PARLEY_TOKEN: it names no user") == true)
        let nonsense = #expect(throws: RelayError.self) { try plan([], environment: ["PARLEY_TOKEN": "nonsense"]) }
        #expect(nonsense?.words.contains("PARLEY_TOKEN: ") == true, "\(nonsense?.words ?? "")")
        #expect(throws: RelayError.self) { try plan([], environment: ["PARLEY_API_KEY": try token("alice")]) }
        // What a token may has a store of its own; servers that are named have the token for themselves.
        #expect(try plan([], environment: alice).store != plan(["--as", "alice"]).store)
        #expect(hosts(try plan(["--server", "nats://x"], environment: alice)) == ["x"])
    }

    @Test("Identity and server may come before the subcommand")
    func order() {
        #expect(
            ParleyCommand.rearranged(["--as", "bob", "tail", "a", "--json"]) == ["tail", "a", "--json", "--as", "bob"])
        #expect(
            ParleyCommand.rearranged(["--as=bob", "send", "a", "--", "-x"]) == ["send", "a", "--as=bob", "--", "-x"])
        #expect(ParleyCommand.rearranged(["--as", "bob", "chat.qa"]) == ["--as", "bob", "chat.qa"])
        #expect(ParleyCommand.rearranged(["tail", "a"]) == ["tail", "a"])
    }

    @Test("A word that other programs have for help or the version is that, unless the user has a topic of that name")
    func otherWords() {
        func answered(_ words: String...) -> [String] { ParleyCommand.answered(words) { $0 == "usage" } }
        #expect(answered("man", "send") == ["help", "send"] && answered("manual") == ["help"])
        #expect(answered("version") == ["--version"] && answered("usage") == ["usage"])
        #expect(answered("chat.man") == ["chat.man"] && answered("chat", "man") == ["chat", "man"])
        #expect(answered() == [])
    }
}
