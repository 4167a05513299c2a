import Testing

@testable import NATS

@Suite("Meaning of the server's error texts")
struct ServerErrorTextTests {
    struct Entry: Sendable, CustomTestStringConvertible {
        var text: String
        var error: NATSError
        var testDescription: String { text }
        init(_ text: String, _ error: NATSError) {
            self.text = text
            self.error = error
        }
    }

    @Test(
        "ends the connection for a typed reason, in any case and with words behind it",
        arguments: [
            Entry("Authorization Violation", .authorization(.violation)),
            Entry("User Authentication Expired", .authorization(.userExpired)),
            Entry("User Authentication Revoked", .authorization(.userRevoked)),
            Entry("Account Authentication Expired", .authorization(.accountExpired)),
            Entry("Stale Connection", .staleConnection), Entry("Secure Connection - TLS Required", .tlsRequired),
        ])
    func fatal(entry: Entry) {
        for text in [entry.text, entry.text.lowercased(), entry.text.uppercased(), entry.text + " - details"] {
            #expect(ServerErrorText(text) == .fatal(entry.error))
        }
        #expect(entry.error.isRetryable == (entry.error == .staleConnection))
    }

    @Test(
        "takes a full server or account for something that passes",
        arguments: [
            "maximum account active connections exceeded", "maximum connections exceeded",
            "Connection throttling is active. Please try again later.", "Failed Account Registration",
            "Authentication Timeout",
        ])
    func retryable(text: String) throws {
        guard case .fatal(let error) = ServerErrorText(text) else {
            Issue.record("not fatal")
            return
        }
        #expect(error.isRetryable)
        switch error {
        case .connectionLimit, .timeout: break
        default: Issue.record("\(error)")
        }
    }

    @Test(
        "reports broken protocol loudly",
        arguments: [
            "Maximum Payload Violation", "maximum control line exceeded", "Unknown Protocol Operation",
            "invalid client protocol", "no responders requires headers support", "Parser Error",
        ])
    func violations(text: String) {
        #expect(ServerErrorText(text) == .fatal(.protocolViolation("it answered \(text)")))
    }

    @Test("takes an unknown text for a reason to connect anew")
    func unknown() {
        let error = NATSError.closedByServer("Cosmic Rays")
        #expect(ServerErrorText("Cosmic Rays") == .fatal(error))
        #expect(error.isRetryable)
    }

    @Test("ties a refused publish to its subject", arguments: ["a.b", "grüße", "$JS.API.STREAM.INFO.S"])
    func publishes(subject: String) {
        #expect(
            ServerErrorText("Permissions Violation for Publish to \"\(subject)\"") == .publishRefused(subject: subject))
    }

    @Test("finds no subject where none is quoted, and keeps the connection")
    func withoutSubject() {
        #expect(ServerErrorText("Permissions Violation for Publish") == .publishRefused(subject: ""))
        #expect(ServerErrorText("maximum subscriptions exceeded") == .notice(.subscriptionLimit))
        #expect(ServerErrorText("Invalid Subject") == .notice(.invalidSubject("")))
        #expect(ServerErrorText("Invalid Publish Subject") == .notice(.invalidSubject("")))
    }

    @Test("ties a refused subscription to its subject, queue group and number")
    func subscriptions() {
        let begin = "Permissions Violation for Subscription to "
        let table: [(String, ServerErrorText)] = [
            ("\"a\"", .subscriptionRefused(subject: "a", queue: nil, sid: nil)),
            ("\"a.>\" using queue \"q\"", .subscriptionRefused(subject: "a.>", queue: "q", sid: nil)),
            ("\"a\" (sid \"7\")", .subscriptionRefused(subject: "a", queue: nil, sid: 7)),
            ("\"a\" using queue \"q\" (sid \"7\")", .subscriptionRefused(subject: "a", queue: "q", sid: 7)),
            ("\"using queue \"", .subscriptionRefused(subject: "using queue ", queue: nil, sid: nil)),
            ("\"a\" (sid \"x\")", .subscriptionRefused(subject: "a", queue: nil, sid: nil)),
        ]
        for (end, meaning) in table { #expect(ServerErrorText(begin + end) == meaning) }
    }
}
