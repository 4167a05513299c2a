import Testing

@testable import NATS

@Suite("Rules for subjects")
struct SubjectTests {
    @Test(
        "take plain subjects for both uses",
        arguments: [
            "a", "a.b", "a.b.c-d_e", "$JS.API.INFO", "grüße.日本", "a*b", "a.b>", "_INBOX.x.1", "**", ">>", "a.>b",
            String(repeating: "x", count: Subject.maximumBytes),
        ])
    func plain(text: String) {
        #expect(Subject.isPublishable(text))
        #expect(Subject.isSubscribable(text))
    }

    @Test("take wildcards for subscriptions only", arguments: ["*", ">", "a.*", "*.b", "a.>", "a.*.c.>", "*.*"])
    func wildcards(text: String) {
        #expect(!Subject.isPublishable(text))
        #expect(Subject.isSubscribable(text))
    }

    @Test(
        "refuse what could not be sent or would inject protocol",
        arguments: [
            "", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB b 0", "a\n", "a\u{0}", "a\u{7F}", " ", "*.", ".>",
            "a*.", "a*..b", "a* b", "a.*b.", String(repeating: "x", count: Subject.maximumBytes + 1),
        ])
    func refused(text: String) {
        #expect(!Subject.isPublishable(text))
        #expect(!Subject.isSubscribable(text))
    }

    @Test("refuse > before the end", arguments: [">.a", "a.>.b", ">.>"])
    func misplaced(text: String) {
        #expect(!Subject.isPublishable(text))
        #expect(!Subject.isSubscribable(text))
    }

    @Test("take queue names without white space")
    func queues() {
        for name in ["q", "q.1", "日本", String(repeating: "q", count: 255)] { #expect(Subject.isQueueName(name)) }
        for name in ["", "a b", "a\r\n", "\u{7F}", String(repeating: "q", count: 256)] {
            #expect(!Subject.isQueueName(name))
        }
    }
}
