import NATS
import Testing

@testable import Relay

@Suite("Following: what is brought back on every connection")
struct FollowingTests {
    private struct Stub: Follower {
        let name: String

        func follow(
            over link: LiveLink, _ namespace: RelayConfiguration.Namespace,
            report: @escaping @Sendable (FollowerStanding) async -> Void
        ) -> Completion<Void> { Completion() }
        func connectionChanged(_ status: ConnectionStatus) {}
        func pause() {}
        func end(_ ending: Result<Void, RelayError>) {}
    }

    private func change(_ following: inout Following, _ key: UInt64, _ standing: FollowerStanding) -> Bool {
        following.changed(key, standing)
    }

    @Test("B43 what fails is named until it is live, and what passes by itself keeps it from being complete")
    func failures() {
        var following = Following()
        let (room, secret) = (following.add(Stub(name: "room")), following.add(Stub(name: "secret")))
        #expect(following.failing.isEmpty && following.isComplete)
        #expect(change(&following, room, .live) == false)
        #expect(change(&following, secret, .failed(passes: false)) == true)
        #expect(following.failing == ["secret"] && following.isComplete)
        #expect(change(&following, room, .failed(passes: true)) == true)
        #expect(following.failing == ["room", "secret"] && !following.isComplete)
        #expect(change(&following, room, .failed(passes: true)) == false)
        #expect(change(&following, room, .live) == true)
        #expect(following.failing == ["secret"] && following.isComplete)
        #expect(change(&following, secret, .live) == true)
        #expect(following.failing.isEmpty)
    }

    @Test("B28 what was let go for now is followed on no connection, fails no more, and can be held again")
    func released() {
        var following = Following()
        let (room, lobby) = (following.add(Stub(name: "room")), following.add(Stub(name: "lobby")))
        #expect(change(&following, room, .failed(passes: true)) == true)
        let (first, second) = (following.release(room), following.release(room))
        #expect(first?.name == "room" && second == nil)
        #expect(following.held.map { $0.key } == [lobby] && following.all.count == 2 && following.failing.isEmpty)
        #expect(change(&following, room, .failed(passes: true)) == false)
        _ = following.release(lobby)
        #expect(following.isEmpty && following.held.isEmpty)
        let (held, again) = (following.hold(room), following.hold(room))
        #expect(held?.name == "room" && again == nil)
        #expect(!following.isEmpty && following.held.map { $0.key } == [room])
        _ = following.remove(lobby)
        #expect(!following.isEmpty && following.hold(lobby) == nil)
    }

    @Test("B43 what is followed no more fails no more, and a lost connection forgets what failed on it")
    func forgotten() {
        var following = Following()
        let (room, lobby) = (following.add(Stub(name: "room")), following.add(Stub(name: "lobby")))
        for key in [room, lobby] { #expect(change(&following, key, .failed(passes: true)) == true) }
        let removed = following.remove(room)
        #expect(removed?.name == "room")
        #expect(following.failing == ["lobby"])
        #expect(change(&following, room, .failed(passes: true)) == false)
        following.pause()
        #expect(following.failing.isEmpty && following.isComplete && following.all.count == 1)
        following.end()
        #expect(following.isEmpty)
    }
}
