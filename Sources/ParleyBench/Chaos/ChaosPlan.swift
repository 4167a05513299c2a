import NATS

/// The plan of a chaos run, from the words that ``ChaosScenario`` explains. The seed decides when things happen, and to
/// whom; how far the programs are by then depends on the machine.
struct ChaosPlan: Sendable {
    static let (publishers, subscribers) = (2, 2)

    let messages: Int
    let topics: Int
    /// A single server, or three with a network on them and a copy of the stream on each.
    let servers: Int
    let serverKills: Int
    let processKills: Int
    let cuts: Int
    /// In milliseconds.
    let outage: Int
    /// The maximum number of a publisher's messages waiting or in flight.
    let window: Int
    let seed: UInt64
    let keepsFolder: Bool

    init(_ words: Words) {
        messages = words.number("n", 100_000, atLeast: 100)
        topics = words.number("topics", 20, atLeast: 1)
        servers = words.number("cluster", 1) > 1 || words.number("network", 0) != 0 ? 3 : 1
        serverKills = words.number("server-kills", servers == 1 ? 20 : 5)
        processKills = words.number("process-kills", 5)
        cuts = words.number("cuts", max(5, messages / 1_000))
        outage = words.number("outage", 1_500, atLeast: 1)
        window = words.number("window", min(500, max(20, messages / 40)), atLeast: 1)
        seed = UInt64(words.text("seed")) ?? UInt64.random(in: 1...999_999)
        keepsFolder = words.number("keep", 0) != 0
    }

    static func topic(of number: Int, _ topics: Int) -> String { "room.\(number % topics)" }

    /// The number of messages that a publisher publishes, numbered from 1.
    func share(of publisher: Int) -> Int {
        messages / Self.publishers + (publisher < messages % Self.publishers ? 1 : 0)
    }

    func generator(_ part: Int) -> SeededGenerator { SeededGenerator(seed: seed &+ UInt64(part) &* 1_000_003) }

    /// The messages after which something happens: at random within equal parts, except near both ends.
    static func moments(_ count: Int, of total: Int, using generator: inout SeededGenerator) -> [Int] {
        let part = max(1, total * 3 / 4 / max(1, count))
        return (0..<count).map { total / 20 + $0 * part + Int.random(in: 0..<part, using: &generator) }
    }
}
