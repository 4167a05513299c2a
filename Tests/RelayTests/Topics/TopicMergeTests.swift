import NATS
import Relay
import TestSupport
import Testing

@Suite struct TopicMergeTests {
    private typealias News = SubscriptionNews<TopicEvent>

    private let start = ContinuousClock.now

    private static func message(_ sequence: UInt64, id: String? = nil) -> News {
        let moment = Timestamp(milliseconds: 0)
        return .event(
            .message(
                TopicMessage(
                    id: id ?? "id-\(sequence)", topic: "chat.room", sequence: sequence, from: nil, text: "",
                    message: .null, time: moment, sentAt: moment)))
    }

    private static func messages(_ sequences: UInt64...) -> [News] { sequences.map { message($0) } }

    /// What has come out, in words: a message's sequence, or how many were lost.
    private static func words(_ events: [TopicEvent]) -> [String] {
        events.map { event in
            switch event {
            case .message(let message): "\(message.sequence)"
            case .unreadable(let sequence, _, _): "unreadable \(sequence)"
            case .gap(let lost): "lost \(lost)"
            case .live: "live"
            case .restarted: "restarted"
            case .interrupted: "interrupted"
            }
        }
    }

    private static func sequences(_ events: [TopicEvent]) -> [UInt64] {
        events.compactMap { if case .message(let message) = $0 { message.sequence } else { nil } }
    }

    /// A merge of subscriptions that are up to date.
    private func live(_ sources: Int, through sequence: UInt64, mayRepeat: Bool = false) -> TopicMerge {
        var merge = TopicMerge(sources: sources, mayRepeat: mayRepeat, at: start)
        for source in 0..<sources { merge.receive([.live(through: sequence)], from: source, at: start) }
        return merge
    }

    @Test("A message that cannot be read has its place in the order too")
    func unreadable() {
        var merge = live(2, through: 0, mayRepeat: true)
        let unreadable = News.event(.unreadable(sequence: 1, topic: "chat.room", bytes: 2))
        merge.receive([unreadable] + Self.messages(2), from: 0, at: start)
        merge.receive([unreadable], from: 1, at: start)
        #expect(Self.words(merge.release(at: start)) == ["unreadable 1", "2"])
    }

    @Test("A subscription that announces messages and stays silent does not hold others up for ever")
    func silent() {
        var merge = TopicMerge(sources: 2, mayRepeat: false, at: start)
        merge.receive([News.catchingUp] + Self.messages(1), from: 0, at: start)
        merge.receive(Self.messages(4), from: 1, at: start + .seconds(20))
        #expect(Self.sequences(merge.release(at: start + .seconds(20))) == [1])
        #expect(merge.wakeUp == start + .seconds(30))
        #expect(merge.release(at: start + .seconds(29)) == [])
        #expect(Self.sequences(merge.release(at: start + .seconds(30))) == [4])
        // From then on, as for one that is up to date.
        merge.receive(Self.messages(6), from: 1, at: start + .seconds(31))
        #expect(merge.release(at: start + .seconds(31)) == [])
        #expect(merge.wakeUp == start + .seconds(31) + .milliseconds(40))
        // Where it brings something after all, it is waited for again.
        merge.receive(Self.messages(2), from: 0, at: start + .seconds(31))
        #expect(Self.sequences(merge.release(at: start + .seconds(31))) == [2])
        #expect(merge.wakeUp == start + .seconds(61))
        merge.end(0)
        #expect(Self.sequences(merge.release(at: start + .seconds(31))) == [6])
    }

    @Test("B38: a new message waits for an earlier one of another topic, and for no longer than 40 ms")
    func held() {
        var merge = live(2, through: 10)
        merge.receive(Self.messages(12), from: 0, at: start)
        #expect(merge.release(at: start) == [])
        #expect(merge.wakeUp == start + .milliseconds(40))
        merge.receive(Self.messages(11), from: 1, at: start + .milliseconds(39))
        #expect(Self.sequences(merge.release(at: start + .milliseconds(39))) == [11, 12])
        #expect(merge.wakeUp == nil)

        let later = start + .seconds(1)
        merge.receive(Self.messages(14), from: 0, at: later)
        #expect(merge.release(at: later + .milliseconds(39)) == [])
        #expect(Self.sequences(merge.release(at: later + .milliseconds(40))) == [14])
        // What was slower than that is late, and goes at once.
        merge.receive(Self.messages(13), from: 1, at: later + .milliseconds(41))
        #expect(Self.sequences(merge.release(at: later + .milliseconds(41))) == [13])
    }

