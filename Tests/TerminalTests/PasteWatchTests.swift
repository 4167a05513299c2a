import Terminal
import Testing

@Suite("A paste without brackets")
struct PasteWatchTests {
    private static let start = ContinuousClock.now

    private static func keys(_ text: String) -> [InputEvent] {
        text.map { .key(Key($0 == "\n" ? .enter : .character($0))) }
    }

    private static func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    /// What was typed and pasted, in short: a paste stands in brackets.
    private static func words(_ events: [InputEvent]) -> String {
        events.map { event in
            switch event {
            case .key(Key(.enter)): "⏎"
            case .key(let key): if case .character(let character) = key.code { String(character) } else { "?" }
            case .paste(let text): "[\(text)]"
            default: "!"
            }
        }.joined()
    }

    @Test("Lines that come at once are one paste, which sends nothing, however they are split")
    func lines() {
        let text = (1...30).map { "line \($0)\n" }.joined()
        for size in [1, 3, 7, 64, 4_096] {
            var watch = PasteWatch()
            var events: [InputEvent] = []
            var rest = Self.keys(text)[...]
            var time = 0
            while !rest.isEmpty {
                events += watch.take(Array(rest.prefix(size)), at: Self.at(time))
                rest = rest.dropFirst(size)
                time += 2
            }
            #expect(watch.due == Self.at(time - 2) + PasteWatch.pause)
            events += watch.flush()
            #expect(Self.words(events) == "line 1[\(text.dropFirst(6))]", "\(size)")
            #expect(watch.due == nil)
        }
    }

    @Test("What is typed is handed on key by key, at once")
    func typed() {
        var watch = PasteWatch()
        var events: [InputEvent] = []
        for (place, key) in Self.keys("a\nbcdefgh\n\n\ni\n").enumerated() {
            let now = watch.take([key], at: Self.at(place * 35))
            #expect(now == [key] && watch.due == nil)
            events += now
        }
        #expect(Self.words(events) == "a⏎bcdefgh⏎⏎⏎i⏎")
    }

    @Test("A line or two that a slow link hands over together are typed; the last break waits a moment")
    func fewLines() {
        var watch = PasteWatch()
        var events = watch.take(Self.keys("hello\n"), at: Self.at(0))
        #expect(Self.words(events) == "hello" && watch.due == Self.at(30))
        events += watch.take(Self.keys("x"), at: Self.at(100))
        #expect(Self.words(events) == "hello⏎x" && watch.due == nil)
        events = watch.take(Self.keys("hello\na\nb\nc\n"), at: Self.at(200)) + watch.flush()
        #expect(Self.words(events) == "hello⏎a⏎b⏎c⏎")
    }

    @Test("What a link that stood still brings of a paste soon after it is paste as well, and Enter sends it as ever")
    func gapInside() {
        var watch = PasteWatch()
        let (first, rest) = ((1...8).map { "line \($0)\n" }.joined(), "line 9\nline 10\n")
        var events = watch.take(Self.keys(first), at: Self.at(0))
        events += watch.flush()
        events += watch.take(Self.keys(rest), at: Self.at(200))
        events += watch.flush()
        events += watch.take(Self.keys("x\n"), at: Self.at(690))
        #expect(watch.due == Self.at(690) + PasteWatch.pause)
        events += watch.flush()
        #expect(Self.words(events) == "line 1[\(first.dropFirst(6))][\(rest)][x\n]")
        // One key alone is somebody's, and so is what comes later, or behind another key.
        #expect(watch.take(Self.keys("\n"), at: Self.at(800)) == Self.keys("\n"))
        #expect(watch.take(Self.keys("ok\n"), at: Self.at(1_400)) == Self.keys("ok\n"))
        events = watch.take(Self.keys(first), at: Self.at(2_000)) + watch.flush()
        events = watch.take([.key(.control("u"))], at: Self.at(2_100))
        events += watch.take(Self.keys("ok\n"), at: Self.at(2_200))
        #expect(events == [.key(.control("u"))] + Self.keys("ok\n"))
    }

    @Test("A paste that comes at once sends nothing, however short its first lines are")
    func shortFirstLine() {
        for (first, rest) in [
            ("{", "\n \"a\": 1,\n \"b\": 2,\n \"c\": 3\n}"), ("hi", "\nthere\na\nb\nc\n"), ("", "\n\n\n\nx\n"),
        ] {
            var watch = PasteWatch()
            let events = watch.take(Self.keys(first + rest), at: Self.at(0)) + watch.flush()
            #expect(Self.words(events) == "\(first)[\(rest)]")
        }
    }

    @Test("A key of another kind ends it, and what is held comes first")
    func otherKeys() {
        var watch = PasteWatch()
        let events = watch.take(Self.keys("hello\na") + [.key(.control("g"))] + Self.keys("b\nc"), at: Self.at(0))
        #expect(Self.words(events + watch.flush()) == "hello⏎agb⏎c")
    }

    @Test("However long it is, what is held is bounded, and all of it is a paste")
    func bounded() {
        var watch = PasteWatch()
        let text = "first\nsecond\n" + String(repeating: "x\n", count: 80_000)
        var events = watch.take(Self.keys(text), at: Self.at(0))
        events += watch.flush()
        let pastes = events.filter { if case .paste = $0 { true } else { false } }
        #expect((2...8).contains(pastes.count) && !events.contains(.key(Key(.enter))))
        let isWhole = Self.words(pastes).filter { $0 != "[" && $0 != "]" } == text.dropFirst(5)
        #expect(isWhole)
    }
}
