import NATS
import NIOCore
import Platform
import Relay
import RelayNetwork

/// A person who types while `n` (10000) letters are deleted, in the program itself, on a pseudo-terminal and a private
/// network: all letters of a postbox are marked and deleted, and from then on until the last is gone keys are pressed,
/// 5 to 10 ms apart. A key's time is that from its byte to the character in what the program writes. Before, `keys`
/// (200) are pressed while nothing happens. It is done `rounds` (3) times, and all keys count together.
enum InboxScenario {
    /// The scenario's name on the command line.
    static let name = "inbox"

    /// The most that a key may take of a hundred, in milliseconds.
    private static let goal = 20.0
    private static let owner = "alice"

    /// How long each key took, in seconds, and how long the deletion.
    private struct Times {
        var atRest: [Double] = []
        var deleting: [Double] = []
        var rates: [Double] = []
    }

    /// Nil where there is no `parley` beside this program.
    @concurrent
    static func run(_ words: Words) async throws -> Measurement? {
        #if os(Linux)
            guard let executable = FirstFrame.executable else {
                Meter.remark("inbox is left out: there is no parley beside parley-bench")
                return nil
            }
            // More cannot be marked.
            let count = min(max(100, words.number("n", 10_000)), 10_000)
            let keys = max(1, words.number("keys", 200))
            let rounds = max(1, words.number("rounds", 3))
            let folder = try TemporaryFolder.make("bench")
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let times = try await BenchNetwork.run { network in
                let letters = try await BenchLetters(of: owner, on: network, credentials: folder + "/alice.creds")
                var times = Times()
                for round in 1...rounds {
                    try await letters.fill(to: count, round)
                    let inbox = try BenchInbox(executable, server: network.description.url, folder, round)
                    defer { inbox.end() }
                    try inbox.connect()
                    for _ in 0..<keys { times.atRest.append(try inbox.press()) }
                    try inbox.markAll()
                    try inbox.deleteMarked()
                    let begin = Meter.now()
                    // So many keys lie between two questions to the server that these are no burden.
                    repeat {
                        for _ in 0..<10 { times.deleting.append(try inbox.press()) }
                        guard Meter.now() - begin < 300 else {
                            throw NATSError.timeout("the deletion of \(count) letters")
                        }
                    } while try await letters.count() > 0
                    times.rates.append(Double(count) / (Meter.now() - begin))
                }
                await letters.close()
                return times
            }
            return Measurement(name).adding("n", Double(count)).adding("rounds", Double(rounds))
                .adding("deletions_s", Measurement.median(times.rates).rounded())
                .adding("rest_p50_ms", percentile(50, of: times.atRest))
                .adding("rest_p99_ms", percentile(99, of: times.atRest))
                .adding("keys", Double(times.deleting.count))
                .adding("key_p50_ms", percentile(50, of: times.deleting))
                .adding("key_p99_ms", percentile(99, of: times.deleting))
                .adding("key_p99_goal_ms", goal)
        #else
            Meter.remark("inbox is left out: it is measured on Linux alone")
            return nil
        #endif
    }

    /// A percentile of durations in seconds, in milliseconds.
    private static func percentile(_ part: Int, of seconds: [Double]) -> Double {
        let sorted = seconds.sorted()
        return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, sorted.count * part / 100)] * 1e3
    }
}

