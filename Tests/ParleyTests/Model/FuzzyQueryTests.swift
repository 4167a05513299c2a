import TestSupport
import Testing

@testable import Parley

@Suite("Finding by some letters")
struct FuzzyQueryTests {
    /// The texts that are found, the best first.
    private static func found(_ query: String, in texts: [String]) -> [String] {
        FuzzyQuery(query).ranked(texts.map { FuzzyText($0) }).map { texts[$0] }
    }

    /// The text with the letters in brackets that are found in it.
    private static func marked(_ query: String, in text: String) -> String {
        let places = FuzzyQuery(query).places(in: FuzzyText(text)).title
        return text.enumerated().map { places.contains($0) ? "[\($1)]" : "\($1)" }.joined()
    }

    @Test("The letters have to be there in their order, whatever their case and marks")
    func letters() {
        let texts = ["chat.lobby", "Éclair", "über", "STRASSE"]
        #expect(Self.found("cly", in: texts) == ["chat.lobby"])
        #expect(Self.found("ylc", in: texts) == [])
        #expect(Self.found("ECLAIR", in: texts) == ["Éclair"])
        #expect(Self.found("uber", in: texts) == ["über"])
        #expect(Self.found("Ü", in: texts) == ["über"])
        #expect(Self.found("strasse", in: texts) == ["STRASSE"])
        #expect(Self.found("", in: texts) == texts)
        #expect(Self.found("  ", in: texts) == texts)
    }

    @Test(
        "The better way to have the letters comes first",
        arguments: [
            // The whole name, then a beginning, then a word's beginning, then the middle of one.
            ("qa", ["qa", "qa.build", "chat.qa", "aqab"]),
            // Beginnings of words before letters in the middle of them.
            ("cl", ["chat.lobby", "a.cobble"]),
            // Letters side by side before letters apart.
            ("bui", ["a.build", "a.bxuxi"]),
            // Capitals begin words.
            ("fb", ["fooBar", "foobar"]),
            // What is side by side at a beginning before single beginnings.
            ("qa", ["qa.x", "q.a"]),
            ("next topic", ["next topic", "next unread topic"]),
        ])
    func order(query: String, texts: [String]) {
        #expect(Self.found(query, in: texts.reversed()) == texts)
    }

    @Test("Texts that are as good as each other stay in their order")
    func stable() {
        let texts = (0..<50).map { "room.\($0 % 10)\($0 / 10)x" }
        #expect(Self.found("room", in: texts) == texts)
    }

    @Test("Words may come in any order, and all of them have to be there")
    func words() {
        let texts = ["next topic", "previous topic", "next page"]
        #expect(Self.found("topic next", in: texts) == ["next topic"])
        #expect(Self.found("page topic", in: texts) == [])
    }

    @Test(
        "The letters that are shown as found are those of the best way",
        arguments: [
            ("lob", "chat.lobby", "chat.[l][o][b]by"), ("cl", "chat.lobby", "[c]hat.[l]obby"),
            ("o.b", "foo.bar", "fo[o][.][b]ar"), ("top ne", "next topic", "[n][e]xt [t][o][p]ic"),
            ("日", "の日本", "の[日]本"), ("ba", "xbxa.ba", "xbxa.[b][a]"), ("x", "chat", "chat"),
        ])
    func marks(query: String, text: String, marked: String) {
        #expect(Self.marked(query, in: text) == marked)
    }

    @Test("What is said of a thing is looked through too, and counts less than its name")
    func details() {
        let texts = [
            FuzzyText("/close", detail: "leave the network"), FuzzyText("/leave", detail: "go"),
        ]
        #expect(FuzzyQuery("leave").ranked(texts) == [1, 0])
        let places = FuzzyQuery("network").places(in: texts[0])
        #expect(places.title == [] && places.detail == Array(10...16))
    }

    @Test("Ten thousand names are looked through at once, the longest query and the worst names too", .processorBound)
    func many() {
        let names = (0..<10_000).map { FuzzyText("project.team\($0 % 97).service-\($0).alerts") }
        var found: [Int] = []
        let usual = ProcessorTime.measure { found = FuzzyQuery("pt7 s4242").ranked(names) }
        #expect(found.contains(4_242))
        #expect(usual < .seconds(5), "a build without optimisation takes a part of that")
        let hostile = (0..<200).map { _ in FuzzyText(String(repeating: "a", count: 100_000)) }
        let worst = ProcessorTime.measure { found = FuzzyQuery(String(repeating: "a", count: 100_000)).ranked(hostile) }
        #expect(found.count == 200)
        #expect(worst < .seconds(5))
    }
}
