import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import NATS

/// A server that sends without measure costs this client bounded memory, and is left where it goes too far.
@Suite("A server that floods its client", .serialized, .realProcesses)
struct HostilePeerTests {
    /// As much as a flood sends at most: many times what the client may hold.
    private static let flood = 64 << 20
    /// What all tests of this process together may take on meanwhile.
    private static let room = 768 << 20
    /// A flood fills its loop for a second at a time in a build for debugging; the deadlines of other tests'
    /// connections count on theirs.
    private static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// A peer that logs a client in and then sends `block` over and over without reading; how many bytes it got rid of.
    private static func flooding(
        with block: String, upTo limit: Int = flood
    ) throws -> (peer: ScriptedPeer, sent: NIOLockedValueBox<Int>) {
        let sent = NIOLockedValueBox(0)
        let bytes = Array(block.utf8)
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("SUB ready 2\r\n") else { return }
            while sent.withLockedValue(\.self) < limit, link.send(bytes) {
                sent.withLockedValue { $0 += bytes.count }
            }
        }
        return (peer, sent)
    }

    private static func lines(_ line: String) -> String {
        String(repeating: line + "\r\n", count: max(1, (64 << 10) / (line.utf8.count + 2)))
    }

    /// An INFO with so many other servers.
    fileprivate static func info(servers count: Int) -> String {
        let list = (0..<count).map { "\"h\($0):4222\"" }.joined(separator: ",")
        return
            "INFO {\"server_id\":\"S\",\"version\":\"2.10.0\",\"headers\":true,\"max_payload\":1048576,\"connect_urls\":[\(list)]}"
    }

    /// What is repeated.
    enum Flood: String, CaseIterable {
        case pings, shortInfos, infosOfManyServers, longestInfos, refusedPublishes, refusedSubscriptions, notices

        var line: String {
            switch self {
            case .pings: "PING"
            case .shortInfos: "INFO {\"server_id\":\"S\"}"
            case .infosOfManyServers: info(servers: 10_000)
            case .longestInfos: info(servers: 60_000)
            case .refusedPublishes: "-ERR 'Permissions Violation for Publish to \"a\"'"
            case .refusedSubscriptions:
                "-ERR 'Permissions Violation for Subscription to \"\(String(repeating: "s", count: 3_000))\"'"
            case .notices: "-ERR 'Invalid Subject'"
            }
        }
    }

    @Test("is left, whatever it repeats, and costs no memory until then", arguments: Flood.allCases)
    func floods(flood: Flood) async throws {
        let (peer, sent) = try Self.flooding(with: Self.lines(flood.line))
        // Without pings, and so without the system's own limit for what this peer does not take.
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero), group: Self.loop)
        // These are not read meanwhile.
        let events = connection.events
        let before = ProcessMemory.resident
        _ = try connection.subscribe(to: "ready")
        #expect(await connection.waitUntilClosed().isViolation)
        #expect(sent.withLockedValue(\.self) < Self.flood)
        #expect(ProcessMemory.resident < before + Self.room)
        var last: NATSConnectionEvent?
        for await event in events { last = event }
        guard case .closed(.protocolViolation) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
    }

    @Test("is left when a line has no end, during and after the login", arguments: [true, false])
    func endlessLine(logsIn: Bool) async throws {
        let peer = try ScriptedPeer { link in
            if logsIn { link.logIn() } else { link.send("INFO {\"server_id\":\"") }
            var sent = 0
            while sent < Self.flood, link.send([UInt8](repeating: UInt8(ascii: "x"), count: 65_536)) { sent += 65_536 }
            link.waitForEnd()
        }
        if logsIn {
            #expect(try await peer.connect(group: Self.loop).waitUntilClosed().isViolation)
        } else {
            let error = await failure { () async throws(NATSError) in
                _ = try await NATSConnection.connect(to: ServerAddress(parsing: peer.url), group: Self.loop)
            }
            #expect(error.isViolation)
        }
    }

    @Test("is left when an INFO names a million servers, and a thousand cost no more than a hundred")
    func manyServers() async throws {
        let long = Self.info(servers: 1_000)
        let endless = Self.info(servers: 1_000_000)
        let peer = try ScriptedPeer { link in
            link.send(long + "\r\n")
            guard link.waitFor("PING\r\n") else { return }
            link.send("PONG\r\n" + long + "\r\n")
            guard link.waitFor("PING\r\n") else { return }
            link.send("PONG\r\n")
            guard link.waitFor("SUB ready 2\r\n") else { return }
            link.send(endless + "\r\n")
            link.waitForEnd()
        }
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero), group: Self.loop)
        try await connection.flush(timeout: .seconds(60))
        #expect(connection.info.connectURLs?.count == 128)
        #expect(connection.info.connectURLs?.first == "h0:4222")
        _ = try connection.subscribe(to: "ready")
        #expect(await connection.waitUntilClosed().isViolation)
    }

    @Test("is left when a message claims more than there can be, and what it may claim is not taken on its word")
    func hugeClaims() async throws {
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("SUB ready 2\r\n") else { return }
            link.send("MSG ready 2 67108864\r\n")
            guard link.waitFor("SUB next 3\r\n") else { return }
            link.waitForEnd()
        }
        let before = ProcessMemory.resident
        let connections = try await withThrowingTaskGroup { group in
            for _ in 0..<16 { group.addTask { try await peer.connect(group: Self.loop) } }
            return try await group.reduce(into: [NATSConnection]()) { $0.append($1) }
        }
        for connection in connections {
            _ = try connection.subscribe(to: "ready")
            _ = try connection.subscribe(to: "next")
        }
        #expect(ProcessMemory.resident < before + Self.room)
        for connection in connections { connection.closeNow() }
        let liar = try ScriptedPeer { link in
            guard link.logIn() else { return }
            link.send("HMSG a 2 67108865 67108865\r\n")
            link.waitForEnd()
        }
        #expect(try await liar.connect(group: Self.loop).waitUntilClosed().isViolation)
    }

    @Test("with long subjects fills a slow reader's buffer as long payloads do")
    func longSubjects() async throws {
        let long = String(repeating: "r", count: 100_000)
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("SUB ready 2\r\n") else { return }
            for _ in 0..<100 { link.send("MSG ready 2 \(long) 1\r\nx\r\n") }
            guard link.waitFor("PING\r\n") else { return }
            link.send("PONG\r\n")
            link.waitForEnd()
        }
        // The peer answers the flush's ping, and no other.
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero), group: Self.loop)
        let subscription = try connection.subscribe(to: "ready", limits: BufferLimits(bytes: 1 << 20))
        try await connection.flush(timeout: .seconds(60))
        #expect(subscription.dropped >= 89)
        connection.closeNow()
    }

    @Test("pings are answered, each one, however many come at once")
    func manyPings() async throws {
        let count = 60_000
        let peer = try ScriptedPeer { link in
            guard link.logIn(), link.waitFor("SUB ready 2\r\n") else { return }
            link.send(String(repeating: "PING\r\n", count: count) + "MSG ready 2 0\r\n\r\n")
            link.waitFor("PUB done 0\r\n")
            link.send("-ERR 'Enough'\r\n")
            link.waitForEnd()
        }
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero), group: Self.loop)
        _ = try await connection.subscribe(to: "ready").first(1)
        try connection.publish([], to: "done")
        #expect(await connection.waitUntilClosed() == .closedByServer("Enough"))
        #expect(peer.received.split(separator: "\r\n").count { $0 == "PONG" } == count)
    }
}
