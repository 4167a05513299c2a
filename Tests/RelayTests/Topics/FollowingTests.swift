import NATS
import Testing

@testable import Relay

@Suite("Following: what is brought back on every connection")
struct FollowingTests {
    private struct Stub: Follower {
        let name: String
        var id: String { name }

        func follow(
            over link: LiveLink, _ namespace: RelayConfiguration.Namespace,
            report: @escaping @Sendable (FollowerStanding) async -> Void
        ) -> Completion<Void> { Completion() }
        func connectionChanged(_ status: ConnectionStatus) {}
        func pause() {}
        func end(_ ending: Result<Void, RelayError>) {}
    }

    private static let namespace = RelayConfiguration.Namespace(name: "test", hash: "h4sh")

    /// What is to be done, as words; in the order of the names where it concerns all.
    private func words(_ actions: [Following.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .follow(let follower, let namespace): "follow \(follower.name) in \(namespace.name)"
            case .tell(let follower): "tell \(follower.name)"
            case .pause(let follower): "pause \(follower.name)"
            case .end(let follower): "end \(follower.name)"
            case .report(let failing, let isComplete):
                "failing \(failing.joined(separator: " "))" + (isComplete ? "" : ", for now")
            case .needConnection: "connect"
            case .releaseConnection: "rest"
            }
        }
    }

    private func handle(_ following: inout Following, _ event: Following.Event) -> [String] {
        words(following.handle(event))
    }

    /// Follows these over a connection.
    private func following(_ names: String...) -> Following {
        var following = Following()
        for name in names { _ = following.handle(.added(Stub(name: name))) }
        _ = following.handle(.opened(Self.namespace))
        return following
    }

    @Test("B36 what is added is followed at once over an open connection, and otherwise with the next one")
    func adding() {
        var following = Following()
        #expect(handle(&following, .added(Stub(name: "room"))) == ["connect", "tell room"])
        #expect(handle(&following, .opened(Self.namespace)) == ["follow room in test"])
        #expect(following.namespace == Self.namespace)
        #expect(handle(&following, .added(Stub(name: "lobby"))) == ["connect", "tell lobby", "follow lobby in test"])
        #expect(handle(&following, .connectionLost).sorted() == ["pause lobby", "pause room"])
        #expect(handle(&following, .added(Stub(name: "hall"))) == ["connect", "tell hall"])
        #expect(
            handle(&following, .opened(Self.namespace)).sorted()
                == ["follow hall in test", "follow lobby in test", "follow room in test"])
        #expect(handle(&following, .connectionChanged).sorted() == ["tell hall", "tell lobby", "tell room"])
    }

    @Test("B43 what fails is named until it is live, and what passes by itself keeps it from being complete")
    func failures() {
        var following = following("room", "secret")
        #expect(handle(&following, .changed(id: "room", .live)) == [])
        #expect(handle(&following, .changed(id: "secret", .failed(passes: false))) == ["failing secret"])
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == ["failing room secret, for now"])
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == [])
        #expect(handle(&following, .changed(id: "room", .live)) == ["failing secret"])
        #expect(handle(&following, .changed(id: "secret", .live)) == ["failing "])
    }

    @Test("B28 what was let go for now is followed on no connection, fails no more, and can be held again")
    func released() {
        var following = following("room", "lobby")
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == ["failing room, for now"])
        #expect(handle(&following, .letGo(id: "room")) == ["pause room", "failing "])
        #expect(handle(&following, .letGo(id: "room")) == [])
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == [])
        #expect(handle(&following, .connectionLost).sorted() == ["pause lobby", "pause room"])
        #expect(handle(&following, .opened(Self.namespace)) == ["follow lobby in test"])
        #expect(following.all.count == 2 && !following.isEmpty)
        #expect(handle(&following, .letGo(id: "lobby")) == ["pause lobby", "failing ", "rest"])
        #expect(following.isEmpty)
        #expect(handle(&following, .takenAgain(id: "room")) == ["connect", "follow room in test"])
        #expect(handle(&following, .takenAgain(id: "room")) == [])
        #expect(!following.isEmpty)
        _ = handle(&following, .connectionLost)
        #expect(handle(&following, .removed(id: "lobby")) == ["end lobby", "failing "])
        #expect(handle(&following, .takenAgain(id: "lobby")) == [])
        #expect(handle(&following, .letGo(id: "room")) == ["pause room", "failing ", "rest"])
        #expect(handle(&following, .takenAgain(id: "room")) == ["connect"])
    }

    @Test("B43 what is followed no more fails no more, and a lost connection forgets what failed on it")
    func forgotten() {
        var following = following("room", "lobby")
        for id in ["room", "lobby"] { _ = following.handle(.changed(id: id, .failed(passes: true))) }
        #expect(handle(&following, .removed(id: "room")) == ["end room", "failing lobby, for now"])
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == [])
        #expect(handle(&following, .connectionLost) == ["pause lobby"])
        #expect(handle(&following, .opened(Self.namespace)) == ["follow lobby in test"])
        #expect(handle(&following, .changed(id: "lobby", .failed(passes: false))) == ["failing lobby"])
        #expect(handle(&following, .closed) == ["end lobby"])
        #expect(following.isEmpty)
    }

    @Test("B42 the end of the last subscription lets the connection rest, once, and the end of all does not")
    func rest() {
        var following = following("room", "lobby")
        #expect(handle(&following, .removed(id: "room")) == ["end room", "failing "])
        #expect(handle(&following, .removed(id: "lobby")) == ["end lobby", "failing ", "rest"])
        #expect(handle(&following, .removed(id: "lobby")) == [])
        _ = following.handle(.added(Stub(name: "hall")))
        #expect(handle(&following, .closed) == ["end hall"])
        #expect(handle(&following, .removed(id: "hall")) == [])
    }

    @Test("Another user's names are not those of the one before")
    func otherUser() {
        var following = following("room")
        #expect(handle(&following, .connectionLost) == ["pause room"])
        #expect(handle(&following, .userChanged(nil)) == [])
        #expect(following.namespace == nil)
        let other = RelayConfiguration.Namespace(name: "other", hash: "0th3r")
        #expect(handle(&following, .opened(other)) == ["follow room in other"])
    }
}