#if os(Linux)
    /// The letters of a user of a private network, put there by the network's own hand.
    private struct BenchLetters {
        private let owner: String
        private let jetStream: JetStream

        /// Adds the user, whose credentials are written into a file, and has the network make the postbox.
        init(of owner: String, on network: BenchNetwork, credentials path: String) async throws {
            let credentials = try await NetworkAdministrator(directory: network.directory).add(user: owner)
            try Data(credentials.fileText().utf8).write(to: URL(fileURLWithPath: path))
            guard chmod(path, 0o600) == 0 else { throw NATSError.invalidArgument("\(path) cannot be kept to oneself") }
            let user = try await Self.connection(to: network, as: credentials)
            _ = try await user.request(ByteBuffer(), to: NetworkNames.namespace, timeout: .seconds(30))
            await user.close()
            self.owner = owner
            jetStream = JetStream(try await Self.connection(to: network, as: try network.ownCredentials()))
        }

        private static func connection(
            to network: BenchNetwork, as credentials: Credentials
        ) async throws -> NATSConnection {
            let options = ConnectOptions(name: "parley-bench", authentication: .init(credentials))
            return try await NATSConnection.connect(to: try network.address, options: options)
        }

        /// Puts letters there until there are so many.
        func fill(to total: Int, _ round: Int) async throws {
            let publisher = JetStreamPublisher(jetStream, window: 1_000)
            let encoder = JSONEncoder()
            let address = NetworkNames.letters(to: owner, "personal", from: "bob")
            for number in try await count()..<total {
                let letter = PostboxLetter(
                    id: "letter-\(round)-\(number)", createdAt: StoreText.time(number).milliseconds,
                    message: "\(BenchInbox.mark) \(number) of \(total)")
                let payload = ByteBuffer(bytes: try encoder.encode(letter))
                try await publisher.publish(payload, to: address, messageID: letter.id) { _ in }
            }
            try await publisher.drained()
            let stored = try await count()
            guard stored == total else {
                throw NATSError.invalidArgument("of \(total) letters \(stored) were stored")
            }
        }

        /// How many there are.
        func count() async throws -> Int {
            Int(clamping: try await jetStream.streamInfo(NetworkNames.postboxStream(of: owner)).state.messages)
        }

        func close() async { await jetStream.connection.close() }
    }

    /// The chat on its postbox, and the person in front of it.
    private final class BenchInbox {
        /// A word that each letter has, and nothing else on the screen.
        static let mark = "postcard"

        private static let patience = 60.0
        /// Characters that nothing but these keys brings onto the screen, more than stand there at once.
        private static let letters = "ĀāĂăĄąĆćĈĉĊċČčĎďĐđĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĦħĨĩĪīĬĭĮįİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇň"
            .map { Array(String($0).utf8) }
        /// Keys of one line, after which the line is cleared.
        private static let line = 60

        private let terminal: BenchTerminal
        private var pressed = 0
        private var random = SplitMix(state: 5)

        init(_ executable: String, server: String, _ folder: String, _ round: Int) throws {
            terminal = try BenchTerminal(
                executable, ["--server", server, "--creds", folder + "/alice.creds"],
                environment: [
                    "HOME=\(folder)", "XDG_DATA_HOME=\(folder)/data-\(round)", "XDG_CONFIG_HOME=\(folder)/config",
                    "XDG_STATE_HOME=\(folder)/state", "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=/usr/bin:/bin",
                ])
        }

        func end() { terminal.end() }

        // MARK: The way there

        /// Returns when the chat is connected and knows its postbox.
        func connect() throws {
            try wait("a connection") {
                $0.contains("CONNECTED") && !$0.contains("DISCONNECTED") && $0.contains("personal")
            }
        }

        /// Opens the postbox, and returns when all letters are marked.
        func markAll() throws {
            try clearLine()
            try terminal.type(Array("\u{1B}OR".utf8))
            try wait("the letters") { $0.contains(Self.mark) && !$0.contains("isting") }
            try terminal.type(Array("\u{1B}*".utf8))
            try wait("the marks") { $0.contains("marked") && !$0.contains("looked") }
        }

        /// Has the marked letters deleted.
        func deleteMarked() throws {
            try terminal.type(Array("\u{1B}[3~".utf8))
            try wait("the question") { $0.contains("y/N") }
            try terminal.type(Array("y".utf8))
            // Nothing leaves while it can still be undone.
            try wait("the deletion") { $0.contains("deleting") }
        }

        /// Has the screen painted again, as words come whole then, until it has what is waited for.
        private func wait(_ what: String, until holds: (String) -> Bool) throws {
            let deadline = Meter.now() + Self.patience
            while Meter.now() < deadline {
                try terminal.type([0x0C])
                var screen: [UInt8] = []
                let end = Meter.now() + 1
                while Meter.now() < end {
                    let bytes = try output(within: 100)
                    if bytes.isEmpty { break }
                    screen += bytes
                }
                if holds(Self.text(of: screen)) { return }
            }
            throw NATSError.timeout("\(what) on the screen")
        }

        /// What a terminal shows of these bytes, without the sequences between.
        private static func text(of bytes: [UInt8]) -> String {
            var text: [UInt8] = []
            var isSequence = false
            var index = 0
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                if byte == 0x1B {
                    isSequence = index < bytes.count && bytes[index] == UInt8(ascii: "[")
                    index += 1
                } else if isSequence {
                    isSequence = !(0x40...0x7E).contains(byte)
                } else {
                    text.append(byte)
                }
            }
            return String(decoding: text, as: UTF8.self)
        }

        // MARK: Keys

        /// Presses a key after a pause, and returns the seconds until its character came.
        func press() throws -> Double {
            if pressed % Self.line == 0 { try clearLine() }
            try pause(.random(in: 0.005..<0.010, using: &random))
            let letter = Self.letters[pressed % Self.letters.count]
            pressed += 1
            let begin = Meter.now()
            try terminal.type(letter)
            var seen: [UInt8] = []
            while Meter.now() - begin < Self.patience {
                seen += try output(within: 1_000)
                if BenchTerminal.contains(seen, letter) { return Meter.now() - begin }
            }
            throw NATSError.timeout("a key on the screen")
        }

        private func clearLine() throws {
            try terminal.type([0x15])
            try pause(0.02)
        }

        /// Reads on meanwhile, so that the program never waits for its terminal.
        private func pause(_ seconds: Double) throws {
            let end = Meter.now() + seconds
            while true {
                let left = end - Meter.now()
                guard left > 0 else { return }
                _ = try output(within: Int32(left * 1e3) + 1)
            }
        }

        private func output(within milliseconds: Int32) throws -> [UInt8] {
            guard let bytes = terminal.output(within: milliseconds) else {
                throw NATSError.invalidArgument("parley has ended")
            }
            return bytes
        }
    }
#endif
