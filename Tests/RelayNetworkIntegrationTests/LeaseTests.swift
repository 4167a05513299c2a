import NATS
import Platform
import TestSupport
import Testing

@testable import RelayNetwork

/// Networks whose host is a process of its own, as the application has it.
@Suite("Network: leases", .realProcesses)
struct LeaseTests {
    /// The path of the test host, which the package builds next to the tests.
    private static let hostFixture: String = {
        for argument in ProcessInfo.processInfo.arguments where argument.contains(".xctest") {
            var folder = URL(filePath: argument)
            while folder.path().count > 1 {
                folder.deleteLastPathComponent()
                let candidate = folder.appending(path: "HostFixture").path()
                if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
            }
        }
        return "HostFixture not found"
    }()

    /// A network of its own for the body; at its end, host and server are gone or the test fails.
    private func withNetwork(
        server: String, idle: Duration = .milliseconds(400),
        _ body: (NetworkDirectory, _ acquire: @escaping @Sendable () async throws -> NetworkLease) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let directory = NetworkDirectory(path: folder.path + "/local")
        let milliseconds = idle.components.seconds * 1000 + idle.components.attoseconds / 1_000_000_000_000_000
        var environment = ProcessInfo.processInfo.environment
        environment["PARLEY_NATS_SERVER"] = server
        do {
            try await body(directory) { [environment] in
                try await NetworkLease.acquire(
                    directory: directory, hostCommand: [Self.hostFixture, directory.path, "\(milliseconds)"],
                    environment: environment, timeout: .seconds(120))
            }
        } catch {
            try await NetworkControl.stop(directory: directory, evenIfUsed: true, timeout: .seconds(60))
            throw error
        }
        try await NetworkControl.stop(directory: directory, evenIfUsed: true, timeout: .seconds(60))
        withExtendedLifetime(folder) {}
    }

    private func isAlive(_ pid: Int32) -> Bool { kill(pid, 0) == 0 }

    @Test("Two at once share one network; after the last has left, nothing runs any more", arguments: TestServers.all)
    func sharing(server: String) async throws {
        try await withNetwork(server: server) { directory, acquire in
            async let one = acquire()
            async let two = acquire()
            let (first, second) = try await (one, two)
            #expect(first.description == second.description)
            #expect(ServerAddressText(first.url).port != 4222)
            let alice = try await NATSConnection.connect(
                to: ServerAddress(parsing: first.url),
                options: .init(
                    authentication: .init(first.directory.credentials(for: "alice")), connectTimeout: .seconds(60)))
            // The server is asked, and has ten seconds for its answer.
            try await eventually("the network runs") { try await directory.running() == first.description }
            #expect(try await directory.clientCount(of: first.description) == 1)
            await alice.close()
            let network = first.description
            first.release()
            // One share is left: the network outlasts the idle time several times over.
            let deadline = ContinuousClock.now + .milliseconds(1600)
            while ContinuousClock.now < deadline {
                #expect(isAlive(network.serverPid))
                try await Task.sleep(for: .milliseconds(100))
            }
            second.release()
            try await eventually("host and server have ended") {
                !isAlive(network.serverPid) && !isAlive(network.hostPid)
            }
            #expect(try await directory.running() == nil)
            // The next session finds the same server address and the same user.
            let third = try await acquire()
            #expect(third.url == network.url)
            #expect(third.description.hash == network.hash)
            third.release()
        }
    }

    @Test("A server that a killed host left behind is ended before the next starts", arguments: TestServers.all)
    func staleServer(server: String) async throws {
        try await withNetwork(server: server, idle: .seconds(60)) { directory, acquire in
            _ = try NetworkIdentity.open(in: directory)
            // Plays the server of a host that was killed: its arguments name this network's configuration.
            try PrivateFile.write([], to: directory.serverConfiguration)
            let log = try LogFile(directory.serverLog)
            let stale = try ProcessStart.start(
                ["/usr/bin/tail", "-f", directory.serverConfiguration], environment: [:],
                output: log.descriptor, place: .detached
            ).get()
            let other = try ProcessStart.start(
                ["/bin/sleep", "600"], environment: [:], output: log.descriptor, place: .detached
            ).get()
            try PrivateFile.write("\(other)\n".utf8, to: directory.serverProcessFile)
            #expect(directory.runningServer == nil)
            try PrivateFile.write("\(stale)\n".utf8, to: directory.serverProcessFile)
            #expect(directory.runningServer?.pid == stale)
            let lease = try await acquire()
            try await eventually("the server left behind has ended") { !isAlive(stale) }
            #expect(isAlive(other))
            lease.release()
            kill(other, SIGKILL)
        }
    }

