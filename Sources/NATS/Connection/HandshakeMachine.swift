/// The steps from an open socket to the server's verdict on the login, as a pure value.
///
///     waitingForInfo → (securing) → waitingForVerdict
struct HandshakeMachine {
    enum State: Equatable {
        /// TLS runs before INFO.
        case securingFirst
        /// The server speaks first.
        case waitingForInfo
        /// TLS runs after INFO.
        case securing
        /// CONNECT and PING have been sent; PONG or an error is the verdict.
        case waitingForVerdict
    }

    enum Action: Equatable {
        case wait
        case startTLS
        /// Send CONNECT and PING.
        case login
        case succeed
        case fail(NATSError)
    }

    private(set) var state: State
    private let wantsTLS: Bool
    private let isSecuredFirst: Bool
    private let hasCertificate: Bool
    /// Whether TLS began at a server that asks for a certificate while this client has none.
    private var lacksCertificate = false

    init(wantsTLS: Bool, handshakesFirst: Bool, hasCertificate: Bool = false) {
        self.wantsTLS = wantsTLS
        self.hasCertificate = hasCertificate
        isSecuredFirst = wantsTLS && handshakesFirst
        state = isSecuredFirst ? .securingFirst : .waitingForInfo
    }

    var isSecuring: Bool { state == .securingFirst || state == .securing }

    /// Handles INFO. With `hasTrailingBytes`, plain bytes follow it, which cannot be trusted once TLS is on.
    mutating func infoReceived(_ info: ServerInfo, hasTrailingBytes: Bool) -> Action {
        switch state {
        case .waitingForInfo:
            let needsTLS = !isSecuredFirst && (wantsTLS || info.requiresTLS == true)
            guard needsTLS else {
                state = .waitingForVerdict
                return .login
            }
            guard info.requiresTLS == true || info.offersTLS == true else {
                return .fail(
                    .tls("the server offers no TLS at this port; use a nats:// address without TLS settings"))
            }
            guard !hasTrailingBytes else {
                return .fail(.protocolViolation("it sent plain bytes where TLS was to begin"))
            }
            state = .securing
            lacksCertificate = info.asksForCertificate == true && !hasCertificate
            return .startTLS
        case .waitingForVerdict:
            return .wait
        case .securingFirst, .securing:
            return .fail(.protocolViolation("it sent plain text during the TLS handshake"))
        }
    }

    mutating func secured() -> Action {
        switch state {
        case .securingFirst: state = .waitingForInfo
        case .securing:
            state = .waitingForVerdict
            return .login
        case .waitingForInfo, .waitingForVerdict: break
        }
        return .wait
    }

    /// What to ask a server after a failed login: one that was silent or timed out may have waited for TLS, and one
    /// that broke off the handshake may have sent INFO first. Nil if the error is clear enough.
    func question(after error: NATSError) -> TLSProbe.Question? {
        switch (state, error) {
        case (.waitingForInfo, .timeout), (.waitingForInfo, .closedByServer), (.waitingForInfo, .connectionLost):
            isSecuredFirst ? nil : .waitsForTLS
        case (.securingFirst, .closedByServer), (.securingFirst, .connectionLost): .speaksFirst
        case (.securingFirst, .tls(let words)): words.hasSuffix(TLSFailure.ended) ? .speaksFirst : nil
        default: nil
        }
    }

    /// Why the login failed. A server that requires a certificate may close the connection without a word, with TLS 1.3
    /// even after what looks like a complete handshake.
    func cause(of error: NATSError) -> NATSError {
        guard lacksCertificate else { return error }
        switch error {
        case .closedByServer(nil), .connectionLost: return .tls(TLSFailure.missingCertificate)
        case .tls(let words) where words.hasSuffix(TLSFailure.ended): return .tls(TLSFailure.missingCertificate)
        default: return error
        }
    }

    func pongReceived() -> Action { state == .waitingForVerdict ? .succeed : .wait }
}
