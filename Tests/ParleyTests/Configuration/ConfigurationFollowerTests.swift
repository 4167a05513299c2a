import Foundation
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("A configuration that changes while the chat runs")
struct ConfigurationFollowerTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory("follow") }

    private func write(_ text: String) throws { try folder.write(text, to: "config.json") }

    private func load(_ profile: String? = nil) throws -> ChatConfiguration {
        try ChatConfiguration(flag: folder.path("config.json"), profile: profile, [:])
    }

    // MARK: The file

    @Test("What the file says anew is told once; a mistake is told once, and what counted before still does")
    func follow() throws {
        try write("{ mutes: ['a'] }")
        let configuration = try load()
        var follower = ConfigurationFollower(configuration)
        #expect(follower.take(configuration.reloaded()) == nil)

        try write("{ mutes: ['a'], // a comment\n}")
        #expect(follower.take(configuration.reloaded()) == nil)
        try write("{ mutes: ['b'] }")
        guard case .changed(let settings) = follower.take(configuration.reloaded()) else {
            Issue.record("nothing has changed")
            return
        }
        #expect(settings.mutes.map(\.text) == ["b"])
        #expect(follower.take(configuration.reloaded()) == nil)

        try write("{ mutes: ['b'],\n  keys: { 'next-unread': '^N' } }")
        let refused = follower.take(configuration.reloaded())
        guard case .refused(let words) = refused else {
            Issue.record("\(refused as Any)")
            return
        }
        #expect(words.hasPrefix("config.json:2:26: keys.next-unread: ^N is “next-topic” already"), "\(words)")
        #expect(follower.take(configuration.reloaded()) == nil)
        try write("{ mutes: ['b'] }")
        #expect(follower.take(configuration.reloaded()) == .mended)
        #expect(follower.take(configuration.reloaded()) == nil)
    }

    @Test("What a profile says of the connection counts from the next start on, and other profiles' words not at all")
    func profiles() throws {
        try write("{ profiles: { work: {}, home: {} } }")
        let configuration = try load("work")
        var follower = ConfigurationFollower(configuration)
        try write("{ profiles: { work: {}, home: { user: 'bob', mutes: ['a'] } } }")
        #expect(follower.take(configuration.reloaded()) == nil)
        try write("{ profiles: { work: { reconnect: 'relayx' } } }")
        #expect(follower.take(configuration.reloaded()) == .forNextStart)
        try write("{ profiles: { home: {} } }")
        let gone = follower.take(configuration.reloaded())
        #expect(gone == .refused("There is no profile “work” in the configuration; there are: home."), "\(gone as Any)")
        try FileManager.default.removeItem(atPath: folder.path("config.json"))
        let none = follower.take(configuration.reloaded())
        #expect(none == .refused("config.json cannot be read."), "\(none as Any)")
    }

    // MARK: The chat

    private func settings(_ text: String) throws -> ChatSettings {
        let file = try ConfigurationSource(Data(text.utf8), path: "c.json").file
        return ChatSettings(file, Profile())
    }

    @Test("New keys, mutes and topics count at once, in the midst of a chord and of a text")
    func changed() throws {
        var desk = Desk.joined("chat.lobby")
        desk.model.configure(try settings("{ join: ['chat.lobby'], keys: { quit: '^X ^C' } }"))
        desk.type("half a line")
        desk.press(.control("x"))
        #expect(!desk.model.screen.chord.isEmpty)
        let new = try settings("{ join: ['chat.lobby', 'chat.qa'], mutes: ['chat.qa'], keys: { quit: '^Q' } }")
        #expect(desk.send(.configuration(.changed(new))) == [.topics(.subscribe(topic: "chat.qa"))])
        #expect(desk.view == .conversation("chat.lobby") && desk.text == "half a line")
        #expect(desk.notice == "The configuration has changed and counts now.")
        #expect(desk.model.screen.chord.isEmpty && desk.model.network.conversations.isMuted("chat.qa"))
        #expect(desk.press(.control("q")) == .screen(.quit))
    }

    @Test("A topic that was left is not joined again by a change of something else")
    func left() throws {
        var desk = Desk()
        desk.model.configure(try settings("{ join: ['chat.qa'] }"))
        desk.send(.start(topics: ["chat.lobby"]))
        desk.enter("/leave chat.qa")
        let new = try settings("{ join: ['chat.qa'], highlights: ['deploy'] }")
        #expect(desk.send(.configuration(.changed(new))) == [])
        #expect(desk.conversation("chat.qa") == nil)
    }

    @Test("Topics that come while the local store is being opened are joined when it is open")
    func opening() throws {
        var desk = Desk()
        desk.send(.start(topics: [], keeps: true))
        #expect(desk.send(.configuration(.changed(try settings("{ join: ['chat.qa'] }")))) == [])
        desk.send(.opened(KeptDesk(topics: ["chat.lobby"])))
        #expect(desk.model.network.conversations.all.map(\.name) == ["chat.lobby", "chat.qa"])
    }

    @Test("A mistake is on the bottom line and in the log, and goes when it is mended")
    func refused() throws {
        var desk = Desk.joined("chat.lobby")
        let before = desk.model.settings
        let words = "config.json:3:16: layout.sidebar: it takes a number"
        #expect(desk.send(.configuration(.refused(words))) == [])
        #expect(desk.model.notices.shown?.kind == .failure && desk.bottom.contains(words))
        #expect(desk.model.settings == before)
        desk.send(.configuration(.mended))
        #expect(desk.model.notices.shown?.kind == .information)
        desk.press(.function(8))
        #expect(desk.shows("config.json:3:16"))
    }
}