    @Test("A server that a script starts as its child is found, killed, missed and ended", arguments: TestServers.all)
    func scriptedServer(server: String) async throws {
        let folder = try TemporaryFolder()
        var last: Int32 = 0
        try await withNetwork(server: folder.script(starting: server), idle: .seconds(60)) { directory, acquire in
            let lease = try await acquire()
            let first = lease.description
            #expect(RunningProcess(first.serverPid)?.arguments.first == server)
            /// The network on the next server, once the one before has ended.
            func next(after pid: Int32) async throws -> NetworkDescription {
                try await eventually("the server has ended") { !RunningProcess.exists(pid) }
                var found = first
                try await eventually("another one answers") {
                    found = try await lease.ensureRunning(timeout: .seconds(120))
                    return found.serverPid != pid
                }
                #expect(found.url == first.url)
                return found
            }
            directory.killServer()
            let second = try await next(after: first.serverPid)
            #expect(second.hostPid == first.hostPid)
            #if os(Linux)
                // The script's end is the server's.
                let status = try #require(try PrivateFile.read("/proc/\(second.serverPid)/stat"))
                let parent = String(decoding: status, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
                #expect(kill(try #require(parent.flatMap { pid_t($0[1]) }), SIGKILL) == 0)
                let third = try await next(after: second.serverPid)
                #expect(third.hostPid == first.hostPid)
            #else
                let third = second
            #endif
            #expect(kill(third.hostPid, SIGKILL) == 0)
            #if os(Linux)
                try await eventually("the host's end is the server's") { !RunningProcess.exists(third.serverPid) }
            #endif
            let after = try await lease.ensureRunning(timeout: .seconds(120))
            #expect(after.hostPid != first.hostPid && !RunningProcess.exists(third.serverPid))
            #expect(after.url == first.url && lease.url == first.url)
            last = after.serverPid
            lease.release()
        }
        #expect(last > 0 && !RunningProcess.exists(last))
    }

    @Test("What keeps the host from starting reaches the client in words")
    func failures() async throws {
        let server = try #require(TestServers.all.first)
        try await withNetwork(server: "/nowhere/nats-server") { _, acquire in
            let error = await #expect(throws: NetworkError.self) { _ = try await acquire() }
            #expect(error?.description.contains("/nowhere/nats-server") == true)
            #expect(error?.description.contains("./setup") == true)
        }
        try await withNetwork(server: server) { directory, _ in
            let folder = try TemporaryFolder()
            let broken = folder.path + "/nats-server"
            try PrivateFile.write("#!/bin/sh\necho the disk is made of cheese\nexit 1\n".utf8, to: broken)
            #expect(chmod(broken, 0o700) == 0)
            let error = await #expect(throws: NetworkError.self) {
                _ = try await NetworkLease.acquire(
                    directory: directory, hostCommand: [Self.hostFixture, directory.path, "400"],
                    environment: ["PARLEY_NATS_SERVER": broken])
            }
            #expect(error?.description.contains("the disk is made of cheese") == true)
        }
        try await withNetwork(server: server) { directory, _ in
            let error = await #expect(throws: NetworkError.self) {
                _ = try await NetworkLease.acquire(
                    directory: directory, hostCommand: ["/nowhere/parley"], environment: [:])
            }
            #expect(error?.description.contains("/nowhere/parley") == true)
        }
    }

    @Test("A host that takes seconds to begin, as on a busy machine, is waited for and started once")
    func slowHost() async throws {
        let server = try #require(TestServers.all.first)
        try await withNetwork(server: server) { directory, _ in
            let folder = try TemporaryFolder()
            let starts = folder.path + "/starts"
            var environment = ProcessInfo.processInfo.environment
            environment["PARLEY_NATS_SERVER"] = server
            // Longer than three hosts are given that end at once.
            let script = #"echo started >> "$0"; sleep 4; exec "$@""#
            let lease = try await NetworkLease.acquire(
                directory: directory,
                hostCommand: ["/bin/sh", "-c", script, starts, Self.hostFixture, directory.path, "400"],
                environment: environment, timeout: .seconds(120))
            let written = try #require(try PrivateFile.read(starts))
            #expect(String(decoding: written, as: UTF8.self) == "started\n")
            lease.release()
        }
    }

    @Test("Without nats-server, one sentence says what to run")
    func missingServer() {
        #expect(NetworkError.serverMissing.description.contains("./setup"))
        // The usual folders may hold one on this machine; an environment that names an absent one is refused anyway.
        #expect(throws: NetworkError.serverNotExecutable(path: "/etc")) {
            try ServerExecutable.find(in: ["PARLEY_NATS_SERVER": "/etc"])
        }
    }

    @Test("A network started as a service stays without clients, until it is stopped", arguments: TestServers.all)
    func keeping(server: String) async throws {
        try await withNetwork(server: server) { directory, acquire in
            var environment = ProcessInfo.processInfo.environment
            environment["PARLEY_NATS_SERVER"] = server
            let network = try await NetworkControl.start(
                directory: directory, hostCommand: [Self.hostFixture, directory.path, "100"], environment: environment,
                timeout: .seconds(120))
            let deadline = ContinuousClock.now + .milliseconds(600)
            while ContinuousClock.now < deadline {
                #expect(isAlive(network.serverPid))
                try await Task.sleep(for: .milliseconds(50))
            }
            let lease = try await acquire()
            #expect(lease.description == network)
            #expect(try await NetworkControl.stop(directory: directory) == .inUse)
            lease.release()
            let outcome = try await NetworkControl.stop(directory: directory)
            #expect(outcome == .stopped || outcome == .notRunning)
            try await eventually("host and server have ended") {
                !isAlive(network.serverPid) && !isAlive(network.hostPid)
            }
            #expect(try await NetworkControl.stop(directory: directory) == .notRunning)
        }
    }
}

/// The port of a server's URL.
private struct ServerAddressText {
    let port: Int

    init(_ url: String) {
        port = url.split(separator: ":").last.flatMap { Int($0) } ?? 4222
    }
}
