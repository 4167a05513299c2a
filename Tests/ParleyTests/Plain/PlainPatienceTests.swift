import Relay
import Testing

@testable import Parley

/// What lines that come through a pipe wait for, and what the end of them waits for.
@Suite("Plain mode's patience")
struct PlainPatienceTests {
    private static func plain(state: ConnectionStatus.State = .connected) -> PlainDesk {
        PlainDesk(Desk.joined("chat.lobby", state: state))
    }

    /// With the first page of letters listed.
    private static func listed() throws -> PlainDesk {
        var plain = plain()
        _ = plain.enter("/inbox")
        let request = try #require(plain.desk.model.network.inbox.fetch?.request)
        _ = plain.send(.postbox(.page(request: request, ListOutput(items: [letter(1)], nextToken: nil))))
        return plain
    }

    @Test("The end waits until a letter is deleted")
    func deletion() throws {
        var plain = try Self.listed()
        #expect(plain.desk.model.isSettled)
        _ = plain.enter("/delete 1")
        _ = plain.enter("y")
        #expect(!plain.desk.model.isSettled)
        #expect(plain.desk.model.undone(keeps: true) == "It is not known whether 1 letter left the postbox.")
        _ = plain.send(.postbox(.deleted(BulkDeletion(deleted: ["l1"]))))
        #expect(plain.desk.model.network.inbox.deletion.run == nil && plain.desk.model.undone(keeps: true) == nil)
    }

    @Test("The end waits until a letter is saved, and what may answer the question about its file does, too")
    func saving() throws {
        var plain = try Self.listed()
        _ = plain.enter("/save x")
        #expect(!plain.desk.model.isSettled && plain.desk.model.holds("y") && !plain.desk.model.holds("yesterday"))
        let question = plain.send(.postbox(.saving(.isThere(text: "a letter", path: "x"))))
        #expect(question == ["x is there already. Write over it? (y/n)"])
        #expect(!plain.desk.model.holds("y"))
        _ = plain.enter("y")
        #expect(plain.effects.contains(.letters(.save(text: "a letter", path: "x", overwrites: true))))
        #expect(!plain.desk.model.isSettled)
        #expect(plain.desk.model.undone(keeps: true) == "What was asked for last was not answered.")
        #expect(plain.send(.postbox(.saving(.saved(path: "x")))) == ["Saved as x."])
        #expect(plain.desk.model.isSettled)
    }

    @Test("A letter is saved from the list that was asked for before", arguments: ["/save", "/save x", "/read 1"])
    func list(_ line: String) throws {
        var plain = Self.plain()
        _ = plain.enter("/inbox")
        #expect(plain.desk.model.holds(line))
        #expect(try !Self.listed().desk.model.holds(line))
    }

    @Test("What is done with a postbox waits for the first attempt to connect, and for what was asked before")
    func postboxes() {
        for state in [ConnectionStatus.State.initialized, .connecting] {
            #expect(Self.plain(state: state).desk.model.holds("/inbox"))
            #expect(Self.plain(state: state).desk.model.holds("/postbox create work"))
        }
        for state in [ConnectionStatus.State.connected, .reconnecting, .disconnected] {
            #expect(!Self.plain(state: state).desk.model.holds("/inbox"))
            #expect(!Self.plain(state: state).desk.model.holds("/postbox create work"))
        }
        var offline = Self.plain(state: .connecting)
        _ = offline.send(.statusChanged(ConnectionStatus(state: .connecting, reason: .unreachable(""), attempt: 1)))
        #expect(!offline.desk.model.holds("/inbox") && !offline.desk.model.holds("/postbox create work"))
        var plain = Self.plain()
        _ = plain.enter("/postbox create work")
        #expect(plain.desk.model.holds("/postbox delete work") && !plain.desk.model.holds("hello"))
        let work = postbox("work", "work")
        _ = plain.send(.postboxes(.changed(.create("work", persona: nil), work, all: [work])))
        #expect(!plain.desk.model.holds("/postbox delete work") && plain.desk.model.isSettled)
    }

    @Test("What was asked for and could not be handed on is not waited for")
    func givenUp() {
        var plain = Self.plain()
        _ = plain.enter("/sent")
        #expect(!plain.desk.model.isSettled && plain.desk.model.holds("/sent 1"))
        for effect in plain.effects.core { plain.desk.model.giveUp(effect) }
        #expect(plain.desk.model.isSettled && !plain.desk.model.holds("/sent 1"))
    }
}
