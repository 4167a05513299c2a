import NATS

// What goes wrong on purpose, and what a server does of itself.
extension MemoryServer {
    /// What a request or a publish fails with.
    public enum Failure: Sendable, Hashable {
        /// JetStream refuses it.
        case refusal(JetStreamFailure)
        /// The subject has no subscriber, as with a stream that has no leader.
        case noResponders
        /// It vanishes: nothing is stored and there is no answer.
        case silence
    }

    /// What a client presented when it logged in.
    public struct Login: Sendable, Hashable {
        /// The name that the client gave itself.
        public var name: String?
        /// The user's name.
        public var user: String?
        /// A token.
        public var token: String?
        /// A user JWT.
        public var jwt: String?

        init(_ fields: JSON) {
            name = fields["name"]?.stringValue
            user = fields["user"]?.stringValue
            token = fields["auth_token"]?.stringValue
            jwt = fields["jwt"]?.stringValue
        }
    }

    /// What the server says of itself.
    public struct Info: Sendable, Hashable {
        /// The server's name.
        public var serverName = "memory"
        /// Its version.
        public var version = "2.10.0"
        /// The largest message that it takes, in bytes.
        public var maximumPayload = 1 << 20
        /// Whether it has JetStream.
        public var hasJetStream = true
        /// The name of its cluster; nil for a server alone.
        public var cluster: String?
        /// The servers of its cluster, `host:port`.
        public var connectURLs: [String] = []
        /// Whether it is about to close.
        public var isLameDuck = false
        /// What clients sign when they log in.
        public var nonce: String?

        /// The operation as it is sent to one client.
        func line(client: Int) -> String {
            var fields: [String: JSON] = [
                "server_id": "MEMORY", "server_name": .string(serverName), "version": .string(version), "proto": 1,
                "host": "127.0.0.1", "port": 4222, "headers": true, "max_payload": .integer(Int64(maximumPayload)),
                "client_id": .integer(Int64(client)), "client_ip": "127.0.0.1",
            ]
            if hasJetStream { fields["jetstream"] = true }
            if let cluster { fields["cluster"] = .string(cluster) }
            if !connectURLs.isEmpty { fields["connect_urls"] = .array(connectURLs.map { .string($0) }) }
            if isLameDuck { fields["ldm"] = true }
            if let nonce {
                fields["nonce"] = .string(nonce)
                fields["auth_required"] = true
            }
            return "INFO \(String(decoding: JSON.object(fields).bytes, as: UTF8.self)) \r\n"
        }
    }

    // MARK: Connections

    /// How often clients have tried to connect.
    public var dials: Int { look { $0.dialCount } }

    /// How many logins there were, the refused ones included.
    public var logins: Int { look { $0.loginCount } }

    /// What was presented at the newest login.
    public var lastLogin: Login? { look { $0.lastLogin } }

    /// How many clients are logged in.
    public var connections: Int { look { broker in broker.links.values.filter(\.isLoggedIn).count } }

    /// The subjects of what clients have published, requests included; of very many only the newest.
    public var received: [String] { look { $0.received } }

    /// The INFO for clients that connect from now on; `send(_:)` reaches those that are connected.
    public var info: Info {
        get { look { $0.info } }
        set { perform { $0.info = newValue } }
    }

    /// Has every attempt to connect fail, as with a server that is not there; nil has them succeed again.
    public func refuseDials(with error: NATSError?) {
        perform { $0.faults.dialRefusal = error }
    }

    /// Refuses logins.
    ///
    /// - Parameters:
    ///   - text: the words of the refusal, such as `Authorization Violation`; nil accepts every login.
    ///   - isRefused: which logins are meant; all by default. It must not call this server.
    public func refuseLogins(with text: String?, where isRefused: @escaping @Sendable (Login) -> Bool = { _ in true }) {
        perform { broker in
            broker.faults.loginRefusal = text.map { MemoryBroker.LoginRefusal(text: $0, isRefused: isRefused) }
        }
    }

    /// Closes all connections.
    public func disconnectAll() {
        perform { $0.disconnectAll() }
    }

    /// Halts the server: it takes what clients send and connections that are made, and does nothing. When it
    /// goes on, it first deals with what has come meanwhile, as a process does that was frozen.
    public func setSilent(_ isSilent: Bool) {
        perform { $0.setSilent(isSilent) }
    }

    // MARK: Answers

    /// Stores what is published to streams and does not say so: the acknowledgements are lost.
    public func holdAcknowledgements(_ isHeld: Bool) {
        perform { $0.faults.holdsAcknowledgements = isHeld }
    }

    /// Has what clients publish fail.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the subjects that are meant, such as `$JS.API.CONSUMER.CREATE.`; of several that
    ///     fit the longest counts.
    ///   - suffix: the end of the subjects that are meant.
    ///   - failure: what becomes of it; nil ends the fault.
    public func fail(subjectPrefix prefix: String, suffix: String = "", with failure: Failure?) {
        perform { $0.faults.failures[.init(prefix: prefix, suffix: suffix)] = failure }
    }

    /// Sends other numbers than those that are right, in everything that clients receive.
    ///
    /// - Parameter digits: what to send in place of each, by its name: that of a JSON member or a header, or `ack.5` to
    ///   `ack.8` for a word of the subject under which a consumer delivers.
    public func replaceNumbers(_ digits: [String: String]) {
        perform { $0.faults.numbers = digits }
    }

    /// Answers requests in the name of somebody who serves them.
    ///
    /// - Parameters:
    ///   - subject: the subject, which may hold wildcards.
    ///   - handler: makes the answer; nil ends the service.
    public func service(_ subject: String, handler: Handler?) {
        perform { $0.setService(subject, handler) }
    }

    // MARK: What the server says of itself

    /// Has every consumer of the moment say that there is nothing, whatever is stored, as where its server's copy of
    /// the stream has stopped catching up with the others. Consumers that are made later are on a whole copy.
    public func stallConsumers() { perform { $0.stallConsumers() } }

    /// Sends a sign of life to every request for messages that waits and wants them, before it is due.
    public func sendHeartbeats() { perform { $0.sendHeartbeats() } }

    /// Tells all clients that the server is about to close, and which others there are.
    public func sendLameDuck() {
        perform { broker in
            var info = broker.info
            info.isLameDuck = true
            broker.send(info)
        }
    }

    /// Sends an error to all clients.
    ///
    /// - Parameters:
    ///   - text: the words, without quotes.
    ///   - closes: whether the connections are closed behind it, as after an expired login.
    public func sendError(_ text: String, closes: Bool = false) {
        perform { $0.sendError(text, closes: closes) }
    }

    /// Changes what the server says of itself, and tells all clients.
    public func send(_ info: Info) {
        perform { broker in
            broker.info = info
            broker.send(info)
        }
    }
}
