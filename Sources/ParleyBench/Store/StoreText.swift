import NATS
import Platform
import Relay

/// Chat messages in several languages, the same in every run. Word frequencies follow Zipf's law, as in real texts.
struct StoreText {
    /// The number of words of each language.
    static let words = 2_000
    static let (topics, senders) = (20, 50)
    static let stream = StreamIdentity(name: "bench_stream", incarnation: 1)
    /// The text of the newest message only.
    static let newestWord = "zzlastline"

    private struct Language {
        var words: [String]
        var separator = " "

        /// Distinct words of one to four syllables.
        init(_ onsets: [String], _ vowels: String, _ random: inout SeededGenerator) {
            let syllables = onsets.flatMap { onset in vowels.map { onset + String($0) } }
            var seen: Set<String> = []
            words = []
            while words.count < StoreText.words {
                // Frequent words are short.
                let count = min(4, 1 + words.count / 40 + Int.random(in: 0..<2, using: &random))
                let word = (0..<count).compactMap { _ in syllables.randomElement(using: &random) }.joined()
                if seen.insert(word).inserted { words.append(word) }
            }
        }

        /// Words of two ideographs, without spaces between them.
        init(ideographs random: inout SeededGenerator) {
            let ideographs = (0..<1_200).compactMap { Unicode.Scalar(0x4E00 + UInt32($0) * 7) }.map { String($0) }
            words = (0..<StoreText.words).map { _ in
                (0..<2).compactMap { _ in ideographs.randomElement(using: &random) }.joined()
            }
            separator = ""
        }
    }

    private var random = SeededGenerator(seed: 1)
    private let languages: [Language]

    init() {
        var random = SeededGenerator(seed: 7)
        let latin = Language("b c d f g l m n p r s t th".split(separator: " ").map(String.init), "aeiou", &random)
        let umlauts = Language("b d g k l m n sch st w z".split(separator: " ").map(String.init), "aeiouäöü", &random)
        let cyrillic = Language("бвгдзклмнпрст".map(String.init), "аеиоуыя", &random)
        languages = [latin, umlauts, cyrillic, Language(ideographs: &random)]
    }

    /// A word of the first language by its rank, the most frequent first.
    func word(_ rank: Int) -> String { languages[0].words[min(rank, Self.words - 1)] }

    static func topic(_ number: Int) -> String { "room.\(number % topics)" }

    static func sender(_ number: Int) -> String { "user\(number % senders)" }

    static func time(_ sequence: Int) -> Timestamp {
        Timestamp(milliseconds: 1_767_225_600_000 + Int64(sequence) * 10_000)
    }

    /// The next message: 3 to 20 words.
    mutating func next() -> String {
        let share = Int.random(in: 0..<10, using: &random)
        let language = languages[share < 6 ? 0 : share < 8 ? 1 : share < 9 ? 2 : 3]
        let count = Int.random(in: 3...20, using: &random)
        return (0..<count).map { _ in language.words[rank()] }.joined(separator: language.separator)
    }

    /// The logarithm of the rank is evenly distributed.
    private mutating func rank() -> Int {
        min(Self.words, Int(exp(Double.random(in: 0..<log(Double(Self.words + 1)), using: &random)))) - 1
    }

    mutating func message(_ sequence: Int, isNewest: Bool = false) -> (kept: KeptMessage, text: String) {
        let text = isNewest ? Self.newestWord : next()
        let topic = Self.topic(isNewest ? 0 : Int.random(in: 0..<Self.topics, using: &random))
        let sender = Self.sender(Int.random(in: 0..<Self.senders, using: &random))
        let time = Self.time(sequence)
        let id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
        let envelope = Envelope(
            clientID: "bench-\(sender)", id: id, room: topic,
            message: ChatLine(username: sender, text: text, timestamp: time).value, start: time)
        let kept = KeptMessage(
            place: KeptPlace(stream: Self.stream, sequence: UInt64(sequence)), topic: topic, id: id, from: sender,
            time: time, payload: envelope.encoded())
        return (kept, text)
    }
}