    @Test("B38: after an outage each topic is waited for until it has delivered what was missed")
    func outage() {
        var merge = live(2, through: 10)
        merge.receive([.catchingUp], from: 0, at: start)
        merge.receive([.catchingUp], from: 1, at: start)
        merge.receive(Self.messages(12, 14) + [News.live(through: 14)], from: 0, at: start)
        #expect(merge.release(at: start + .seconds(5)) == [])
        merge.receive(Self.messages(11), from: 1, at: start + .seconds(6))
        #expect(Self.sequences(merge.release(at: start + .seconds(6))) == [11, 12])
        merge.receive(Self.messages(13) + [News.live(through: 14)], from: 1, at: start + .seconds(7))
        #expect(Self.sequences(merge.release(at: start + .seconds(7))) == [13, 14])
    }

    @Test("A gap lets go what was held before it")
    func gap() {
        var merge = TopicMerge(sources: 2, mayRepeat: false, at: start)
        merge.receive(Self.messages(3, 5) + [News.event(.gap(lost: 4))] + Self.messages(10), from: 0, at: start)
        #expect(Self.words(merge.release(at: start)) == ["3", "5", "lost 4"])
        merge.receive(Self.messages(6) + [News.live(through: 10)], from: 1, at: start)
        #expect(Self.words(merge.release(at: start)) == ["6", "10"])
    }

    @Test("A stream that was made anew lets go what was held, and its sequences count from the beginning")
    func restart() {
        var merge = live(2, through: 100, mayRepeat: true)
        merge.receive(Self.messages(105), from: 0, at: start)
        #expect(merge.release(at: start) == [])
        merge.receive([.catchingUp, Self.message(1, id: "new-1"), Self.message(3, id: "new-3")], from: 0, at: start)
        #expect(Self.sequences(merge.release(at: start)) == [105, 1])
        merge.receive(
            [Self.message(2, id: "new-2"), Self.message(3, id: "new-3"), .live(through: 3)], from: 1, at: start)
        merge.receive([.live(through: 3)], from: 0, at: start)
        #expect(Self.sequences(merge.release(at: start)) == [2, 3])
        // The same place as in the old stream, and another message.
        merge.receive([Self.message(105, id: "new-105")], from: 1, at: start)
        #expect(Self.sequences(merge.release(at: start + .seconds(1))) == [105])
    }

    @Test("A stream that was made anew and is empty is noticed by where its end is")
    func restartWithoutMessages() {
        var merge = live(2, through: 100)
        merge.receive([.live(through: 0)], from: 0, at: start)
        merge.receive([.live(through: 0)], from: 1, at: start)
        merge.receive(Self.messages(2), from: 0, at: start)
        #expect(merge.release(at: start) == [])
        merge.receive(Self.messages(1), from: 1, at: start)
        #expect(Self.sequences(merge.release(at: start)) == [1, 2])
    }

    @Test("B40: a subscription that is far ahead is not read on, by bytes as well as by number")
    func far() {
        var merge = TopicMerge(
            sources: 2, mayRepeat: false, limits: TopicMerge.Limits(queue: 3, bytes: 100), at: start)
        guard case .events(let events, _) = Self.message(2), let event = events.first else { return }
        merge.receive([.event(event, bytes: 100)], from: 0, at: start)
        #expect(!merge.wantsMore(from: 0) && merge.wantsMore(from: 1))
        merge.receive(Self.messages(1, 3, 4), from: 1, at: start)
        #expect(!merge.wantsMore(from: 1))
        #expect(Self.sequences(merge.release(at: start)) == [1, 2, 3, 4])
        #expect(merge.wantsMore(from: 0) && merge.wantsMore(from: 1))
    }

