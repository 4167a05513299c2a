import Foundation
import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("Settings: what is explained, what counts, and what the chat does by them")
struct SettingTests {
    private func source(_ text: String) throws -> ConfigurationSource {
        try ConfigurationSource(Data(text.utf8), path: "c.json")
    }

    private func settings(_ text: String, profile: String? = nil) throws -> ChatSettings {
        let file = try source(text).file
        return ChatSettings(file, try file.profile(profile))
    }

    // MARK: Defaults

    /// The settings that the defaults have at a depth, each below its explanation: the setting beside the profiles that
    /// it belongs to, its name, and its value.
    private func printed(depth: Int) -> [(group: String, name: String, value: String)] {
        let lines = DefaultConfiguration.text.split(separator: "\n")
        var group = ""
        return lines.indices.compactMap { index in
            if let name = lines[index].wholeMatch(of: /\ {4}([a-z]\w*): .*/)?.1 { group = String(name) }
            let margin = String(repeating: "    ", count: depth)
            guard lines[index].hasPrefix(margin), lines[index - 1].hasPrefix(margin + "// "),
                let setting = lines[index].dropFirst(margin.count).wholeMatch(of: /(?:\/\/ )?([a-z]\w*): (.*)[,{]/)
            else { return nil }
            return (group, String(setting.1), String(setting.2))
        }
    }

    @Test("Every setting is explained once, and nothing else is")
    func explained() {
        let file = printed(depth: 1).map(\.name)
        #expect(file.sorted() == ConfigurationFile.CodingKeys.allCases.map(\.rawValue).sorted())
        let profile = Profile.CodingKeys.allCases.map(\.rawValue).filter { $0 != "tokenCommand" }
        #expect(printed(depth: 3).map(\.name).sorted() == profile.sorted())
        let members = printed(depth: 2)
        let names = ["age", "size", "topics", "mentions", "letters", "ends", "by", "command", "sidebar"]
        #expect(members.map(\.name) == names)
        for member in members {
            // A name that the decoder does not know would be refused.
            #expect(throws: Never.self) { try source("{ \(member.group): { \(member.name): \(member.value) } }") }
        }
    }

    @Test("What is printed as the defaults is a configuration, and changes nothing")
    func defaults() throws {
        let text = DefaultConfiguration.text
        let file = try source(text).file
        #expect(file.profiles == ["default": Profile()])
        #expect(ChatSettings(file, Profile()) == ChatSettings())
        #expect((file.shared.retention ?? .parley) == .parley)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test("Each example in the defaults can be written as it stands")
    func examples() throws {
        let text = DefaultConfiguration.text
        let partners = ["namespace": "hash: 'h', ", "hash": "namespace: 'work', "]
        for setting in printed(depth: 3) {
            #expect(text.contains("\n            // \(setting.name): \(setting.value),\n"), "\(setting.name)")
            let partner = partners[setting.name] ?? ""
            #expect(throws: Never.self, "\(setting.name)") {
                try source("{ profiles: { default: { \(partner)\(setting.name): \(setting.value) } } }")
            }
        }
    }

    // MARK: Show

    private func rows(_ words: [String], _ file: String, _ environment: [String: String] = [:]) throws -> [String] {
        let folder = try TemporaryDirectory("show")
        try folder.write(file, to: "config.json")
        let options = try ConnectionOptions.parse(words + ["--config", folder.path("config.json")])
        return try EffectiveSettings.rows(options, environment).map { row in
            let source = row.source.map { $0.replacing(folder.path("config.json"), with: "c") } ?? "-"
            return "\(row.name) \(JSONText.text(row.value)) \(source)"
        }
    }

    @Test("What is shown is what counts, with the flag, the variable or the place that says so")
    func shown() throws {
        let file = """
            {
              mutes: ["alerts.>"], typing: false, retention: { age: "30d", size: "2GB" },
              layout: { sidebar: 30 },
              profiles: { work: { servers: ["tls://chat.example.org"], user: 'bob', suspendAfter: 5, } },
            }
            """
        let plain = try rows(["--profile", "work"], file)
        #expect(plain.contains("servers [\"tls://chat.example.org\"] c:4:32"))
        #expect(plain.contains("user \"bob\" c:4:66") && plain.contains("session \"shared\" -"))
        #expect(plain.contains("mutes [\"alerts.>\"] c:2:10") && plain.contains("layout.sidebar 30 c:3:22"))
        #expect(plain.contains("retention {\"age\":\"30d\",\"size\":\"2GB\"} c:2:50"), "\(plain)")
        #expect(plain.contains("typing false c:2:32"))
        #expect(plain.contains("creds null -") && plain.contains("join [] -"))
        // The screen's own stand in no profile.
        #expect(plain.contains("links \"auto\" -") && plain.count == Profile.CodingKeys.allCases.count + 1)

        let flags = try rows(["--profile", "work", "--as", "eve"], file, ["PARLEY_TOKEN": "hush"])
        #expect(flags.contains("servers [] --as") && flags.contains("user \"eve\" --as"))
        #expect(flags.contains("creds \"…\" PARLEY_TOKEN") && !flags.contains { $0.contains("hush") })
    }

    @Test("What may hold a secret is not shown")
    func secrets() throws {
        let file = """
            { profiles: { default: {
              servers: ['nats://x'], token_command: 'print hush', proxy: 'http://me:hush@proxy.example:3128' } } }
            """
        let rows = try rows([], file)
        #expect(!rows.contains { $0.contains("hush") })
        #expect(rows.contains("tokenCommand \"…\" c:2:41"), "\(rows)")
        #expect(rows.contains { $0.hasPrefix("proxy \"http://proxy.example:3128\"") })
    }

    // MARK: In the chat

    @Test("A profile's own lists count instead of those beside the profiles")
    func profiles() throws {
        let text = "{ join: ['a', 'b.>'], highlights: ['deploy'], profiles: { default: {}, work: { join: [] } } }"
        #expect(try settings(text).join == ["a", "b.>"])
        #expect(try settings(text, profile: "work").join == [])
        #expect(try settings(text, profile: "work").highlights == ["deploy"])
        let quiet = "{ typing: false, profiles: { default: {}, work: { typing: true } } }"
        let idle = "{ idleAfter: 900, profiles: { default: {}, work: { idleAfter: 0 } } }"
        #expect(try settings(idle).idleTime == .seconds(900) && settings(idle, profile: "work").idleTime == nil)
        #expect(try settings("{}").idleTime == nil)
        let letters = "{ followLetters: false, profiles: { default: {}, work: { followLetters: true } } }"
        #expect(try !settings(letters).followsLetters && settings(letters, profile: "work").followsLetters)
        #expect(try settings("{}").followsLetters)
        let part = "{ followUnread: 50, profiles: { default: {}, work: { followUnread: 0 } } }"
        #expect(try settings(part).followedUnread == 50 && settings(part, profile: "work").followedUnread == nil)
        #expect(try !settings(quiet).typing && settings(quiet, profile: "work").typing && settings("{}").typing)
    }

    @Test(
        "A mistake in them is named with its place",
        arguments: [
            ("join: 'a'", 8, "join is not a list"), ("join: ['a', 'b..c']", 14, "join.1: "),
            ("mutes: [7]", 10, "mutes.0 is not a text"), ("highlights: ['']", 15, "highlights.0: it takes a word"),
            ("bell: 'loud'", 8, "bell: “loud” is no setting of the bell; these are: mentions, none"),
            ("typing: 'no'", 10, "typing is not true or false"),
            ("followLetters: 0", 17, "followLetters is not true or false"),
            ("idleAfter: 9", 13, "idleAfter: it takes a number of seconds from 10 on, or 0"),
            ("idleAfter: 'soon'", 13, "idleAfter is not a number"),
            ("followUnread: 49", 16, "followUnread: it takes a number of messages from 50 on, or 0"),
            ("followUnread: 50.5", 16, "followUnread: it takes a number of messages from 50 on, or 0"),
            (
                "notifications: { by: 'loud' }", 23,
                "notifications.by: “loud” is no way of notifications; these are: auto, bell, osc9, osc777, osc99, none"
            ),
            ("notifications: { sms: true }", 19, "notifications: “sms” is not a setting"),
            ("notifications: { command: ' ' }", 28, "notifications.command: it is empty; leave it out"),
            ("notifications: { letters: 1 }", 28, "notifications.letters is not true or false"),
            ("layout: { sidebar: 7 }", 21, "layout.sidebar: it takes a number of columns from 8 to 60, or 0"),
            ("layout: { sidebar: 20.5 }", 21, "layout.sidebar: "),
            ("layout: { width: 7 }", 12, "layout: “width” is not"),
        ])
    func mistakes(_ setting: String, _ column: Int, _ words: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try source("{ \(setting) }") }
        let said = try #require(failure?.text)
        #expect(said.hasPrefix("c.json:1:\(column + 1): \(words)"), "\(said)")
    }

