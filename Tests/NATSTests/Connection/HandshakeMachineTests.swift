import Testing

@testable import NATS

@Suite("Steps of the handshake")
struct HandshakeMachineTests {
    private func info(required: Bool? = nil, offered: Bool? = nil, payload: Int = 100) -> ServerInfo {
        var info = ServerInfo()
        info.serverID = "N"
        info.requiresTLS = required
        info.offersTLS = offered
        info.maximumPayload = payload
        return info
    }

    private func isViolation(_ action: HandshakeMachine.Action) -> Bool {
        if case .fail(.protocolViolation) = action { true } else { false }
    }

    @Test("in clear: INFO, login, verdict")
    func clear() {
        var machine = HandshakeMachine(wantsTLS: false, handshakesFirst: false)
        #expect(machine.state == .waitingForInfo)
        let info = info()
        // Bytes behind INFO do not matter without TLS.
        #expect(machine.infoReceived(info, hasTrailingBytes: true) == .login(info))
        #expect(machine.state == .waitingForVerdict)
        #expect(machine.pongReceived() == .succeed)
        #expect(machine.state == .ready)
        #expect(machine.pongReceived() == .wait)
        #expect(machine.info.serverID == "N")
    }

    @Test(
        "TLS after INFO, when the server or the caller wants it",
        arguments: [(false, true, false), (true, true, false), (true, false, true), (true, true, true)])
    func upgrade(wants: Bool, required: Bool, offered: Bool) {
        var machine = HandshakeMachine(wantsTLS: wants, handshakesFirst: false)
        let info = info(required: required, offered: offered)
        #expect(machine.infoReceived(info, hasTrailingBytes: false) == .startTLS)
        #expect(machine.state == .securing)
        #expect(machine.secured() == .login(info))
        #expect(machine.pongReceived() == .succeed)
    }

    @Test("an offer of TLS is left alone by a caller who wants none")
    func unusedOffer() {
        var machine = HandshakeMachine(wantsTLS: false, handshakesFirst: false)
        let info = info(offered: true)
        #expect(machine.infoReceived(info, hasTrailingBytes: false) == .login(info))
    }

    @Test("never logs in in clear when the caller wants TLS and the server has none")
    func noTLSAtServer() {
        var machine = HandshakeMachine(wantsTLS: true, handshakesFirst: false)
        guard case .fail(.tls) = machine.infoReceived(info(), hasTrailingBytes: false) else {
            Issue.record("\(machine.state)")
            return
        }
        #expect(machine.secured() == .wait)
        #expect(machine.pongReceived() == .wait)
    }

    @Test("refuses plain bytes where TLS begins, before and during the handshake")
    func plainBytes() {
        var machine = HandshakeMachine(wantsTLS: true, handshakesFirst: false)
        #expect(isViolation(machine.infoReceived(info(required: true), hasTrailingBytes: true)))
        var second = HandshakeMachine(wantsTLS: true, handshakesFirst: false)
        _ = second.infoReceived(info(required: true), hasTrailingBytes: false)
        #expect(isViolation(second.infoReceived(info(), hasTrailingBytes: false)))
        var third = HandshakeMachine(wantsTLS: true, handshakesFirst: true)
        #expect(isViolation(third.infoReceived(info(), hasTrailingBytes: false)))
    }

    @Test("TLS before INFO: INFO inside TLS starts no second handshake")
    func handshakeFirst() {
        var machine = HandshakeMachine(wantsTLS: true, handshakesFirst: true)
        #expect(machine.state == .securingFirst)
        #expect(machine.pongReceived() == .wait)
        #expect(machine.secured() == .wait)
        #expect(machine.state == .waitingForInfo)
        let info = info(required: true)
        #expect(machine.infoReceived(info, hasTrailingBytes: true) == .login(info))
        #expect(machine.secured() == .wait)
        #expect(machine.pongReceived() == .succeed)
    }

    @Test("TLS first without the wish for TLS is nothing")
    func handshakeFirstAlone() {
        #expect(HandshakeMachine(wantsTLS: false, handshakesFirst: true).state == .waitingForInfo)
    }

    @Test("a verdict before the login is none")
    func earlyPong() {
        var machine = HandshakeMachine(wantsTLS: false, handshakesFirst: false)
        #expect(machine.pongReceived() == .wait)
        #expect(machine.secured() == .wait)
        #expect(machine.state == .waitingForInfo)
    }

    @Test("INFO after the login updates what is known")
    func laterInfo() {
        var machine = HandshakeMachine(wantsTLS: false, handshakesFirst: false)
        _ = machine.infoReceived(info(), hasTrailingBytes: false)
        var newer = info()
        newer.cluster = "C"
        #expect(machine.infoReceived(newer, hasTrailingBytes: false) == .wait)
        #expect(machine.info.cluster == "C")
        _ = machine.pongReceived()
        newer.cluster = "D"
        #expect(machine.infoReceived(newer, hasTrailingBytes: false) == .wait)
        #expect(machine.info.cluster == "D" && machine.state == .ready)
    }

    @Test("fails once, from every state, and stays failed")
    func failure() {
        let paths: [(inout HandshakeMachine) -> Void] = [
            { _ in },
            { _ = $0.infoReceived(info(), hasTrailingBytes: false) },
            { _ = $0.infoReceived(info(required: true), hasTrailingBytes: false) },
            {
                _ = $0.infoReceived(info(), hasTrailingBytes: false)
                _ = $0.pongReceived()
            },
        ]
        for path in paths {
            var machine = HandshakeMachine(wantsTLS: false, handshakesFirst: false)
            path(&machine)
            #expect(machine.failed(.staleConnection) == .fail(.staleConnection))
            #expect(machine.state == .failed(.staleConnection))
            #expect(machine.failed(.closed) == .wait)
            #expect(machine.infoReceived(info(), hasTrailingBytes: false) == .wait)
            #expect(machine.secured() == .wait)
            #expect(machine.pongReceived() == .wait)
            #expect(machine.state == .failed(.staleConnection))
        }
        var first = HandshakeMachine(wantsTLS: true, handshakesFirst: true)
        #expect(first.failed(.closed) == .fail(.closed))
    }
}
