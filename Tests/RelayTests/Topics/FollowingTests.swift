import NATS
import Testing

@testable import Relay

@Suite("Following: what is brought back on every connection")
struct FollowingTests {
    private static let namespace = RelayConfiguration.Namespace(name: "test", hash: "h4sh")

    private let now = ContinuousClock.now

    /// The actions as words; in the order of the names where they concern all.
    private func words(_ actions: [Following.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .follow(let id, let namespace): "follow \(id) in \(namespace.name)"
            case .tell(let id): "tell \(id)"
            case .pause(let id): "pause \(id)"
            case .end(let id): "end \(id)"
            case .startTimer(let id, let moment): "wait \((moment - now).components.seconds) for \(id)"
            case .cancelTimer(let id): "no wait for \(id)"
            case .report(let failing, let isComplete):
                "failing \(failing.joined(separator: " "))" + (isComplete ? "" : ", for now")
            case .needConnection: "connect"
            case .releaseConnection: "rest"
            }
        }
    }

    private func handle(_ following: inout Following, _ event: Following.Event, after seconds: Int = 0) -> [String] {
        words(following.handle(event, at: now + .seconds(seconds)))
    }

    private func added(_ name: String, grace: Duration? = nil) -> Following.Event {
        .added(id: name, name: name, grace: grace)
    }

    /// Follows these, which are for views, over a connection.
    private func following(_ names: String...) -> Following {
        var following = Following()
        for name in names { _ = handle(&following, added(name, grace: .seconds(30))) }
        _ = handle(&following, .opened(Self.namespace))
        return following
    }

    @Test("B36 what is added is followed at once over an open connection, and otherwise with the next one")
    func adding() {
        var following = Following()
        #expect(handle(&following, added("room")) == ["connect", "tell room"])
        #expect(handle(&following, .opened(Self.namespace)) == ["follow room in test"])
        #expect(following.namespace == Self.namespace)
        #expect(handle(&following, added("lobby")) == ["connect", "tell lobby", "follow lobby in test"])
        #expect(handle(&following, .connectionLost).sorted() == ["pause lobby", "pause room"])
        #expect(handle(&following, added("hall")) == ["connect", "tell hall"])
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

    @Test("B28 a view that is off the screen for longer than its grace lets its subscription go until it is back")
    func released() {
        var following = following("room", "lobby")
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == ["failing room, for now"])
        #expect(handle(&following, .shown(id: "room", true)) == [])
        #expect(handle(&following, .shown(id: "room", false)) == ["wait 30 for room"])
        #expect(handle(&following, .shown(id: "room", false), after: 5) == [])
        #expect(handle(&following, .timerFired(id: "room"), after: 30) == ["pause room", "failing "])
        #expect(handle(&following, .timerFired(id: "room"), after: 30) == [])
        #expect(handle(&following, .changed(id: "room", .failed(passes: true))) == [])
        #expect(handle(&following, .connectionLost).sorted() == ["pause lobby", "pause room"])
        #expect(handle(&following, .opened(Self.namespace)) == ["follow lobby in test"])
        #expect(!following.isEmpty)
        _ = handle(&following, .shown(id: "lobby", false))
        #expect(handle(&following, .timerFired(id: "lobby"), after: 30) == ["pause lobby", "failing ", "rest"])
        #expect(following.isEmpty)
        #expect(handle(&following, .shown(id: "room", true)) == ["connect", "follow room in test"])
        #expect(handle(&following, .shown(id: "room", true)) == [])
        #expect(!following.isEmpty)
        _ = handle(&following, .connectionLost)
        #expect(handle(&following, .removed(id: "lobby")) == ["end lobby", "failing "])
        #expect(handle(&following, .shown(id: "lobby", true)) == [])
        _ = handle(&following, .shown(id: "room", false))
        _ = handle(&following, .timerFired(id: "room"), after: 30)
        #expect(handle(&following, .shown(id: "room", true)) == ["connect"])
    }

    @Test("B28 a view that is back in time costs nothing, and a timer that fires late does nothing")
    func brief() {
        var following = following("room")
        _ = handle(&following, .shown(id: "room", false))
        #expect(handle(&following, .shown(id: "room", true), after: 20) == ["no wait for room"])
        #expect(handle(&following, .timerFired(id: "room"), after: 30) == [])
        #expect(handle(&following, .shown(id: "room", false), after: 31) == ["wait 61 for room"])
        #expect(handle(&following, .timerFired(id: "room"), after: 32) == [])
        #expect(handle(&following, .removed(id: "room")) == ["no wait for room", "end room", "failing ", "rest"])
    }

    @Test("B28 while the connection rests a view that is off the screen has no time left")
    func resting() {
        var following = following("room", "lobby")
        _ = handle(&following, .shown(id: "room", false))
        #expect(handle(&following, .connectionRests) == ["no wait for room", "pause room", "failing "])
        #expect(handle(&following, .connectionRests) == [])
        #expect(handle(&following, .shown(id: "room", true)) == ["connect", "follow room in test"])
    }

    @Test("B43 what is followed no more fails no more, and a lost connection forgets what failed on it")
    func forgotten() {
        var following = following("room", "lobby")
        for id in ["room", "lobby"] { _ = handle(&following, .changed(id: id, .failed(passes: true))) }
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
        _ = handle(&following, added("hall"))
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