    @Test("Topics of the configuration are joined behind those that were joined before, and take nobody's view")
    func join() throws {
        var desk = Desk()
        desk.model.configure(try settings("{ join: ['chat.qa', 'chat.dev'] }"))
        desk.send(.start(topics: [], keeps: true))
        desk.send(.opened(KeptDesk(topics: ["chat.lobby", "chat.dev"])))
        #expect(desk.model.network.conversations.all.map(\.name) == ["chat.lobby", "chat.dev", "chat.qa"])
        #expect(desk.view == .conversation("chat.lobby"))

        var fresh = Desk()
        fresh.model.configure(try settings("{ join: ['chat.qa'] }"))
        fresh.send(.start(topics: ["chat.dev"]))
        #expect(fresh.model.network.conversations.all.map(\.name) == ["chat.dev", "chat.qa"])
    }

    @Test(
        "A highlight is a word by itself, whatever its case and script",
        arguments: [
            ("the Deploy is done", true), ("deploy", true), ("(deploy)", true), ("deployment", false),
            ("redeploy", false), ("deploy_it", false), ("ask ops team now", true), ("ask ops teams", false),
            ("今日は東京です", true), ("CAF\u{C9}!", true), ("", false), ("dep loy", false),
        ])
    func highlights(_ text: String, _ isFound: Bool) {
        #expect(Mention(name: "", words: ["deploy", "ops team", "東京", "caf\u{E9}"]).isIn(text) == isFound)
        #expect(!Mention(name: "").isIn(text))
    }

