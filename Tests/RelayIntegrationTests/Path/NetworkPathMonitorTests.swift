import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS

@Suite("Watching the network", .realProcesses)
struct NetworkPathMonitorTests {
    private static let inNamespace = "PARLEY_TEST_IN_NETWORK_NAMESPACE"

    private static var isInNamespace: Bool { ProcessInfo.processInfo.environment[inNamespace] != nil }

    private let remote = [ServerAddress(host: "broker.example")]

    @Test("tells the present state first")
    func present() async throws {
        let now = try #require(NetworkPath.current())
        // A system without its loopback interface is one in a test's own network namespace.
        if !Self.isInNamespace { #expect(now.isUsable(for: [ServerAddress(host: "localhost")])) }
        let monitor = NetworkPathMonitor(servers: [])
        #expect(monitor.descriptor != nil)
        var iterator = monitor.changes.makeAsyncIterator()
        #expect(await iterator.next() == (now.isUsable(for: []) ? .available : .unavailable))
    }

    @Test("ends its changes and gives its descriptor back with the last reference")
    func released() async throws {
        var monitor: NetworkPathMonitor? = NetworkPathMonitor(servers: remote)
        let descriptor = try #require(monitor?.descriptor)
        let link = "/proc/self/fd/\(descriptor)"
        let socket = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
        let changes = try #require(monitor?.changes)
        let reader = Task { await changes.reduce(into: 0) { count, _ in count += 1 } }
        monitor = nil
        #expect(await reader.value >= 1)
        #if os(Linux)
            try #require(socket != nil)
            try await eventually("the descriptor is closed") {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) != socket
            }
        #endif
    }

    #if os(Linux)
        /// Runs the next test in a network of its own, where it may pull cables.
        @Test(
            "B19 real interfaces that come and go, in a network namespace",
            .enabled(if: Probe.canMakeNetworks, "\(Probe.missing)"))
        func namespace() async throws {
            guard !Self.isInNamespace else { return }
            try await OwnProcess.run(
                "NetworkPathMonitorTests/interfaces", under: ["unshare", "-rn"], environment: [Self.inNamespace: "1"])
        }

        @Test(
            "B19 cables pulled and plugged (only inside a network namespace)",
            .enabled(if: isInNamespace, "the test before this one runs it in a network namespace"))
        func interfaces() async throws {
            let outside = NetworkPathMonitor(servers: remote)
            let inside = NetworkPathMonitor(servers: [ServerAddress(host: "127.0.0.1")])
            var far = outside.changes.makeAsyncIterator()
            var near = inside.changes.makeAsyncIterator()
            #expect(await far.next() == .unavailable)
            #expect(await near.next() == .unavailable)
            try await ip("link set lo up")
            #expect(await near.next() == .available)
            try await ip("link add v0 type veth peer name v1")
            try await ip("addr add 10.9.0.1/24 dev v0")
            try await ip("link set v0 up")
            try await ip("link set v1 up")
            #expect(await far.next() == .available)
            try await ip("addr add 10.9.1.1/24 dev v0")
            #expect(await far.next() == .changed)
            try await ip("route add default via 10.9.0.2")
            #expect(await far.next() == .changed)
            try await ip("link set v1 down")
            #expect(await next(.unavailable, &far))
            try await ip("link set v1 up")
            #expect(await next(.available, &far))
            try await ip("link delete v0")
            #expect(await next(.unavailable, &far))
            // Nothing of this concerned a server on this machine.
            try await ip("link set lo down")
            #expect(await near.next() == .unavailable)
        }

        /// Whether the change comes; the system may report others on the way to it.
        private func next(
            _ wanted: NetworkPath.Change, _ iterator: inout AsyncStream<NetworkPath.Change>.AsyncIterator
        ) async -> Bool {
            while let change = await iterator.next() { if change == wanted { return true } }
            return false
        }

        private func ip(_ words: String) async throws {
            let result = try await ChildProcess.run("ip", words.split(separator: " ").map(String.init))
            guard result.status.isSuccess else { throw TestFailure("ip \(words): \(result)") }
        }
    #endif
}
