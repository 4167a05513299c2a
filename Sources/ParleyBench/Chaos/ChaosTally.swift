import Relay

/// Counts the numbered messages in one place, and checks their order.
struct ChaosTally: Sendable {
    private(set) var stored = 0
    private(set) var duplicates = 0
    /// Messages after a later one of the same publisher on the same topic.
    private(set) var disorder = 0
    /// Messages that are not of this run.
    private(set) var strangers = 0
    private var seen: [[Bool]]
    /// For each publisher and topic, the newest number.
    private var newest: [[Int]]
    private let topics: Int

    init(_ plan: ChaosPlan) {
        topics = plan.topics
        seen = (0..<ChaosPlan.publishers).map { [Bool](repeating: false, count: plan.share(of: $0)) }
        newest = (0..<ChaosPlan.publishers).map { _ in [Int](repeating: 0, count: plan.topics) }
    }

    var lost: Int { seen.reduce(0) { sum, numbers in sum + numbers.count { !$0 } } }

    var isPerfect: Bool { duplicates == 0 && disorder == 0 && strangers == 0 && lost == 0 }

    static func text(_ publisher: Int, _ number: Int) -> String { "\(publisher) \(number)" }

    mutating func take(_ payload: some Collection<UInt8>, on topic: String) {
        stored += 1
        guard let envelope = try? Envelope(decoding: payload), case .string(let text) = envelope.message else {
            strangers += 1
            return
        }
        let words = text.split(separator: " ").compactMap { Int($0) }
        guard words.count == 2, case let (publisher, number) = (words[0], words[1]), seen.indices.contains(publisher),
            seen[publisher].indices.contains(number - 1), topic == ChaosPlan.topic(of: number, topics)
        else {
            strangers += 1
            return
        }
        if seen[publisher][number - 1] { duplicates += 1 }
        seen[publisher][number - 1] = true
        if number < newest[publisher][number % topics] { disorder += 1 }
        newest[publisher][number % topics] = max(newest[publisher][number % topics], number)
    }
}
