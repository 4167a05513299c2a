import NATS
import Testing

@testable import Relay

@Suite("Control messages")
struct ControlMessageTests {
    private let account = NKeyPair.generate(.account)
    private let message = ControlMessage(
        kind: .signedInElsewhere, reason: "one session at a time", device: "laptop", administrator: "root")

    private func read(
        _ bytes: [UInt8], user: String = "alice", issuer: NKeyPair? = nil, at now: Int64 = 1_000
    ) throws(RelayError) -> ControlMessage {
        try ControlMessage.verified(
            bytes, for: user, trusting: [(issuer ?? account).publicKey.text], at: now
        ).message
    }

    @Test(
        "every kind has its name on the wire, and survives it",
        arguments: [
            (ControlMessage.Kind.kicked, "kicked"), (.banned, "banned"), (.deactivated, "deactivated"),
            (.revoked, "revoked"), (.accessExpired, "access_expired"), (.signedInElsewhere, "signed_in_elsewhere"),
            (.applicationBlocked, "application_blocked"), (.permissionsChanged, "permissions_changed"),
            (.code(31_025), "code"),
        ])
    func roundTrip(kind: ControlMessage.Kind, name: String) throws {
        var message = message
        message.kind = kind
        let bytes = try message.encoded(for: "alice", signedBy: account, at: 1_000)
        #expect(try read(bytes) == message)
        #expect(String(decoding: bytes, as: UTF8.self).contains(#""kind":"\#(name)""#))
        #expect(try ControlMessage.unproved(Array(#"{"kind":"\#(name)","code":31025}"#.utf8)).kind == kind)
    }

    @Test("what is not signed by the account, for this user and now, is not believed")
    func refusals() throws {
        let bytes = try message.encoded(for: "alice", signedBy: account, at: 1_000)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(throws: RelayError.invalidMessage("the control message is signed by a stranger")) {
            try read(bytes, issuer: .generate(.account))
        }
        #expect(throws: RelayError.invalidMessage("the control message is for somebody else")) {
            try read(bytes, user: "bob")
        }
        #expect(throws: RelayError.invalidMessage("the control message is too old")) { try read(bytes, at: 2_000) }
        #expect(throws: RelayError.invalidMessage("the control message is too old")) { try read(bytes, at: 500) }
        #expect(throws: RelayError.invalidMessage("the control message is not signed")) {
            try read(Array(#"{"kind":"banned","reason":"because"}"#.utf8))
        }
        #expect(throws: RelayError.invalidMessage("it is no control message")) { try read(Array("banned".utf8)) }
        #expect(
            throws: RelayError.invalidArgument(
                "A control message is signed with an account's key, and this key is of another kind")
        ) {
            try message.encoded(for: "alice", signedBy: .generate(.user), at: 1_000)
        }
        // Only what the proof says counts, whatever is next to it.
        let altered = text.replacing("\"kind\":\"signed_in_elsewhere\"", with: "\"kind\":\"banned\"")
        #expect(altered != text)
        #expect(try read(Array(altered.utf8)).kind == .signedInElsewhere)
    }

    @Test("codes of RongCloud and Nexconn mean their causes")
    func codes() {
        #expect(ControlMessage(kind: .code(31_008)).connectionReason == .appBlocked(nil))
        #expect(ControlMessage(kind: .code(31_029)).connectionReason == .deactivated(nil))
        #expect(ControlMessage(kind: .code(19)).connectionReason == .deactivated(nil))
        #expect(ControlMessage(kind: .code(4_711)).connectionReason == .unknown(4_711))
    }
}
