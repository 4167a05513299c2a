import NATS
import Testing

@testable import Relay

@Suite struct RelayErrorTests {
    @Test(
        "Every error says what happened in words of its own",
        arguments: [
            .invalidCredentials("the key is empty"), .notInitialized, .notConnected, .alreadyConnected,
            .invalidTopic("The topic is empty."), .invalidMessage("x"), .tooLarge(bytes: 2, limit: 1), .outboxFull,
            .invalidArgument("The limit is not positive"), .invalidToken, .notFound("The message"),
            .postboxNotAccepting("bob/work"), .conflict(key: "a", revision: 0), .conflict(key: "a", revision: 7),
            .notAuthorized("x"), .timeout("connect"), .busy("listing"), .connection(.appBlocked("x")),
            .server(code: 503, "x"), .cancelled, .storage("disk full"),
        ] as [RelayError]
    ) func words(_ error: RelayError) {
        #expect(error.words.count > 8 && error.words.hasSuffix("."))
        #expect(error.description == error.words)
    }

    @Test("A lost connection is said once")
    func lostOnce() {
        #expect(
            ConnectionReason(NATSError.connectionLost("the peer reset it")).words
                == "The connection was lost (the peer reset it).")
    }

    @Test(
        "A detail that is a sentence ends with one full stop",
        arguments: [
            { .invalidCredentials($0) }, { .invalidMessage($0) }, { .invalidArgument($0) }, { .notAuthorized($0) },
            { .server(code: 1, $0) }, { .storage($0) },
        ] as [@Sendable (String) -> RelayError]
    ) func fullStops(_ error: @Sendable (String) -> RelayError) {
        #expect(error("It is broken.").words == error("It is broken").words)
        #expect(!error("It is broken.").words.contains(".."))
        #expect(!error("and so on...").words.contains("...."))
    }

    @Test("Topic and envelope refusals become client errors with their reason")
    func conversions() {
        #expect(RelayError(TopicError.wildcard) == .invalidTopic(TopicError.wildcard.description))
        #expect(RelayError(EnvelopeError.notAMap) == .invalidMessage(EnvelopeError.notAMap.description))
    }
}
