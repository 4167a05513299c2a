import Platform
import Relay

/// What people of several languages say in a chat, the same in every run: words by the law that the second most
/// frequent one is half as frequent as the first, and so on, as in real texts.
struct StoreText {
    /// How many words each language has.
    static let words = 2_000
    /// How many topics and senders there are.
    static let (topics, senders) = (20, 50)
    /// The stream that the messages are of.
    static let stream = StreamIdentity(name: "bench_stream", incarnation: 1)

    private struct Language {
        var words: [String]
        var separator = " "
    }

    private static let start: Int64 = 1_767_225_600_000
    private static let millisecondsBetween: Int64 = 10_000
    /// What the newest message says, and no other one.
    static let newestWord = "zzlastline"

    private var random = SplitMix(state: 1)
    private let languages: [Language]

    init() {
        var random = SplitMix(state: 7)
        let latin = Self.words(
            of: ["b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "th"], "aeiou", &random)
        let umlauts = Self.words(of: ["b", "d", "g", "k", "l", "m", "n", "sch", "st", "w", "z"], "aeiouäöü", &random)
        let cyrillic = Self.words(of: "бвгдзклмнпрст".map(String.init), "аеиоуыя", &random)
        let ideographs = (0..<1_200).compactMap { Unicode.Scalar(0x4E00 + UInt32($0) * 7) }.map { String($0) }
        var pairs: [String] = []
        while pairs.count < Self.words {
            pairs.append(ideographs[random.below(ideographs.count)] + ideographs[random.below(ideographs.count)])
        }
        languages = [
            Language(words: latin), Language(words: umlauts), Language(words: cyrillic),
            Language(words: pairs, separator: ""),
        ]
    }

    /// Words of one to four syllables, each once.
    private static func words(of onsets: [String], _ vowels: String, _ random: inout SplitMix) -> [String] {
        let vowels = vowels.map { String($0) }
        var seen: Set<String> = []
        var words: [String] = []
        while words.count < Self.words {
            // Frequent words are short.
            let syllables = min(4, 1 + words.count / 40 + random.below(2))
            let word = (0..<syllables).map { _ in
                onsets[random.below(onsets.count)] + vowels[random.below(vowels.count)]
            }.joined()
            if seen.insert(word).inserted { words.append(word) }
        }
        return words
    }

    /// A word of the first language by its rank, the most frequent one first.
    func word(_ rank: Int) -> String { languages[0].words[min(rank, Self.words - 1)] }

    /// A topic's name by its number.
    static func topic(_ number: Int) -> String { "room.\(number % topics)" }

    /// A sender's name by its number.
    static func sender(_ number: Int) -> String { "user\(number % senders)" }

    /// When a message was stored.
    static func time(_ sequence: Int) -> Timestamp {
        Timestamp(milliseconds: start + Int64(sequence) * millisecondsBetween)
    }

    /// The next thing that somebody says: 3 to 20 words.
    mutating func next() -> String {
        let share = random.below(10)
        let language = languages[share < 6 ? 0 : share < 8 ? 1 : share < 9 ? 2 : 3]
        return (0..<(3 + random.below(18))).map { _ in language.words[rank()] }.joined(separator: language.separator)
    }

    /// The logarithm of the rank is what is even.
    private mutating func rank() -> Int {
        min(Self.words, Int(exp(Double.random(in: 0..<log(Double(Self.words + 1)), using: &random)))) - 1
    }

    /// The next message, under a sequence.
    mutating func message(_ sequence: Int, isNewest: Bool = false) -> (kept: KeptMessage, text: String) {
        let text = isNewest ? Self.newestWord : next()
        let topic = isNewest ? Self.topic(0) : Self.topic(random.below(Self.topics))
        let sender = Self.sender(random.below(Self.senders))
        let time = Self.time(sequence)
        let line = ChatLine(username: sender, text: text, timestamp: time)
        let id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
        let envelope = Envelope(
            clientID: "bench-\(sender)", id: id, room: topic, message: line.value, start: time)
        let kept = KeptMessage(
            place: KeptPlace(stream: Self.stream, sequence: UInt64(sequence)), topic: topic, id: id, from: sender,
            time: time, payload: envelope.encoded())
        return (kept, text)
    }
}

/// Numbers that are the same in every run (Steele, Lea and Flood, 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &self) }
}
