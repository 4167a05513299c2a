import Relay
import Testing

@Suite struct RelayErrorTests {
    @Test(
        "Every error says what happened in words of its own",
        arguments: [
            .invalidCredentials("the key is empty"), .notInitialized, .notConnected, .alreadyConnected,
            .invalidTopic("The topic is empty."), .invalidMessage("x"), .tooLarge(bytes: 2, limit: 1), .outboxFull,
            .invalidArgument("The limit is not positive"), .invalidToken, .notFound("The message"),
            .postboxNotAccepting("bob/work"),
            .notAuthorized("x"), .timeout("connect"), .busy("listing"), .connection(.appBlocked),
            .server(code: 503, "x"), .cancelled, .storage("disk full"),
        ] as [RelayError]
    ) func words(_ error: RelayError) {
        #expect(error.words.count > 8 && error.words.hasSuffix("."))
        #expect(error.description == error.words)
    }

    @Test("Topic and envelope refusals become client errors with their reason")
    func conversions() {
        #expect(RelayError(TopicError.wildcard) == .invalidTopic(TopicError.wildcard.description))
        #expect(RelayError(EnvelopeError.notAMap) == .invalidMessage(EnvelopeError.notAMap.description))
    }
}