    @Test("B38: that the stream was made anew is reported once, however many subscriptions say it")
    func restarted() {
        var merge = live(3, through: 50)
        for source in 0..<3 {
            merge.receive([.event(.restarted), .catchingUp], from: source, at: start)
        }
        #expect(Self.words(merge.release(at: start)) == ["restarted"])
        merge.receive(Self.messages(2) + [News.live(through: 3)], from: 0, at: start)
        merge.receive(Self.messages(1) + [News.live(through: 3)], from: 1, at: start)
        merge.receive(Self.messages(3) + [News.live(through: 3)], from: 2, at: start)
        #expect(Self.sequences(merge.release(at: start)) == [1, 2, 3])
        merge.receive([.event(.restarted)], from: 1, at: start)
        #expect(Self.words(merge.release(at: start)) == ["restarted"])
    }

    @Test("Nothing waits for a subscription that has ended, and a failure lets go what was held")
    func ending() {
        var merge = TopicMerge(sources: 2, mayRepeat: false, at: start)
        merge.receive(Self.messages(2, 3), from: 0, at: start)
        #expect(merge.release(at: start) == [])
        merge.end(1)
        #expect(!merge.wantsMore(from: 1))
        #expect(Self.sequences(merge.release(at: start)) == [2, 3])
        merge.end(0)
        #expect(merge.isOver)

        merge = TopicMerge(sources: 2, mayRepeat: false, at: start)
        merge.receive(Self.messages(2, 3), from: 0, at: start)
        #expect(Self.sequences(merge.flush()) == [2, 3])
        #expect(merge.wakeUp == nil && !merge.isOver)
    }

