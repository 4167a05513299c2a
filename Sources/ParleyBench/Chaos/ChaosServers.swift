import NATS
import NIOCore
import NIOPosix
import Platform
import Relay

/// What a chaos run's clients are on, and what of it is killed.
protocol ChaosSite: Sendable {
    /// Where the servers are; each stays at its port.
    var addresses: [ServerAddress] { get }
    var version: String { get }
    /// What clients need to know besides, as words for their processes.
    var words: [String] { get }
    /// Kills the server, or the one that leads the stream, which is away for a while.
    func killLeader(for outage: Duration) async throws
    /// What the stream holds.
    func state() async throws -> StreamInfo.State
    /// The stream's messages up to a sequence, counted.
    func tally(_ plan: ChaosPlan, through last: UInt64) async throws -> ChaosTally
}

extension ChaosTally {
    /// Counts a stream's messages up to a sequence.
    /// - Parameters:
    ///   - hash: the first token of each subject, which is no part of the topic.
    ///   - read: gives a page from a sequence on.
    static func count(
        _ plan: ChaosPlan, through last: UInt64, hash: String,
        _ read: (UInt64) async throws -> [StoredMessage]
    ) async throws -> ChaosTally {
        var tally = ChaosTally(plan)
        var next: UInt64 = 1
        var deadline = ContinuousClock.now + .seconds(30)
        while next <= last {
            let page = try await read(next)
            for message in page where message.sequence <= last {
                tally.take(
                    message.payload.readableBytesView, on: String(message.subject.dropFirst(hash.utf8.count + 1)))
            }
            if let end = page.last?.sequence {
                next = end + 1
                deadline = ContinuousClock.now + .seconds(30)
            } else {
                // The copy that was read may lag behind for a moment.
                guard ContinuousClock.now < deadline else { break }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        return tally
    }
}

/// The server of a chaos run, or the servers of a cluster with a copy of the stream on each.
final class ChaosServers: ChaosSite {
    static let namespace = RelayConfiguration.Namespace(name: "chaos", hash: "chaos")
    static let stream = "chaos_stream"

    private let servers: [BenchServer]

    private init(_ servers: [BenchServer]) { self.servers = servers }

    var addresses: [ServerAddress] { servers.map(\.address) }
    var version: String { servers.first?.version ?? "" }
    let words = ["namespace=\(namespace.name)", "hash=\(namespace.hash)"]

    /// Starts them and makes the stream. The caller stops them.
    static func start(_ count: Int, in folder: String) async throws -> ChaosServers {
        let ports = count > 1 ? try await freePorts(count) : []
        var servers: [BenchServer] = []
        do {
            for index in 0..<count {
                let place = "\(folder)/server-\(index)"
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
                servers.append(try await BenchServer.start(in: place, membership(index, ports)))
            }
            let all = ChaosServers(servers)
            try await all.provide()
            return all
        } catch {
            for server in servers { await server.stop() }
            throw error
        }
    }

    func stop() async {
        for server in servers { await server.stop() }
    }

    // MARK: Outages

    func killLeader(for outage: Duration) async throws {
        let victim = try await leader()
        await victim.crash()
        try await Task.sleep(for: outage)
        try await victim.restart()
        try await waitForCopies()
    }

    private func leader() async throws -> BenchServer {
        guard servers.count > 1 else { return servers[0] }
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let name = await standing()?.leader, let index = servers.indices.first(where: { Self.name($0) == name })
            {
                return servers[index]
            }
            guard ContinuousClock.now < deadline else { throw ChaosFailure("the stream found no leader in a minute") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Waits until every server has the whole stream again: so many copies outlast the loss of one server at a time,
    /// and of no more. One that takes longer than a minute is left behind.
    private func waitForCopies() async throws {
        guard servers.count > 1 else { return }
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            if let standing = await standing(), standing.leader != nil, let others = standing.replicas,
                others.count == servers.count - 1, others.allSatisfy({ $0.current && $0.offline != true })
            {
                return
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private struct Standing: Decodable {
        struct Replica: Decodable {
            var current: Bool
            var offline: Bool?
        }
        var leader: String?
        var replicas: [Replica]?
    }

    private struct Reply: Decodable { var cluster: Standing? }

    /// Who leads the stream and who follows; nil when no server says so.
    private func standing() async -> Standing? {
        for server in servers {
            guard let connection = try? await Self.connection(to: server.address) else { continue }
            let answer = try? await connection.request(
                ByteBuffer(), to: "$JS.API.STREAM.INFO.\(Self.stream)", timeout: .seconds(2))
            await connection.close()
            guard let answer else { continue }
            let reply = try? JSONDecoder().decode(Reply.self, from: Data(answer.bytes))
            if let standing = reply?.cluster, standing.leader != nil { return standing }
        }
        return nil
    }

    // MARK: The stream

    func state() async throws -> StreamInfo.State {
        try await asking { try await $0.streamInfo(Self.stream).state }
    }

    func tally(_ plan: ChaosPlan, through last: UInt64) async throws -> ChaosTally {
        try await .count(plan, through: last, hash: Self.namespace.hash) { start in
            try await asking {
                try await $0.page(of: Self.stream, from: .sequence(start), limit: 1_000, bytes: 8 << 20).messages
            }
        }
    }

    private func provide() async throws {
        let configuration = StreamConfiguration(
            name: Self.stream, subjects: ["\(Self.namespace.hash).>"], replicas: servers.count)
        // A new cluster answers once its servers have found each other.
        try await asking { _ = try await $0.createStream(configuration) }
        try await waitForCopies()
    }

    /// Asks one server after the other, for a minute at most, until one answers.
    private func asking<Value: Sendable>(
        _ question: @Sendable (JetStream) async throws -> Value
    ) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            var failure: (any Error)?
            for server in servers {
                do {
                    let connection = try await Self.connection(to: server.address)
                    let answer: Result<Value, any Error>
                    do { answer = .success(try await question(JetStream(connection))) } catch {
                        answer = .failure(error)
                    }
                    await connection.close()
                    return try answer.get()
                } catch {
                    failure = error
                }
            }
            if let failure, ContinuousClock.now >= deadline { throw failure }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private static func connection(to address: ServerAddress) async throws -> NATSConnection {
        try await NATSConnection.connect(
            to: address, options: ConnectOptions(name: "parley-bench", connectTimeout: .seconds(2)))
    }

    // MARK: The cluster

    private static func name(_ index: Int) -> String { "chaos-\(index)" }

    /// What makes a server one of several; nothing for one alone. Clients know the servers by the links that are cut,
    /// and are told of no other way.
    private static func membership(_ index: Int, _ ports: [Int]) -> String {
        guard !ports.isEmpty else { return "" }
        let routes = ports.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        return """
            server_name: "\(name(index))"
            cluster { name: "chaos", listen: "127.0.0.1:\(ports[index])", no_advertise: true, routes: [\(routes)] }
            """
    }

    /// Ports of 127.0.0.1 that nobody listens at now: each server has to know the others' before any of them runs.
    private static func freePorts(_ count: Int) async throws -> [Int] {
        var channels: [any Channel] = []
        for _ in 0..<count {
            let bootstrap = ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
            channels.append(try await bootstrap.bind(host: "127.0.0.1", port: 0).get())
        }
        let ports = channels.compactMap { $0.localAddress?.port }
        for channel in channels { try await channel.close() }
        guard ports.count == count else { throw ChaosFailure("no port of 127.0.0.1 is free") }
        return ports
    }
}
