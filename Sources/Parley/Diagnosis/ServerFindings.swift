import Relay

/// The findings about a server, step by step, and about its network. Each step has a deadline.
struct ServerFindings: Sendable {
    let configuration: RelayConfiguration

    /// Looks up the host and connects, without a login.
    func touch(_ address: ServerAddress) async -> Finding {
        await obstacle(address)
            ?? Finding(
                Self.name(address), .ok,
                "\(configuration.proxy == nil ? "DNS, TCP; " : "")the login is not tried without credentials")
    }

    /// Looks up the proxy's host and connects to it.
    func touch(_ proxy: ProxyAddress) async -> Finding {
        let name = "proxy \(proxy)"
        return await obstacle(name, proxy.host, proxy.port) ?? Finding(name, .ok, "DNS, TCP")
    }

    private static func name(_ address: ServerAddress) -> String { "server \(address)" }

    /// The finding about what prevents a TCP connection, if anything does.
    private func obstacle(_ address: ServerAddress) async -> Finding? {
        // The proxy resolves the server.
        guard configuration.proxy == nil else { return nil }
        return await obstacle(Self.name(address), address.host, address.port)
    }

    private func obstacle(_ name: String, _ host: String, _ port: Int) async -> Finding? {
        let resolved = await within(CheckLimit.step) { await blocking { Reachability.resolve(host, port: port) } }
        let endpoints: [Reachability.Endpoint]
        switch resolved {
        case .success(let found)?: endpoints = found
        case .failure(let why)?:
            return Finding(
                name, .noConnection, "DNS: \(host) has no address (\(why.words))",
                fix: "check the spelling of the host and this machine's DNS")
        case nil: return Finding(name, .noConnection, "DNS: no answer", fix: "check this machine's DNS")
        }
        let connected = await within(CheckLimit.step + .seconds(1)) {
            await blocking { Reachability.connect(endpoints, milliseconds: 10_000) }
        }
        let why = connected ?? Reachability.Failure(words: "no answer")
        return why.map {
            Finding(
                name, .noConnection, "TCP: \($0.words)",
                fix: "check that the server runs, the port, and firewalls on the way")
        }
    }

    /// Resolves, connects, secures and logs in; names the step that fails.
    func reach(_ address: ServerAddress) async -> Finding {
        let name = Self.name(address)
        if let obstacle = await obstacle(address) { return obstacle }
        // Only the login is tested here, so any namespace will do.
        var probe = configuration
        probe.servers = .fixed([address])
        // Shorter than the check's limit, since the dial's own error says more than a timeout.
        probe.dialTimeout = .seconds(9)
        probe.timeToAnswer = .seconds(5)
        probe.namespace = probe.namespace ?? .init(name: "doctor", hash: "doctor")
        let (client, refusal) = await Self.connect(probe)
        let version = await client.serverVersion
        await client.close()
        guard let refusal else {
            return Finding(
                name, .noConnection, "login: the server does not answer as a NATS server",
                fix: "check the address, and tls:// where the server wants it")
        }
        if let refusal { return Self.finding(name, refusal) }
        let way = configuration.proxy == nil ? "DNS, TCP" : "proxy"
        let steps = address.usesTLS ? "\(way), TLS, login" : "\(way), login"
        return Finding(name, .ok, "\(steps): nats-server \(version ?? "of unknown version")")
    }

    static func finding(_ name: String, _ reason: ConnectionReason) -> Finding {
        let code = CommandFailure(RelayError.connection(reason)).code
        switch reason {
        case .tlsFailure(let detail) where detail.contains("tlsFirst"):
            let isRemoved = detail.contains("remove tlsFirst")
            let fix = isRemoved ? "remove tlsFirst from the profile" : "set tlsFirst: true in the profile"
            return Finding(name, .failure(code), "TLS: \(detail)", fix: fix)
        case .tlsFailure(let detail):
            // The detail may contain the advice.
            let mark = detail.firstRange(of: "; ")
            return Finding(
                name, .noConnection, "TLS: \(detail[..<(mark?.lowerBound ?? detail.endIndex)])",
                fix: mark.map { String(detail[$0.upperBound...]) }
                    ?? "check tlsAuthority in the profile, the certificate's name, and the clock")
        case .accessExpired, .banned, .appBlocked, .deactivated:
            let said = reason.detail.map { " (\($0))" } ?? ""
            return Finding(
                name, .failure(code), "login: \(reason.shortWords)\(said)", fix: "ask the network's administrator")
        case .authenticationFailed, .tokenExpired, .credentialsRevoked, .kicked, .kickedByOtherDevice,
            .invalidCredentials:
            return Finding(
                name, .failure(code), "login: \(reason.shortWords)",
                fix: "name credentials with --creds, or ask for new ones")
        case .proxyUnavailable(let detail):
            return Finding(
                name, .failure(code), "proxy: \(detail)", fix: "check the proxy's address, its kind and its password")
        case .closedByUser, .networkUnavailable, .connectionLost, .permissionsChanged, .unreachable, .timeLimit,
            .windowExpired, .backgrounded, .store, .unknown:
            return Finding(name, .failure(code), "login: \(reason.words)", fix: "read the server's log")
        }
    }

