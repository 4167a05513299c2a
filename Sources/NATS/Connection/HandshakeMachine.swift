/// The steps from an open socket to a usable connection, as a value: events in, one action out.
///
///     waitingForInfo → (securing) → waitingForVerdict → ready
struct HandshakeMachine {
    enum State: Equatable {
        /// TLS runs before the server's first word.
        case securingFirst
        /// The server speaks first.
        case waitingForInfo
        /// TLS runs after INFO.
        case securing
        /// CONNECT and PING are on their way; PONG or an error is the verdict.
        case waitingForVerdict
        case ready
        case failed(NATSError)
    }

    enum Action: Equatable {
        case wait
        case startTLS
        /// Send CONNECT and PING.
        case login(ServerInfo)
        case succeed
        case fail(NATSError)
    }

    private(set) var state: State
    private(set) var info = ServerInfo()
    private let wantsTLS: Bool
    private let isSecuredFirst: Bool

    init(wantsTLS: Bool, handshakesFirst: Bool) {
        self.wantsTLS = wantsTLS
        isSecuredFirst = wantsTLS && handshakesFirst
        state = isSecuredFirst ? .securingFirst : .waitingForInfo
    }

    /// Whether a TLS handshake is under way.
    var isSecuring: Bool {
        switch state {
        case .securingFirst, .securing: true
        case .waitingForInfo, .waitingForVerdict, .ready, .failed: false
        }
    }

    /// INFO came. `hasTrailingBytes` says that plain bytes follow it, which cannot be trusted once TLS is on.
    mutating func infoReceived(_ newer: ServerInfo, hasTrailingBytes: Bool) -> Action {
        switch state {
        case .waitingForInfo:
            info = newer
            let needsTLS = !isSecuredFirst && (wantsTLS || newer.requiresTLS == true)
            guard needsTLS else {
                state = .waitingForVerdict
                return .login(newer)
            }
            guard newer.requiresTLS == true || newer.offersTLS == true else {
                return fail(.tls("the server offers no TLS at this port"))
            }
            guard !hasTrailingBytes else {
                return fail(.protocolViolation("it sent plain bytes where TLS was to begin"))
            }
            state = .securing
            return .startTLS
        case .waitingForVerdict, .ready:
            info.update(with: newer)
            return .wait
        case .securingFirst, .securing:
            return fail(.protocolViolation("it sent plain text during the TLS handshake"))
        case .failed:
            return .wait
        }
    }

    mutating func secured() -> Action {
        switch state {
        case .securingFirst:
            state = .waitingForInfo
            return .wait
        case .securing:
            state = .waitingForVerdict
            return .login(info)
        case .waitingForInfo, .waitingForVerdict, .ready, .failed:
            return .wait
        }
    }

    /// PONG came: before `ready` it is the login's verdict.
    mutating func pongReceived() -> Action {
        guard state == .waitingForVerdict else { return .wait }
        state = .ready
        return .succeed
    }

    /// The server refused, the socket closed, or time ran out.
    mutating func failed(_ error: NATSError) -> Action {
        switch state {
        case .failed: return .wait
        case .securingFirst, .waitingForInfo, .securing, .waitingForVerdict, .ready: return fail(error)
        }
    }

    private mutating func fail(_ error: NATSError) -> Action {
        state = .failed(error)
        return .fail(error)
    }
}
