import NATS
import NIOConcurrencyHelpers
import TestSupport

@testable import Relay

/// What a sequence has brought so far.
final class Gathered<Element: Sendable>: Sendable {
    private let elements = NIOLockedValueBox<[Element]>([])
    private let task: Task<Void, Never>

    init<Source: AsyncSequence & Sendable>(_ source: Source) where Source.Element == Element {
        task = Task { [elements] in
            do {
                for try await element in source { elements.withLockedValue { $0.append(element) } }
            } catch {
                // What has come until then is all there is.
            }
        }
    }

    deinit { task.cancel() }

    var all: [Element] { elements.withLockedValue { $0 } }

    /// Waits until `condition` holds of what has come.
    func wait(for what: String, _ condition: @Sendable ([Element]) -> Bool) async throws {
        try await eventually(what) { condition(all) }
    }
}

extension Gathered where Element == TopicEvent {
    private var messages: [TopicMessage] {
        all.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    var texts: [String] { messages.map(\.text) }

    /// The texts of what was missed at first.
    var recovered: [String] { messages.filter(\.isRecovered).map(\.text) }

    /// Waits for a message with this text.
    func wait(forText text: String) async throws {
        try await eventually("“\(text)”") { texts.contains(text) }
    }
}

/// Hears what it is called back for: the texts of messages, and the names of system events.
final class TextListener: MessageListener, Sendable {
    let heard = Collected()

    func onMessage(_ message: Any) { heard.add((message as? TopicMessage)?.text ?? "\(message)") }
}

/// Hears which messages that waited were sent.
final class ResentListener: MessageListener, Sendable {
    private let lists = NIOLockedValueBox<[[ResentMessage]]>([])

    var heard: [[ResentMessage]] { lists.withLockedValue(\.self) }

    func onMessage(_ message: Any) {
        if let messages = message as? [ResentMessage] { lists.withLockedValue { $0.append(messages) } }
    }
}

/// Users' tokens. A server in memory takes them whoever signed them.
enum UserToken {
    static func text(
        for user: String = MemoryNetwork.user, expires: Int64? = nil, signedBy account: NKeyPair = .generate(.account)
    ) throws -> String {
        var grant = UserGrant()
        grant.template.bearerToken = true
        var claims = UserClaims(subject: NKeyPair.generate(.user).publicKey, name: user, grant: grant)
        claims.expires = expires
        return try claims.encode(signedBy: account)
    }

    static func credentials(
        for user: String = MemoryNetwork.user, expires: Int64? = nil, signedBy account: NKeyPair = .generate(.account)
    ) throws -> RelayCredentials {
        let token = try text(for: user, expires: expires, signedBy: account)
        return try RelayCredentials.accessToken(token)
    }
}

extension RelayClient {
    func state(is state: ConnectionStatus.State) async throws {
        try await eventually("the state \(state)") { status.state == state }
    }

    /// Takes the connection away, as the background does, or lets it come back.
    func setReachable(_ isReachable: Bool) {
        connection.handle(isReachable ? .resumeRequested : .suspendRequested, for: self)
    }

    /// What is heard of a topic, from when the subscription is live.
    func gathered(_ topic: String, from start: SubscriptionStart = .new) async throws -> Gathered<TopicEvent> {
        let gathered = Gathered(try messages(topic: topic, from: start))
        try await gathered.wait(for: "the live subscription") { $0.contains(.live) }
        return gathered
    }
}
