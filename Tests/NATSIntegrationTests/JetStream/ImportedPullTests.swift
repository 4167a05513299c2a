import Foundation
import NIOCore
import TestSupport
import Testing

@testable import NATS

/// JetStream reached through another account's imports: the server keeps an entry for each pull, as it cannot know how
/// many answers will come, until they can no longer be received.
@Suite("Pulls through an account's imports", .realProcesses)
struct ImportedPullTests {
    private static let configuration = """
        system_account: SYS
        accounts {
          SYS { users: [{ user: sys, password: sys }] }
          NET {
            jetstream: enabled
            users: [{ user: net, password: net }]
            exports: [
              { service: "$JS.API.CONSUMER.MSG.NEXT.>", response_type: stream }
              { service: "$JS.API.CONSUMER.CREATE.>", response_type: singleton }
              { service: "$JS.API.CONSUMER.DELETE.>", response_type: singleton }
              { service: "$JS.API.CONSUMER.INFO.>", response_type: singleton }
              { service: "$JS.API.DIRECT.GET.*", response_type: stream }
              { service: "$JS.API.DIRECT.GET.*.>", response_type: singleton }
            ]
          }
          USER {
            users: [{ user: user, password: user }]
            imports: [
              { service: { account: NET, subject: "$JS.API.CONSUMER.MSG.NEXT.>" }, to: "$JS.net.API.CONSUMER.MSG.NEXT.>" }
              { service: { account: NET, subject: "$JS.API.CONSUMER.CREATE.>" }, to: "$JS.net.API.CONSUMER.CREATE.>" }
              { service: { account: NET, subject: "$JS.API.CONSUMER.DELETE.>" }, to: "$JS.net.API.CONSUMER.DELETE.>" }
              { service: { account: NET, subject: "$JS.API.CONSUMER.INFO.>" }, to: "$JS.net.API.CONSUMER.INFO.>" }
              { service: { account: NET, subject: "$JS.API.DIRECT.GET.S" }, to: "$JS.net.API.DIRECT.GET.S" }
              { service: { account: NET, subject: "$JS.API.DIRECT.GET.S.>" }, to: "$JS.net.API.DIRECT.GET.S.>" }
            ]
          }
        }
        """

    /// A server with these accounts, and the connections of their users.
    private struct Accounts {
        let server: NATSServerProcess
        let network: JetStream
        let user: JetStream
        let system: NATSConnection

        init(_ binary: NATSServerBinary) async throws {
            let server = try await NATSServerProcess.start(binary, configuration: ImportedPullTests.configuration)
            self.server = server
            func connect(_ name: String) async throws -> NATSConnection {
                try await server.connect(ConnectOptions(authentication: .user(name, password: name)))
            }
            network = JetStream(try await connect("net"), timeout: .seconds(120))
            // Under its own prefix: what is under $JS.API the server answers itself as well, for an account without
            // JetStream.
            user = JetStream(try await connect("user"), apiPrefix: "$JS.net.API", timeout: .seconds(120))
            system = try await connect("sys")
            var configuration = StreamConfiguration(name: "S", subjects: ["s.>"], storage: .memory)
            configuration.allowsDirectAccess = true
            try await network.createStream(configuration)
        }

        /// How many requests of other accounts the server expects further answers to.
        func entries() async throws -> Int {
            struct Answer: Decodable {
                struct Entry: Decodable {}
                struct Account: Decodable { var responses: [String: Entry]? }
                var data: Account
            }
            let answer = try await system.request(
                ByteBuffer(), to: "$SYS.REQ.ACCOUNT.NET.INFO", timeout: .seconds(60))
            return try JSONDecoder().decode(Answer.self, from: Data(answer.bytes)).data.responses?.count ?? 0
        }

        /// The server's memory, in bytes.
        var memory: Int { Int(kilobytes: "VmRSS:", of: "\(server.processID)") }

        func close() async {
            for connection in [network.connection, user.connection, system] { await connection.close() }
            server.close()
        }
    }

