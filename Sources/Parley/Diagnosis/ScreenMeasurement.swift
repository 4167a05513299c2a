import Relay
import Terminal

/// Measures the cost of a key and a message for the screen's thread, compared with the minimum for any such program.
struct ScreenMeasurement {
    let messages: Int
    /// The keys typed under each load.
    let keys: Int
    private let size = Size(rows: 40, columns: 120)

    private static let topics = ["chat.lobby", "chat.qa", "chat.ops", "alerts.build"]

    /// Runs all measurements, with a second for each hundred keys and load.
    func run() -> [(name: String, value: Double)] {
        let floor = median(bareFrames())
        var figures: [(name: String, value: Double)] = [("n", Double(messages)), ("bare_frame_us", floor * 1e6)]
        let filling = fill()
        // Messages per second in the open topic, or in four topics together.
        for (name, rate, topics) in [("idle", 0, 1), ("100", 100, 1), ("5000", 5_000, 1), ("20000", 20_000, 4)] {
            let screen = type(in: filling.network, rate: rate, topics: topics)
            let delays = screen.delays.sorted()
            figures.append(("key_\(name)_p50_us", median(delays) * 1e6))
            figures.append(("key_\(name)_p99_us", (delays.isEmpty ? 0 : delays[delays.count * 99 / 100]) * 1e6))
            figures.append(("key_\(name)_of_bare_frame", median(delays) / floor))
        }
        let (rate, bare) = (filling.rate, filling.bareRate)
        return figures + [("msgs_s", rate), ("bare_msgs_s", bare), ("msgs_of_bare", rate / bare)]
    }

    // MARK: Messages

    /// Has the loop take in the conversation as fast as it can; for comparison, puts the same messages into an array
    /// and a dictionary, which every client needs to detect duplicates.
    private func fill() -> (network: NetworkState, rate: Double, bareRate: Double) {
        let all = (0..<messages).map { message($0, Self.topics[0]) }
        let news = all.map { ChatEvent.topic($0.topic, [.message($0)]) }
        let screen = MeasuredScreen(size: size, news: news, rate: nil, keys: 0)
        var loop = loop(screen, joined())
        let seconds = self.seconds {
            loop.begin()
            loop.run()
        }
        var rows: [TopicMessage] = []
        var known: [String: UInt64] = [:]
        let bare = self.seconds {
            for message in all where known.updateValue(message.sequence, forKey: message.id) == nil {
                rows.append(message)
            }
        }
        let rate = Double(messages) / max(1e-9, seconds - screen.sending / .seconds(1))
        return (loop.model.network, rate, Double(rows.count) / max(1e-9, bare))
    }

    // MARK: Keys

    private func type(in network: NetworkState, rate: Int, topics: Int) -> MeasuredScreen {
        let model = joined()
        model.network = network
        model.now = .now
        for topic in Self.topics[1..<topics] {
            _ = model.join(topic, shows: false)
            settle(topic, model)
        }
        // Enough for the time that typing takes.
        let count = rate * (keys / 100 + 2)
        // As many as a connection delivers at once.
        let batch = max(1, rate / 1_000)
        let news = stride(from: 0, to: count, by: batch).map { first in
            let topic = Self.topics[first / batch % topics]
            return ChatEvent.topic(
                topic, (first..<first + batch).map { .message(message(messages + $0, topic)) })
        }
        let screen = MeasuredScreen(size: size, news: news, rate: rate / batch, keys: keys)
        var loop = loop(screen, model)
        loop.begin()
        loop.run()
        return screen
    }

    /// The minimum for any program that draws a grid of cells: fill a frame, and compare it with the last one.
    private func bareFrames() -> [Double] {
        // A cell is three words.
        let words = size.rows * size.columns * 3
        var shown = [UInt64](repeating: 0, count: words)
        return (1...200).map { number in
            seconds {
                var frame = [UInt64](repeating: 0, count: words)
                frame[number] = UInt64(number)
                var changed = 0
                for index in 0..<words where frame[index] != shown[index] { changed += 1 }
                if changed > 0 { shown = frame }
            }
        }
    }

    // MARK: Parts

    private func loop(_ screen: MeasuredScreen, _ model: ChatModel) -> ChatLoop {
        let run = EngineRun(queue: screen.queue, standIn: { _ in true })
        return ChatLoop(screen, [WindowChat(name: "", model: model, run: run)], clock: { .now })
    }

    /// A model that has joined the first topic.
    private func joined() -> ChatModel {
        let model = ChatModel(
            identity: .init(user: "alice", network: "bench"), size: size, now: .now,
            status: ConnectionStatus(state: .connected, roundTripTime: .microseconds(400)), origin: "bench")
        _ = update(model, .start(topics: [Self.topics[0]]))
        settle(Self.topics[0], model)
        return model
    }

    private func settle(_ topic: String, _ model: ChatModel) {
        _ = update(model, .topic(topic, [.live]))
        _ = update(model, .past(topic, .history([], isComplete: true)))
    }

    private static let texts = [
        "the build is green again, all four checks have run",
        "has anybody seen why the nightly job took twice as long? it waited for a lock for most of the time",
        "ok", "wird gemacht, übermorgen früh liegt es im gemeinsamen Ordner", "деплой прошёл, графики ровные",
        "修正を確認しました。問題なさそうです", "thanks 👍", "see the notes of the meeting, second page, last paragraph",
    ]

    private func message(_ index: Int, _ topic: String) -> TopicMessage {
        let time = Timestamp(milliseconds: 1_763_719_200_000 + Int64(index) * 250)
        return TopicMessage(
            id: "bench-message-\(index)", topic: topic, sequence: UInt64(index + 1), from: "user\(index % 50)",
            text: "\(Self.texts[index % Self.texts.count]) (\(index))", message: .null, time: time, sentAt: time)
    }

    private func seconds(_ body: () -> Void) -> Double { ContinuousClock().measure(body) / .seconds(1) }

    private func median(_ values: [Double]) -> Double {
        let values = values.sorted()
        return values.isEmpty ? 0 : values[values.count / 2]
    }
}
