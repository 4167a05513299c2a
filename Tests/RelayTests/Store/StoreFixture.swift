import GRDB
import Platform
import TestSupport

@testable import Relay

/// A folder with a local store in it, and messages to keep.
struct StoreFixture {
    static let stream = StreamIdentity(name: "N_stream", incarnation: 1_000)

    let folder: TemporaryDirectory
    let time = ManualTime()

    init() throws { folder = try TemporaryDirectory("store") }

    var path: String { folder.path("alice.sqlite") }

    /// Opens the store, whose time stands still.
    func open(_ batching: StoreBatching = StoreBatching()) throws -> LocalStore {
        try LocalStore.open(path, clock: time, batching: batching)
    }

    /// A fixture with its store open.
    static func opened() throws -> (StoreFixture, LocalStore) {
        let fixture = try StoreFixture()
        return (fixture, try fixture.open())
    }

    /// A store by the system's time, whose folder goes with it.
    static func store() throws -> LocalStore {
        let folder = try TemporaryDirectory("store")
        return try LocalStore.open(folder.path("alice.sqlite"), clock: FolderTime(folder: folder))
    }

    /// The system's time, which keeps a folder for as long as somebody asks for it.
    private struct FolderTime: Timekeeper {
        let folder: TemporaryDirectory
        var now: ContinuousClock.Instant { SystemTime().now }
        var secondsSince1970: Int64 { SystemTime().secondsSince1970 }

        func sleep(until moment: ContinuousClock.Instant) async throws { try await SystemTime().sleep(until: moment) }
    }

    /// A line of chat, as the server would have stored it.
    static func line(
        _ sequence: UInt64, _ text: String = "hello", topic: String = "chat.lobby", from: String = "bob",
        time: Int64? = nil, stream: StreamIdentity = StoreFixture.stream
    ) -> KeptMessage {
        let moment = Timestamp(milliseconds: time ?? Int64(sequence) * 1_000)
        let line = ChatLine(username: from, text: text, timestamp: moment)
        let envelope = Envelope(id: "id-\(sequence)", room: topic, message: line.value, start: moment)
        return KeptMessage(
            place: KeptPlace(stream: stream, sequence: sequence), topic: topic, id: envelope.id, from: from,
            time: moment, payload: envelope.encoded())
    }

    static func place(_ sequence: UInt64) -> KeptPlace { KeptPlace(stream: stream, sequence: sequence) }

    static func publish(_ id: String, _ text: String = "typed", to topic: String = "chat.lobby") -> KeptPublish {
        let message = OutboxMessage(id: id, topic: topic, payload: Array(text.utf8))
        return KeptPublish(message: message, since: Timestamp(milliseconds: 5))
    }
}

extension LocalStore.Opening {
    /// What was read of a damaged store.
    var rescue: StoreRescue? {
        if case .rescued(let rescue) = self { rescue } else { nil }
    }
}

extension KeptPage {
    /// The messages' sequences.
    var sequences: [UInt64] { messages.map(\.place.sequence) }
}

extension LocalStore {
    /// Keeps messages now.
    func keep(_ messages: [KeptMessage], _ changes: [StoreChange] = []) async throws {
        await append(messages, changes)
        try await flush()
    }

    /// Returns when the search's words have all messages.
    func untilSearched() async throws {
        try await eventually("the words") {
            try await database.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM unsearched") == 0
            }
        }
    }

    /// The sequences of all messages of a pattern.
    func sequences(_ pattern: String = ">") async throws -> [UInt64] {
        try await messages(of: TopicPattern(pattern), limit: 10_000).sequences
    }
}

/// Copies a file as it is now.
func copyFile(_ path: String, _ copy: String) throws {
    try Data(contentsOf: URL(fileURLWithPath: path)).write(to: URL(fileURLWithPath: copy))
}
