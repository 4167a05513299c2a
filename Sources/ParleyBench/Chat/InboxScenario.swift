import NATS
import NIOCore
import Platform
import Relay
import RelayLab
import RelayNetwork

/// A person who types while `n` (10000) letters are deleted, in the program itself, on a pseudo-terminal and a private
/// network: all letters of a postbox are marked and deleted, and from then on until the last is gone keys are pressed,
/// 5 to 10 ms apart. A key's time is that from its byte to the character in what the program writes. Before, `keys`
/// (200) are pressed while nothing happens. It is done `rounds` (3) times, and all keys count together.
enum InboxScenario {
    /// Nothing where there is no `parley` beside this program.
    static func run(_ words: Words) async throws -> [Measurement] {
        guard let parley = ThisProgram.parley(for: "inbox") else { return [] }
        // More cannot be marked.
        let count = min(words.number("n", 10_000, atLeast: 100), 10_000)
        let rounds = words.number("rounds", 3, atLeast: 1)
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await LabNetwork.run { network in
            let letters = try await BenchLetters(on: network, credentials: folder + "/alice.creds")
            var (atRest, deleting, rates) = ([Double](), [Double](), [Double]())
            for round in 1...rounds {
                try await letters.fill(to: count, round)
                let arguments = ["--server", network.description.url, "--creds", folder + "/alice.creds"]
                let terminal = try BenchTerminal(parley, arguments, home: folder, data: "\(folder)/data-\(round)")
                defer { terminal.end() }
                let inbox = try BenchInbox(in: terminal)
                for _ in 0..<words.number("keys", 200, atLeast: 1) { atRest.append(try inbox.press()) }
                try inbox.markAll()
                try inbox.deleteMarked()
                let begin = Meter.now()
                // So many keys lie between two questions to the server that these are no burden.
                repeat {
                    for _ in 0..<10 { deleting.append(try inbox.press()) }
                    guard Meter.now() - begin < 300 else { throw BenchFailure("\(count) letters were not deleted") }
                } while try await letters.count() > 0
                rates.append(Double(count) / (Meter.now() - begin))
            }
            await letters.jetStream.connection.close()
            let result = Measurement("inbox").adding([
                "n": count, "rounds": rounds, "deletions_s": rates.median.rounded(),
                "rest_p50_ms": atRest.percentile(50) * 1e3, "rest_p99_ms": atRest.percentile(99) * 1e3,
                "keys": deleting.count, "key_p50_ms": deleting.percentile(50) * 1e3,
                "key_p99_ms": deleting.percentile(99) * 1e3, "key_p99_goal_ms": 20,
            ])
            return [result]
        }
    }
}

/// The letters of a user of a private network, put there by the network's own hand.
private struct BenchLetters {
    private static let owner = "alice"
    let jetStream: JetStream

    /// Adds the user, whose credentials are written into a file, and has the network make the postbox.
    init(on network: LabNetwork, credentials path: String) async throws {
        let credentials = try await NetworkAdministrator(directory: network.directory).add(user: Self.owner)
        try Data(credentials.fileText().utf8).write(to: URL(fileURLWithPath: path))
        guard chmod(path, 0o600) == 0 else { throw BenchFailure("\(path) cannot be kept to oneself") }
        let user = try await network.parameters(credentials).connection()
        _ = try await user.request(ByteBuffer(), to: NetworkNames.namespace, timeout: .seconds(30))
        await user.close()
        jetStream = try await network.parameters(try network.ownCredentials()).jetStream()
    }

    func fill(to total: Int, _ round: Int) async throws {
        let publisher = JetStreamPublisher(jetStream, window: 1_000)
        let address = NetworkNames.letters(to: Self.owner, "personal", from: "bob")
        for number in try await count()..<total {
            let letter = PostboxLetter(
                id: "letter-\(round)-\(number)", createdAt: StoreText.time(number).milliseconds,
                message: "\(BenchInbox.mark) \(number) of \(total)")
            let payload = ByteBuffer(bytes: try JSONEncoder().encode(letter))
            try await publisher.publish(payload, to: address, messageID: letter.id) { _ in }
        }
        try await publisher.drained()
        let stored = try await count()
        guard stored == total else { throw BenchFailure("of \(total) letters \(stored) were stored") }
    }

    func count() async throws -> Int {
        Int(clamping: try await jetStream.streamInfo(NetworkNames.postboxStream(of: Self.owner)).state.messages)
    }
}

/// The chat on its postbox, and the person in front of it.
private final class BenchInbox {
    /// A word that each letter has, and nothing else on the screen.
    static let mark = "postcard"

    private static let patience = 60.0
    /// Characters that nothing but these keys brings onto the screen, more than stand there at once.
    private static let letters = "ĀāĂăĄąĆćĈĉĊċČčĎďĐđĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĦħĨĩĪīĬĭĮįİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇň"
        .map { String($0) }
    /// Keys of one line, after which the line is cleared.
    private static let line = 60

    private let terminal: BenchTerminal
    private var pressed = 0
    private var random = SeededGenerator(seed: 5)

    /// Returns when the chat is connected and knows its postbox.
    init(in terminal: BenchTerminal) throws {
        self.terminal = terminal
        try wait("a connection") {
            $0.contains("CONNECTED") && !$0.contains("DISCONNECTED") && $0.contains("personal")
        }
    }

    func markAll() throws {
        try clearLine()
        try terminal.type("\u{1B}OR")
        try wait("the letters") { $0.contains(Self.mark) && !$0.contains("isting") }
        try terminal.type("\u{1B}*")
        try wait("the marks") { $0.contains("marked") && !$0.contains("looked") }
    }

    func deleteMarked() throws {
        try terminal.type("\u{1B}[3~")
        try wait("the question") { $0.contains("y/N") }
        try terminal.type("y")
        // Nothing leaves while it can still be undone.
        try wait("the deletion") { $0.contains("deleting") }
    }

    /// Has the screen painted again, as words come whole then, until it has what is waited for.
    private func wait(_ what: String, until holds: (String) -> Bool) throws {
        let deadline = Meter.now() + Self.patience
        while Meter.now() < deadline {
            try terminal.type("\u{0C}")
            var screen: [UInt8] = []
            let end = Meter.now() + 1
            while Meter.now() < end, case let bytes = try terminal.output(within: 100), !bytes.isEmpty {
                screen += bytes
            }
            // Without the sequences between the words.
            let text = String(decoding: screen, as: UTF8.self).replacing(/\u{1B}(\[[^@-~]*[@-~]|.)/, with: "")
            if holds(text) { return }
        }
        throw BenchFailure("\(what) did not come on the screen")
    }

    /// Presses a key after a pause, and returns the seconds until its character came.
    func press() throws -> Double {
        if pressed % Self.line == 0 { try clearLine() }
        try pause(.random(in: 0.005..<0.010, using: &random))
        let letter = Self.letters[pressed % Self.letters.count]
        pressed += 1
        let begin = Meter.now()
        try terminal.type(letter)
        return try terminal.moments(of: [letter], within: Self.patience)[0] - begin
    }

    private func clearLine() throws {
        try terminal.type("\u{15}")
        try pause(0.02)
    }

    /// Reads on meanwhile, so that the program never waits for its terminal.
    private func pause(_ seconds: Double) throws {
        let end = Meter.now() + seconds
        while case let left = end - Meter.now(), left > 0 {
            _ = try terminal.output(within: Int32(left * 1e3) + 1)
        }
    }
}
