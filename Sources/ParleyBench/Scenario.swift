import NATS
import NIOCore

/// One thing that is measured, under the name the command line gives it.
enum Scenario: String, CaseIterable {
    case publish = "pub"
    case subscribe = "sub"
    case feed
    case reply
    case requests = "rtt"
    case ping
    case connect
    case storedPublish = "jspub_sync"
    case pipelinedPublish = "jspub_async"
    case pull = "jspull"
    case idle
}

/// The `k=v` words behind a scenario.
struct Words {
    private var values: [String: String] = [:]

    init(_ words: some Sequence<String>) {
        for word in words {
            guard let equals = word.firstIndex(of: "=") else { continue }
            values[String(word[..<equals])] = String(word[word.index(after: equals)...])
        }
    }

    func number(_ name: String, _ fallback: Int) -> Int { values[name].flatMap(Int.init) ?? fallback }
    func text(_ name: String, _ fallback: String) -> String { values[name] ?? fallback }
}

/// What a run needs to know.
struct Parameters {
    var address: ServerAddress
    var count: Int
    var size: Int
    var subject: String
    var words: Words
    /// Whom to connect as; nil on a server that lets in everybody.
    var credentials: Credentials?
    /// What the subjects of JetStream's calls begin with.
    var apiPrefix = JetStream.standardPrefix

    var payload: ByteBuffer { ByteBuffer(repeating: UInt8(ascii: "x"), count: size) }

    init(address: ServerAddress, words: Words) {
        self.address = address
        self.words = words
        count = max(1, words.number("n", 100_000))
        size = max(0, words.number("size", 128))
        subject = words.text("subject", "bench.core")
    }

    func connection() async throws -> NATSConnection {
        let authentication = credentials.map { Authentication($0) } ?? .none
        return try await NATSConnection.connect(
            to: address, options: ConnectOptions(name: "parley-bench", authentication: authentication))
    }

    func jetStream() async throws -> JetStream { JetStream(try await connection(), apiPrefix: apiPrefix) }
}