    @Test("B37, B38: random subscriptions in random turns give each stored message once and in order", .processorBound)
    func randomStored() {
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let count = Int.random(in: 1...4, using: &random)
            let newest = UInt64.random(in: 0...200, using: &random)
            var rest = [[News]](repeating: [], count: count)
            var expected: [UInt64] = []
            for sequence in stride(from: 1, through: newest, by: 1) {
                let takers = (0..<count).filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
                for source in takers { rest[source].append(Self.message(sequence)) }
                if !takers.isEmpty { expected.append(sequence) }
            }
            for source in 0..<count { rest[source].append(.live(through: newest)) }

            let limits = TopicMerge.Limits(
                patience: .seconds(1_000_000), queue: Int.random(in: 1...8, using: &random))
            var merge = TopicMerge(sources: count, mayRepeat: true, limits: limits, at: start)
            var now = start
            var seen: [UInt64] = []
            while true {
                now += .milliseconds(Int.random(in: 0...100, using: &random))
                let readable = (0..<count).filter { !rest[$0].isEmpty && merge.wantsMore(from: $0) }
                if let source = readable.randomElement(using: &random) {
                    let batch = rest[source].prefix(Int.random(in: 1...5, using: &random))
                    rest[source].removeFirst(batch.count)
                    merge.receive(Array(batch), from: source, at: now)
                    guard Bool.random(using: &random) else { continue }
                }
                let events = merge.release(at: now)
                seen += Self.sequences(events)
                // What only a moment holds back goes soon.
                let isStuck = merge.wakeUp.map { $0 - now > .seconds(1) } ?? true
                // A repetition goes without a word, and makes room.
                let hasRoom = (0..<count).contains { !rest[$0].isEmpty && merge.wantsMore(from: $0) }
                if events.isEmpty, !hasRoom, isStuck { break }
            }
            #expect(rest.allSatisfy { $0.isEmpty }, "seed \(seed): all wait for each other")
            #expect(seen == expected, "seed \(seed)")
        }
    }

    /// A message on its way over one subscription.
    private struct Delivery {
        var source: Int
        var sequence: UInt64
        var arrival: ContinuousClock.Instant
    }

    /// Messages that are stored one after the other, and come over one subscription or several, each in order.
    private func deliveries(_ sources: Int, delay: Int, _ random: inout SeededGenerator) -> [Delivery] {
        var deliveries: [Delivery] = []
        var last = [ContinuousClock.Instant](repeating: start, count: sources)
        var stored = start
        var sequence: UInt64 = 0
        for _ in 0..<200 {
            stored += .milliseconds(Int.random(in: 0...10, using: &random))
            // What lies in between belongs to other topics.
            sequence += UInt64.random(in: 1...2, using: &random)
            let first = Int.random(in: 0..<sources, using: &random)
            for source in 0..<sources {
                let isTaken = Int.random(in: 0..<4, using: &random) == 0
                guard source == first || isTaken else { continue }
                let arrival = stored + .milliseconds(Int.random(in: 0...delay, using: &random))
                last[source] = max(last[source], arrival)
                deliveries.append(Delivery(source: source, sequence: sequence, arrival: last[source]))
            }
        }
        return deliveries.sorted { ($0.arrival, $0.sequence) < ($1.arrival, $1.sequence) }
    }

    @Test(
        "B37, B38: new messages come once, none later than 40 ms after it arrived, and in order where none is slower",
        .processorBound, arguments: [39, 200])
    func randomNew(delay: Int) {
        for seed in 0..<80 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let sources = Int.random(in: 2...4, using: &random)
            let arriving = deliveries(sources, delay: delay, &random)
            var merge = live(sources, through: 0, mayRepeat: true)
            var arrivals: [UInt64: ContinuousClock.Instant] = [:]
            var seen: [UInt64] = []
            var latest = Duration.zero
            func take(_ events: [TopicEvent], at now: ContinuousClock.Instant) {
                for sequence in Self.sequences(events) {
                    seen.append(sequence)
                    latest = max(latest, now - (arrivals[sequence] ?? start))
                }
            }
            for delivery in arriving {
                while let moment = merge.wakeUp, moment < delivery.arrival {
                    take(merge.release(at: moment), at: moment)
                }
                if arrivals[delivery.sequence] == nil { arrivals[delivery.sequence] = delivery.arrival }
                merge.receive([Self.message(delivery.sequence)], from: delivery.source, at: delivery.arrival)
                take(merge.release(at: delivery.arrival), at: delivery.arrival)
            }
            while let moment = merge.wakeUp { take(merge.release(at: moment), at: moment) }
            let all = Set(arriving.map(\.sequence)).sorted()
            #expect(seen.sorted() == all, "seed \(seed)")
            #expect(delay > 40 || seen == all, "seed \(seed)")
            #expect(latest <= .milliseconds(40), "seed \(seed)")
        }
    }

    @Test("Whatever happens to the stream and its subscriptions, each message comes once and none stays behind")
    func randomBreaks() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let sources = Int.random(in: 2...4, using: &random)
            var merge = TopicMerge(sources: sources, mayRepeat: true, at: start)
            var places = [(incarnation: Int, sequence: UInt64)](repeating: (0, 0), count: sources)
            var fed: Set<String> = []
            var seen: [String] = []
            var now = start
            func take(_ events: [TopicEvent]) {
                for case .message(let message) in events { seen.append(message.id) }
            }
            for _ in 0..<300 {
                now += .milliseconds(Int.random(in: 0...50, using: &random))
                let source = Int.random(in: 0..<sources, using: &random)
                var news: [News] = []
                switch Int.random(in: 0..<20, using: &random) {
                case 0: news.append(.catchingUp)
                case 1: news.append(.live(through: places[source].sequence))
                case 2: news.append(.event(.gap(lost: 3)))
                case 3: places[source] = (places[source].incarnation + 1, 0)
                default: break
                }
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    places[source].sequence += UInt64.random(in: 1...4, using: &random)
                    let id = "\(places[source].incarnation)-\(places[source].sequence)"
                    fed.insert(id)
                    news.append(Self.message(places[source].sequence, id: id))
                }
                merge.receive(news, from: source, at: now)
                take(merge.release(at: now))
            }
            while let moment = merge.wakeUp { take(merge.release(at: moment)) }
            #expect(Set(seen).count == seen.count, "seed \(seed): a message came twice")
            #expect(Set(seen) == fed, "seed \(seed)")
            for source in 0..<sources { merge.end(source) }
            #expect(merge.isOver, "seed \(seed)")
        }
    }
}
