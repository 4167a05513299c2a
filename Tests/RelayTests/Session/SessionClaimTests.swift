import NATS
import Testing

@testable import Relay

@Suite("SessionClaim: who holds a session")
struct SessionClaimTests {
    private let laptop = SessionClaim.Holder(session: "other", device: "laptop")

    /// The claim of a client, with an entry of its own in the bucket.
    private func holding(revision: UInt64) -> SessionClaim {
        var claim = SessionClaim(session: "mine", device: "desk", policy: .takeOver)
        claim.wrote(revision)
        return claim
    }

    @Test("B18 another device's entry ends the session, and an older one does not")
    func taken() {
        var claim = holding(revision: 7)
        #expect(claim.changed(to: laptop, revision: 6) == nil && claim.revision == 7)
        #expect(claim.changed(to: laptop, revision: 8) == "laptop")
        #expect(claim.revision == nil && claim.release() == nil)
    }

    @Test("B18 an entry of this client whose answer was lost is the one that is given back")
    func lostAnswer() {
        var claim = holding(revision: 7)
        #expect(claim.changed(to: claim.me, revision: 9) == nil)
        #expect(claim.release()?.revision == 9 && claim.release() == nil)
    }

    @Test("B18 a device that yields stays out of another one's session, and no other device does")
    func stayedOut() {
        let yielding = SessionClaim(session: "mine", device: "desk", policy: .yield)
        #expect(yielding.deviceKeepingOut(laptop) == "laptop")
        #expect(yielding.deviceKeepingOut(yielding.me) == nil && yielding.deviceKeepingOut(nil) == nil)
        #expect(holding(revision: 7).deviceKeepingOut(laptop) == nil)
    }
}

@Suite("ControlVerifier: what the administrator says")
struct ControlVerifierTests {
    @Test("B57 what the administrator says of one key concerns the connections by that key alone")
    func keys() throws {
        let account = NKeyPair.generate(.account)
        let message = ControlMessage(kind: .revoked, reason: "lost", key: "UA")
        let bytes = try message.encoded(for: "alice", signedBy: account, at: 1_000)
        for (key, reason) in [("UA", ConnectionReason.credentialsRevoked("lost")), ("UB", nil), (nil, nil)] {
            var verifier = ControlVerifier()
            #expect(
                verifier.reason(
                    in: bytes, for: "alice", issuers: [account.publicKey.text], at: 1_000, key: key) == reason)
        }
        var verifier = ControlVerifier()
        let plain = Array(#"{"kind":"revoked","key":"UA"}"#.utf8)
        #expect(verifier.reason(in: plain, for: "alice", issuers: [], at: 1_000, key: "UB") == nil)
    }

    @Test("The administrator is believed once for each proof, and a stranger never")
    func proofs() throws {
        var verifier = ControlVerifier()
        let account = NKeyPair.generate(.account)
        let issuers = [account.publicKey.text]
        let ban = ControlMessage(kind: .banned, reason: "spam")
        let bytes = try ban.encoded(for: "alice", signedBy: account, at: 1_000)
        func heard() -> ConnectionReason? { verifier.reason(in: bytes, for: "alice", issuers: issuers, at: 1_000) }
        #expect(verifier.reason(in: bytes, for: "alice", issuers: ["another key"], at: 1_000) == nil)
        #expect(heard() == .banned("spam"))
        #expect(heard() == nil)
        // On a network without tokens the server's permissions alone say who may speak there.
        let plain = Array(#"{"kind":"banned","reason":"spam"}"#.utf8)
        #expect(verifier.reason(in: plain, for: "alice", issuers: issuers, at: 1_000) == nil)
        #expect(verifier.reason(in: plain, for: "alice", issuers: [], at: 1_000) == .banned("spam"))
    }

    @Test("B60 a refusal at login is believed each time and however old, from the network and for this user alone")
    func refusals() throws {
        let account = NKeyPair.generate(.account)
        let issuers = [account.publicKey.text]
        let ban = ControlMessage(kind: .banned, reason: "spam")
        let proof = try ban.proof(for: "alice", signedBy: account, at: 1_000)
        for _ in 0..<2 {
            #expect(ControlVerifier.reason(ofRefusal: proof, for: "alice", issuers: issuers) == .banned("spam"))
        }
        #expect(ControlVerifier.reason(ofRefusal: proof, for: "bob", issuers: issuers) == nil)
        #expect(ControlVerifier.reason(ofRefusal: proof, for: "alice", issuers: []) == nil)
        let foreign = try ban.proof(for: "alice", signedBy: .generate(.account), at: 1_000)
        for other in [foreign, "", "x.y.z", String(repeating: "x", count: 1 << 20)] {
            #expect(ControlVerifier.reason(ofRefusal: other, for: "alice", issuers: issuers) == nil)
        }
    }
}
