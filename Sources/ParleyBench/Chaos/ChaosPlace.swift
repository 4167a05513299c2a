import NATS
import NIOCore
import Platform
import Relay
import RelayLab
import RelayNetwork

/// The servers of a chaos run's clients: a single one, or three with a network on them and its user for the clients.
struct ChaosPlace: Sendable {
    let addresses: [ServerAddress]
    let version: String
    let namespace: RelayConfiguration.Namespace
    /// The file of the credentials; empty if the server lets everyone in.
    let credentials: String
    /// Kills the server, or the stream's leader, for a while.
    let kill: @Sendable (_ outage: Duration) async throws -> Void

    /// Starts servers, a single one in the caller's folder; they have ended when this returns.
    static func run<R>(_ plan: ChaosPlan, in folder: String, _ body: (ChaosPlace) async throws -> R) async throws -> R {
        guard plan.servers == 1 else {
            return try await LabNetwork.run(onThree: true) { network in
                let names = network.description
                let place = ChaosPlace(
                    addresses: network.addresses, version: names.serverVersion,
                    namespace: .init(name: names.namespace, hash: names.hash, apiPrefix: names.api),
                    credentials: try await network.cluster.credentials(for: "chaos")
                ) { try await network.killLeader(for: $0) }
                return try await body(place)
            }
        }
        return try await BenchServer.run(in: folder) { server in
            try await server.makeStream()
            let place = ChaosPlace(
                addresses: [server.address], version: try await server.version(),
                namespace: .init(name: "bench", hash: "bench"), credentials: ""
            ) { outage in
                await server.crash()
                try await Task.sleep(for: outage)
                try await server.start()
            }
            return try await body(place)
        }
    }

    private var stream: String { "\(namespace.name)_stream" }

    func state() async throws -> StreamInfo.State { try await asking { try await $0.streamInfo(stream).state } }

    /// Counts the stream's messages up to a sequence.
    func tally(_ plan: ChaosPlan, through last: UInt64) async throws -> ChaosTally {
        var tally = ChaosTally(plan)
        var next: UInt64 = 1
        var deadline = ContinuousClock.now + .seconds(30)
        while next <= last {
            let start = next
            let page = try await asking {
                try await $0.page(of: stream, from: .sequence(start), limit: 1_000, bytes: 8 << 20).messages
            }
            for message in page where message.sequence <= last {
                // The first token is not part of the topic.
                let topic = message.subject.dropFirst(namespace.hash.utf8.count + 1)
                tally.take(message.payload.readableBytesView, on: String(topic))
            }
            if let end = page.last?.sequence {
                next = end &+ 1
                deadline = ContinuousClock.now + .seconds(30)
            } else {
                // The copy may lag behind for a moment.
                guard ContinuousClock.now < deadline else { break }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        return tally
    }

    /// Asks one server after another, for at most a minute, until one answers.
    private func asking<Value: Sendable>(
        _ question: @Sendable (JetStream) async throws -> Value
    ) async throws -> Value {
        var options = ConnectOptions(name: "parley-bench", connectTimeout: .seconds(5))
        if !credentials.isEmpty {
            options.authentication = Authentication(try Credentials.load(path: credentials))
            options.inboxPrefix = "_INBOX_chaos"
        }
        let deadline = ContinuousClock.now + .seconds(60)
        var tries = 0
        while true {
            do {
                let address = addresses[tries % addresses.count]
                let connection = try await NATSConnection.connect(to: address, options: options)
                defer { connection.closeNow() }
                return try await question(JetStream(connection, apiPrefix: namespace.apiPrefix))
            } catch {
                guard ContinuousClock.now < deadline else { throw error }
                tries += 1
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
