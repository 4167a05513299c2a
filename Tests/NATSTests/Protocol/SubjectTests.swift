import Testing

@testable import NATS

@Suite("Rules for subjects")
struct SubjectTests {
    @Test(
        "plain subjects are for both uses, wildcards for subscriptions alone, and what would inject protocol for none",
        arguments: [
            (
                [
                    "a", "a.b", "a.b.c-d_e", "$JS.API.INFO", "grüße.日本", "a*b", "a.b>", "_INBOX.x.1", "**", ">>",
                    "a.>b", String(repeating: "x", count: Subject.maximumBytes),
                ], true, true
            ),
            (["*", ">", "a.*", "*.b", "a.>", "a.*.c.>", "*.*"], false, true),
            (
                [
                    "", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB b 0", "a\n", "a\u{0}", "a\u{7F}", " ", "*.",
                    ".>", "a*.", "a*..b", "a* b", "a.*b.", ">.a", "a.>.b", ">.>",
                    String(repeating: "x", count: Subject.maximumBytes + 1),
                ], false, false
            ),
        ] as [([String], Bool, Bool)])
    func uses(texts: [String], isPublishable: Bool, isSubscribable: Bool) {
        for text in texts {
            #expect(Subject.isPublishable(text) == isPublishable, "\(text.debugDescription)")
            #expect(Subject.isSubscribable(text) == isSubscribable, "\(text.debugDescription)")
        }
    }

    @Test("take queue names without white space")
    func queues() {
        for name in ["q", "q.1", "日本", String(repeating: "q", count: 255)] { #expect(Subject.isQueueName(name)) }
        for name in ["", "a b", "a\r\n", "\u{7F}", String(repeating: "q", count: 256)] {
            #expect(!Subject.isQueueName(name))
        }
    }
}
