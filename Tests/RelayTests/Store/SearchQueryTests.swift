import GRDB
import Testing

@testable import Relay

@Suite("Local store: what is looked for")
struct SearchQueryTests {
    @Test("Words, phrases and what must not be there are told apart")
    func terms() {
        let query = SearchQuery(#"build "is green" -red -"quite broken""#)
        #expect(
            query.terms == [
                .init("build"), .init("is green", isPhrase: true), .init("red", isExcluded: true),
                .init("quite broken", isPhrase: true, isExcluded: true),
            ])
        #expect(!query.isEmpty)
        #expect(SearchQuery("  \t ").isEmpty && SearchQuery("-red").isEmpty && SearchQuery("*** ?!").isEmpty)
    }

    @Test("Filters name senders, topics and days")
    func filters() throws {
        let query = SearchQuery(
            #"from:bob FROM:"carol the builder" in:chat.* in:alerts.> after:2026-11-20 before:2026-11-22T10:30Z x"#,
            secondsFromGMT: 3_600)
        #expect(query.senders == ["bob", "carol the builder"])
        #expect(query.topics == [try TopicPattern("chat.*"), try TopicPattern("alerts.>")])
        // The day begins an hour earlier where the clocks are an hour ahead.
        #expect(query.after == Timestamp(iso8601: "2026-11-19T23:00Z"))
        #expect(query.before == Timestamp(iso8601: "2026-11-22T10:30Z"))
        #expect(query.terms == [.init("x")])
    }

    @Test("What is no filter is looked for as it was typed")
    func noFilters() {
        let query = SearchQuery("http://example.org in:$wrong before:yesterday from:!! -from:bob to:me after:")
        #expect(query.senders.isEmpty && query.topics.isEmpty && query.before == nil && query.after == nil)
        #expect(
            query.terms.map(\.text) == [
                "http://example.org", "in:$wrong", "before:yesterday", "from:!!", "from:bob", "to:me", "after",
            ])
        #expect(query.terms.map(\.isExcluded) == [false, false, false, false, true, false, false])
    }

    @Test("No text is an error of the search")
    func hostile() throws {
        let words = try DatabaseQueue()
        try words.write { try $0.execute(sql: StoreSchema.words) }
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("\"\"''*-+^:(){}[]\\,.;ANDORNOTNEAR ab\0\n今é\u{301}\u{200D}😀")
        var texts = [
            "\"", "\"\"", "NEAR(", "a AND", "NOT NOT", "text:x", "{a b}:c", "^a", "a* *", "from:\"", "-", "--",
        ]
        for _ in 0..<2_000 {
            texts.append(
                String(
                    (0..<Int.random(in: 1...24, using: &generator)).map { _ in
                        alphabet.randomElement(using: &generator) ?? "a"
                    }))
        }
        for text in texts {
            let query = SearchQuery(text)
            guard let expression = query.expression(topicNumbers: [1]) else { continue }
            #expect(throws: Never.self, "\(text.debugDescription)") {
                try words.read {
                    _ = try Int64.fetchAll(
                        $0, sql: "SELECT rowid FROM words WHERE words MATCH ?", arguments: [expression])
                }
            }
        }
    }

    @Test("A very long text costs no more than its beginning")
    func long() {
        let query = SearchQuery(String(repeating: "word from:bob in:chat ", count: 10_000))
        #expect(query.terms.count == SearchQuery.maximumTerms)
        #expect(query.senders.count == SearchQuery.maximumTerms && query.topics.count == SearchQuery.maximumTerms)
    }

    @Test(
        "A filter without a value is found, and what only looks like one is not",
        arguments: [
            ("from:", "from"), ("x from: bob", "from"), ("In: chat.qa", "in"), ("from:\"\"", "from"),
            ("from:bob after:", "after"), ("before:\" \" x", "before"), ("in:a from:", "from"),
            ("from:bob", nil), ("to: bob", nil), ("from", nil), ("\"from: bob\"", nil), ("-from: x", nil), (":", nil),
            ("from:\"bob\"", nil), ("", nil), ("http://from:", nil),
        ] as [(String, String?)])
    func filterWithoutValue(_ text: String, _ filter: String?) {
        #expect(SearchQuery.filterWithoutValue(in: text) == filter)
        // It goes on counting as a word, so that no text is an error for other callers.
        if filter != nil { #expect(!SearchQuery(text).isEmpty) }
    }
}
