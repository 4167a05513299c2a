import NATS
import Testing

@testable import Relay

@Suite("SessionKeeping: who holds a session, and what the administrator says")
struct SessionKeepingTests {
    private static let laptop = SessionClaim.Holder(session: "other", device: "laptop")

    /// What this client keeps, with an entry of its own in the bucket.
    private func holding(revision: UInt64) -> SessionKeeping {
        var session = SessionKeeping(SessionClaim(session: "mine", device: "desk", policy: .takeOver))
        _ = session.handle(.wrote(revision: revision))
        return session
    }

    @Test("B18 another device's entry ends the session, and an older one does not")
    func taken() {
        var session = holding(revision: 7)
        #expect(session.handle(.changed(Self.laptop, revision: 6)) == nil)
        #expect(session.claim?.revision == 7)
        #expect(session.handle(.changed(Self.laptop, revision: 8)) == .kickedByOtherDevice("laptop"))
        #expect(session.claim?.revision == nil && session.release() == nil)
    }

    @Test("B18 an entry of this client whose answer was lost is the one that is given back")
    func lostAnswer() {
        var session = holding(revision: 7)
        #expect(session.handle(.changed(session.claim?.me, revision: 9)) == nil)
        #expect(session.release()?.revision == 9)
        #expect(session.claim != nil && session.release() == nil)
    }

    @Test("B18 a device that finds another one's session holds none")
    func stayedOut() {
        var session = SessionKeeping(SessionClaim(session: "mine", device: "desk", policy: .yield))
        #expect(session.handle(.displaced(by: "laptop")) == .kickedByOtherDevice("laptop"))
        #expect(session.release() == nil)
    }

    @Test("B57 what the administrator says of one key concerns the connections by that key alone")
    func keys() throws {
        let account = NKeyPair.generate(.account)
        let message = ControlMessage(kind: .revoked, reason: "lost", key: "UA")
        let bytes = try message.encoded(for: "alice", signedBy: account, at: 1_000)
        for (key, reason) in [("UA", ConnectionReason.credentialsRevoked("lost")), ("UB", nil), (nil, nil)] {
            var session = SessionKeeping(nil)
            #expect(
                session.handle(
                    .heard(bytes, user: "alice", issuers: [account.publicKey.text], at: 1_000, key: key)) == reason)
        }
        var session = SessionKeeping(nil)
        let plain = Array(#"{"kind":"revoked","key":"UA"}"#.utf8)
        #expect(session.handle(.heard(plain, user: "alice", issuers: [], at: 1_000, key: "UB")) == nil)
    }

    @Test("The administrator is believed once for each proof, and a stranger never")
    func proofs() throws {
        var session = SessionKeeping(nil)
        let account = NKeyPair.generate(.account)
        let issuers = [account.publicKey.text]
        let ban = ControlMessage(kind: .banned, reason: "spam")
        let bytes = try ban.encoded(for: "alice", signedBy: account, at: 1_000)
        let heard = SessionKeeping.Event.heard(bytes, user: "alice", issuers: issuers, at: 1_000)
        #expect(session.handle(.heard(bytes, user: "alice", issuers: ["another key"], at: 1_000)) == nil)
        #expect(session.handle(heard) == .banned("spam"))
        #expect(session.handle(heard) == nil)
        // On a network without tokens the server's permissions alone say who may speak there.
        let plain = Array(#"{"kind":"banned","reason":"spam"}"#.utf8)
        #expect(session.handle(.heard(plain, user: "alice", issuers: issuers, at: 1_000)) == nil)
        #expect(session.handle(.heard(plain, user: "alice", issuers: [], at: 1_000)) == .banned("spam"))
    }

    @Test("B60 a refusal at login is believed each time and however old, from the network and for this user alone")
    func refusals() throws {
        var session = SessionKeeping(nil)
        let account = NKeyPair.generate(.account)
        let issuers = [account.publicKey.text]
        let ban = ControlMessage(kind: .banned, reason: "spam")
        let proof = try ban.proof(for: "alice", signedBy: account, at: 1_000)
        for _ in 0..<2 {
            #expect(session.handle(.refused(proof, user: "alice", issuers: issuers)) == .banned("spam"))
        }
        #expect(session.handle(.refused(proof, user: "bob", issuers: issuers)) == nil)
        #expect(session.handle(.refused(proof, user: "alice", issuers: [])) == nil)
        let foreign = try ban.proof(for: "alice", signedBy: .generate(.account), at: 1_000)
        for other in [foreign, "", "x.y.z", String(repeating: "x", count: 1 << 20)] {
            #expect(session.handle(.refused(other, user: "alice", issuers: issuers)) == nil)
        }
    }
}