    /// Runs `body` so many times, many at once.
    private static func many(
        _ count: Int, atOnce lanes: Int = 64, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<lanes { group.addTask { for _ in 0..<count / lanes { try await body() } } }
            try await group.waitForAll()
        }
    }

    @Test("leave nothing behind on the server, however many", arguments: NATSServerProcess.binaries)
    func flat(binary: NATSServerBinary) async throws {
        let accounts = try await Accounts(binary)
        try await accounts.network.createConsumer(
            ConsumerConfiguration(name: "C", acknowledgement: .none, isDurable: true), in: "S")
        let consumer = try PullConsumer("C", in: "S", accounts.user)
        let user = accounts.user
        @Sendable func pull() async throws {
            guard try await consumer.fetch(1).isEmpty else { throw TestFailure("a message from nowhere") }
        }
        @Sendable func get() async throws {
            guard try await user.lastMessageDirect(in: "S", subject: "s.none") == nil else {
                throw TestFailure("a message from nowhere")
            }
        }
        // The server's memory has taken its shape after the first of them.
        try await Self.many(6_400, pull)
        try await Self.many(6_400, get)
        let before = accounts.memory
        try await Self.many(51_200, pull)
        try await Self.many(51_200, get)
        // Kept, the entries would take some 75 MB.
        #expect(accounts.memory < before + 24 << 20)
        try await eventually("the server's entries are gone") { try await accounts.entries() == 0 }
        await accounts.close()
    }

    @Test("end with their messages, and a reader has no more than two of them", arguments: NATSServerProcess.binaries)
    func reading(binary: NATSServerBinary) async throws {
        let accounts = try await Accounts(binary)
        let publisher = JetStreamPublisher(accounts.network)
        let payload = ByteBuffer(string: "x")
        for _ in 0..<20_000 { try await publisher.publish(payload, to: "s.a") { _ in } }
        try await publisher.drained()
        do {
            var reader = try accounts.user.orderedMessages(in: "S").makeAsyncIterator()
            var most = 0
            for expected in 1...20_000 {
                guard try await reader.next()?.sequence == UInt64(expected) else {
                    throw TestFailure("a message is missing")
                }
                if expected % 1_000 == 1 { most = max(most, try await accounts.entries()) }
            }
            #expect((1...2).contains(most))
        }
        try await eventually("the reader's entries are gone") { try await accounts.entries() == 0 }
        let page = try await accounts.user.page(of: "S", from: .sequence(1), limit: 1_000)
        #expect(page.messages.count == 1_000)
        try await eventually("the page's entries are gone") { try await accounts.entries() == 0 }
        // A batch has as many answers as messages, which come through where the export says so.
        var direct = accounts.user
        direct.readsBatches = true
        let batch = try await direct.batch(of: "S", from: 1, limit: 1_500, bytes: 16 << 20)
        let isBatched = direct.connection.info.isAtLeast(2, 11)
        #expect(batch?.messages.map(\.sequence) == (isBatched ? Array(1...1_500) : nil))
        #expect(batch?.pending == (isBatched ? 18_500 : nil))
        try await eventually("the batch's entries are gone") { try await accounts.entries() == 0 }
        await accounts.close()
    }

    /// What is stored: nothing where it is nil.
    private static func store(_ texts: [String?], _ accounts: Accounts) async throws {
        let publisher = JetStreamPublisher(accounts.network)
        for text in texts {
            try await publisher.publish(ByteBuffer(string: text ?? ""), to: "s.a") { _ in }
        }
        try await publisher.drained()
    }

    /// The names of the stream's consumers that have been made so far, which one may count.
    private static func made(_ accounts: Accounts) async throws -> Int {
        try await accounts.network.consumers(in: "S").count
    }

    @Test(
        "B63: a reader hears at once what follows messages without bytes, with one consumer for many of them",
        arguments: NATSServerProcess.binaries)
    func emptyMessages(binary: NATSServerBinary) async throws {
        let accounts = try await Accounts(binary)
        var reader = try accounts.user.orderedMessages(in: "S").makeAsyncIterator()
        try await reader.open()
        let first = try #require(reader.consumer).name
        // As they come, and then many at once: alone, in turns, in a row, and the last one.
        var texts: [String?] = ["a", nil, "b", nil, nil, "c"]
        for text in texts { try await Self.store([text], accounts) }
        let crowd = (0..<2_000).map { $0.isMultiple(of: 2) ? nil : "\($0)" } + Array(repeating: nil, count: 2_000)
        try await Self.store(crowd, accounts)
        texts += crowd
        var names: Set<String> = []
        for (index, text) in texts.enumerated() {
            let message = try #require(try await reader.next())
            #expect(message.sequence == UInt64(index + 1) && message.text == text ?? "")
            if let name = reader.consumer?.name { names.insert(name) }
        }
        #expect(names.count == 2 && names.contains(first), "\(names.count) consumers")
        // Messages with bytes end the caution: another one without costs one more consumer.
        texts = (0..<3_000).map { "\($0)" } + [nil, "z"]
        try await Self.store(texts, accounts)
        for text in texts {
            let message = try #require(try await reader.next())
            #expect(message.text == text ?? "")
            if let name = reader.consumer?.name { names.insert(name) }
        }
        #expect(names.count == 3, "\(names.count) consumers")
        try await eventually("the consumers of before are gone") { try await Self.made(accounts) == 1 }
        await accounts.close()
    }

    @Test(
        "B63: a page is whole whatever has no bytes, large messages between them too",
        arguments: NATSServerProcess.binaries)
    func emptyMessagesInPages(binary: NATSServerBinary) async throws {
        let accounts = try await Accounts(binary)
        let large = String(repeating: "x", count: 900_000)
        let texts: [String?] =
            ["a", nil, "b", nil, nil, large, nil, "c", large] + Array(repeating: nil, count: 300) + ["d", nil]
        try await Self.store(texts, accounts)
        let page = try await accounts.user.page(of: "S", from: .all, limit: 1_000)
        #expect(page.messages.map(\.text) == texts.map { $0 ?? "" } && page.pending == 0)
        let part = try await accounts.user.page(of: "S", from: .sequence(2), limit: 3)
        #expect(part.messages.map(\.sequence) == [2, 3, 4] && part.pending == UInt64(texts.count - 4))
        // The bytes end a page before what would make it more.
        let short = try await accounts.user.page(of: "S", from: .all, limit: 1_000, bytes: 1_000_000)
        #expect(short.messages.map(\.sequence) == Array(1...8) && short.pending == UInt64(texts.count - 8))
        let single = try await accounts.user.page(of: "S", from: .sequence(4), limit: 1_000, bytes: 1_000)
        #expect(single.messages.map(\.sequence) == [4, 5])
        try await eventually("the pages' consumers are gone") { try await Self.made(accounts) == 0 }
        await accounts.close()
    }

    @Test(
        "B63: a consumer that wants its messages acknowledged brings all of them at once",
        arguments: NATSServerProcess.binaries)
    func emptyMessagesAcknowledged(binary: NATSServerBinary) async throws {
        let accounts = try await Accounts(binary)
        let texts: [String?] = ["a", nil, "b", nil, nil, "c"] + Array(repeating: nil, count: 400) + ["d"]
        try await Self.store(texts, accounts)
        try await accounts.network.createConsumer(ConsumerConfiguration(name: "C", isDurable: true), in: "S")
        let consumer = try PullConsumer("C", in: "S", accounts.user)
        var found: [String] = []
        while found.count < texts.count {
            let messages = try await consumer.fetch(200)
            guard !messages.isEmpty else { throw TestFailure("a message was kept back") }
            found += messages.map(\.text)
        }
        #expect(found == texts.map { $0 ?? "" })
        await accounts.close()
    }
}