    /// The findings about round trip, namespace and stream, on a server that has accepted the login.
    func network(_ address: ServerAddress) async -> [Finding] {
        var chat = configuration
        chat.servers = .fixed([address])
        chat.dialTimeout = .seconds(9)
        chat.pongTimeout = CheckLimit.step
        let (client, refusal) = await Self.connect(chat)
        guard case .some(nil) = refusal else {
            await client.close()
            var words = "the network's service does not answer"
            if case .some(let reason?) = refusal {
                // The server has accepted the login, but the network may still refuse the user.
                if reason.isFinal { return [Self.finding(Self.name(address), reason)] }
                words = reason.words
            }
            return [
                Finding(
                    "namespace", .noConnection, words,
                    fix: "name namespace and hash in the profile, or ask the network's administrator")
            ]
        }
        let time = await within(CheckLimit.step) { try? await client.ping() } ?? nil
        var trip = Finding(
            "round trip", .noConnection, "no answer within \(Wording.length(CheckLimit.step))",
            fix: "check the network on the way")
        if let time {
            let isSlow = time > .seconds(1)
            trip = Finding(
                "round trip", isSlow ? .warning : .ok, Wording.latency(time),
                fix: isSlow ? "use a nearer server" : nil)
        }
        let source =
            configuration.namespace.map { "\($0.name), from the configuration" } ?? "from the network's service"
        let findings = [trip, Finding("namespace", .ok, source), await Self.jetStream(client)]
        await client.close()
        return findings
    }

    private static func jetStream(_ client: RelayClient) async -> Finding {
        let name = "JetStream"
        let result = await within(CheckLimit.connection) { () -> RelayError? in
            do throws(RelayError) { _ = try await client.history(topic: "parley.doctor", before: nil, limit: 1) } catch
            {
                return error
            }
            return nil
        }
        switch result {
        case .some(nil): return Finding(name, .ok, "on, and the topics' stream is there")
        case .some(.server(code: 10_059, _)?):
            return Finding(
                name, .noConnection, "on, and the topics' stream is missing",
                fix: "create the stream <namespace>_stream with the subjects <hash>.>")
        case .some(.server(code: 503, _)?), .some(.server(code: 10_039, _)?), .some(.server(code: 10_076, _)?):
            let fix = "turn JetStream on in the server's configuration"
            return Finding(name, .noConnection, "off for this account", fix: fix)
        case .some(.notAuthorized?):
            return Finding(name, .warning, "not shown to this user", fix: "ask the administrator for access to topics")
        case .some(let error?): return Finding(name, .noConnection, error.words, fix: "read the server's log")
        case nil:
            return Finding(
                name, .noConnection, "no answer within \(Wording.length(CheckLimit.connection))",
                fix: "read the server's log")
        }
    }

    /// Connects once, without retrying.
    ///
    /// - Returns: the client, and why it is not connected, with an outer nil if that was not known in time.
    private static func connect(_ configuration: RelayConfiguration) async -> (RelayClient, ConnectionReason??) {
        let client = RelayClient(
            configuration: configuration, surroundings: Surroundings(answerLimit: CheckLimit.step))
        let statuses = client.statuses
        await client.beginConnecting()
        let refusal = await within(CheckLimit.connection) { () -> ConnectionReason? in
            for await status in statuses {
                if status.state == .connected { return nil }
                if let reason = status.reason { return reason }
            }
            return .closedByUser
        }
        return (client, refusal)
    }
}