    @Test("A highlight rings the bell while the person is away, and not for their own lines")
    func highlightRings() throws {
        var desk = Desk.joined("chat.lobby")
        desk.model.configure(try settings("{ highlights: ['deploy'] }"))
        desk.loseFocus()
        #expect(desk.receive([message(1, "Deploy now")]) == .screen(.bell))
        #expect(desk.receive([message(2, "deploy", from: "alice")]) == [])
        #expect(desk.receive([message(3, "deployed")]) == [])
    }

    @Test("The bell can be left silent, in one profile alone too; counts stay")
    func bell() throws {
        #expect(try settings("{}").bell == .mentions)
        let text = "{ bell: 'none', profiles: { default: {}, work: { bell: 'mentions' } } }"
        #expect(try settings(text).bell == .nothing && settings(text, profile: "work").bell == .mentions)
        var desk = Desk.joined("chat.lobby")
        desk.model.configure(try settings(text))
        desk.loseFocus()
        #expect(desk.receive([message(1, "@alice")]) == [])
        #expect(desk.model.unseenMentions == 1)
        desk.model.configure(try settings("{ bell: 'mentions' }"))
        #expect(desk.receive([message(2, "@alice")]) == .screen(.bell))
    }

    @Test("Of what the person is notified, and by what, can be said, in one profile alone too")
    func notifications() throws {
        #expect(try settings("{}").notifications == NotificationSetting())
        let text = """
            { notifications: { letters: false, by: 'osc777' },
              profiles: { default: {}, work: { notifications: { ends: false } } } }
            """
        #expect(try settings(text).notifications == NotificationSetting(letters: false, by: .osc777))
        #expect(try settings(text, profile: "work").notifications == NotificationSetting(ends: false))
        let command = try settings("{ notifications: { by: 'none', command: 'notify-send \"$PARLEY_TITLE\"' } }")
        #expect(command.notifications == NotificationSetting(by: .nothing, command: "notify-send \"$PARLEY_TITLE\""))
        #expect(NotificationSetting.Means.nothing.use == .never && NotificationSetting.Means.auto.use == .auto)
        #expect(NotificationSetting.Means.osc9.use == .always(.osc9))
    }

    @Test("The sidebar has the columns that were asked for, where the screen has room")
    func layout() throws {
        var desk = Desk.joined("chat.lobby")
        func sidebar(of columns: Int = 80) -> Int? {
            Array(desk.screen(Size(rows: 24, columns: columns))[1]).firstIndex(of: "│")
        }
        #expect(sidebar() == 20)
        desk.model.configure(try settings("{ layout: { sidebar: 30 } }"))
        #expect(sidebar() == 30 && sidebar(of: 69) == nil)
        desk.model.configure(try settings("{ layout: { sidebar: 0 } }"))
        #expect(sidebar() == nil && !desk.shows("TOPICS"))
        desk.press(.function(2))
        #expect(sidebar() == nil && desk.shows("TOPICS"))
    }
}
