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
        #expect(machine.infoReceived(info, hasTrailingBytes: true) == .login)
        #expect(machine.state == .waitingForVerdict)
        #expect(machine.pongReceived() == .succeed)
    }

    @Test(
        "TLS after INFO, when the server or the caller wants it",
        arguments: [(false, true, false), (true, true, false), (true, false, true), (true, true, true)])
    func upgrade(wants: Bool, required: Bool, offered: Bool) {
        var machine = HandshakeMachine(wantsTLS: wants, handshakesFirst: false)
        let info = info(required: required, offered: offered)
        #expect(machine.infoReceived(info, hasTrailingBytes: false) == .startTLS)
        #expect(machine.state == .securing)
        #expect(machine.secured() == .login)
        #expect(machine.pongReceived() == .succeed)
    }

    @Test("a caller who wants no TLS leaves an offer of it alone, and what comes at the wrong time changes nothing")
    func unwanted() {
        for handshakesFirst in [false, true] {
            var machine = HandshakeMachine(wantsTLS: false, handshakesFirst: handshakesFirst)
            #expect(machine.pongReceived() == .wait)
            #expect(machine.secured() == .wait)
            #expect(machine.state == .waitingForInfo)
            #expect(machine.infoReceived(info(offered: true), hasTrailingBytes: false) == .login)
            #expect(machine.infoReceived(info(required: true), hasTrailingBytes: false) == .wait)
            #expect(machine.pongReceived() == .succeed)
        }
    }

    @Test("never logs in in clear when the caller wants TLS and the server has none")
    func noTLSAtServer() {
        var machine = HandshakeMachine(wantsTLS: true, handshakesFirst: false)
        guard case .fail(let error) = machine.infoReceived(info(), hasTrailingBytes: false) else {
            Issue.record("\(machine.state)")
            return
        }
        let words = ConnectionReason(error).words
        #expect(words.contains("offers no TLS") && words.contains("use a nats:// address"), "\(words)")
        #expect(!words.contains("clock"), "\(words)")
        #expect(machine.secured() == .wait)
        #expect(machine.pongReceived() == .wait)
    }

    @Test(
        "an end without a word is for want of a certificate where the server asks for one and the client has none",
        arguments: [false, true])
    func missingCertificate(isSecured: Bool) {
        let missing = NATSError.tls(TLSFailure.missingCertificate)
        let silent: [NATSError] = [.closedByServer(nil), .connectionLost("x"), .tls("host \(TLSFailure.ended)")]
        for (asks, has) in [(true, false), (true, true), (false, false), (nil, false)] as [(Bool?, Bool)] {
            var machine = HandshakeMachine(wantsTLS: true, handshakesFirst: false, hasCertificate: has)
            var info = info(required: true)
            info.asksForCertificate = asks
            #expect(machine.cause(of: .connectionLost("x")) == .connectionLost("x"))
            #expect(machine.infoReceived(info, hasTrailingBytes: false) == .startTLS)
            if isSecured { #expect(machine.secured() == .login) }
            for error in silent { #expect(machine.cause(of: error) == (asks == true && !has ? missing : error)) }
            for error in [NATSError.timeout("x"), .tls("x"), .authorization(.violation), .closedByServer("x")] {
                #expect(machine.cause(of: error) == error)
            }
        }
        let words = ConnectionReason(missing).words
        #expect(words.contains("none is configured; set tlsCertificate and tlsKey") && !words.contains("clock"))
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
        #expect(machine.infoReceived(info, hasTrailingBytes: true) == .login)
        #expect(machine.secured() == .wait)
        #expect(machine.pongReceived() == .succeed)
    }

    @Test("a login that ends without a reason leads to a question about TLS, and no other one does")
    func questions() {
        let silent: [NATSError] = [.timeout("x"), .closedByServer(nil), .connectionLost("x")]
        var plain = HandshakeMachine(wantsTLS: false, handshakesFirst: false)
        for error in silent { #expect(plain.question(after: error) == .waitsForTLS) }
        #expect(plain.question(after: .tls("x")) == nil && plain.question(after: .protocolViolation("x")) == nil)
        _ = plain.infoReceived(info(), hasTrailingBytes: false)
        for error in silent { #expect(plain.question(after: error) == nil, "The server has spoken") }

        var first = HandshakeMachine(wantsTLS: true, handshakesFirst: true)
        #expect(first.question(after: .timeout("x")) == nil)
        for error in silent.dropFirst() { #expect(first.question(after: error) == .speaksFirst) }
        #expect(first.question(after: .tls("the handshake: \(TLSFailure.ended)")) == .speaksFirst)
        #expect(first.question(after: .tls("the certificate is not valid")) == nil)
        _ = first.secured()
        for error in silent { #expect(first.question(after: error) == nil, "TLS runs already") }
    }
}
