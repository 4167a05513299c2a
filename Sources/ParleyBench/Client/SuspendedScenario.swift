import NATS
import Platform
import Relay
import RelayFaults
import RelayNetwork

/// Checks that a suspended client does nothing: a process with the client core only, a subscription, a local store and
/// a waiting message, and beside it the chat in a terminal without focus. Each reaches a server through its own proxy.
/// After `settle` seconds (5) they are watched for `seconds` (60): the bytes and dials at the proxy, the open sockets,
/// how often they wake up, and the processor's ticks. Each figure is followed by its goal. The language's runtime wakes
/// up in every program: a third process that only sleeps is watched at the same time, and wake-ups beyond its own are
/// `above_floor_min`.
enum SuspendedScenario {
    /// The names with which this program starts itself as the suspended process, and as the one that only sleeps.
    static let (role, floorRole) = ("suspended-client", "suspended-floor")

    /// Returns nothing without the chat, or if the system does not report a process's activity.
    static func run(_ words: Words) async throws -> [Measurement] {
        guard let parley = ThisProgram.parley(for: "suspended") else { return [] }
        let settling = Duration.seconds(words.number("settle", 5))
        let seconds = Double(words.number("seconds", 60, atLeast: 1))
        return try await BenchServer.run { server in
            let folder = server.folder
            try await server.makeStream()
            let toClient = try await FaultProxy.start(target: server.address)
            let toChat = try await FaultProxy.start(target: server.address)
            let floor = try await ThisProgram.start([floorRole], log: folder + "/floor.log")
            let log = folder + "/client.log"
            let client = try await ThisProgram.start(
                [role, "server=\(toClient.address)", "folder=\(folder)"], log: log)
            return try await finally {
                for process in [floor, client] {
                    process.signal(SIGKILL)
                    _ = await process.end()
                }
                for proxy in [toClient, toChat] { await proxy.close() }
            } after: {
                try await rest("the client", toClient) {
                    if client.hasEnded { throw BenchFailure(LogFile.tail(of: log, lines: 5)) }
                }
                let chat = try await restingChat(parley, folder, toChat)
                defer { chat.end() }
                try await Task.sleep(for: settling)
                let measurements = try await watch(
                    [("suspended", client.id, toClient), ("suspended_chat", chat.process, toChat)], beside: floor.id,
                    for: seconds)
                client.signal(SIGTERM)
                guard await client.end() == 0 else {
                    throw BenchFailure("the client did not return:\n\(LogFile.tail(of: log, lines: 5))")
                }
                return measurements
            }
        }
    }

    /// Connects, subscribes, goes to the background with a waiting message, and rests until a signal; ends well once
    /// the message has been stored.
    static func rest(_ words: Words) async throws {
        let signals = EndingSignals()
        let client = RelayClient.bench(at: try ServerAddress(parsing: words.text("server"))) { configuration in
            configuration.lifecycle = .immediate
            configuration.store = .file(words.text("folder", ".") + "/store.db")
            configuration.followsNetwork = true
            configuration.handleAppLifecycle = true
        }
        try await client.connect(timeLimit: 20)
        let events = try await client.messages(topic: "line", from: .all)
        let reader = Task { for try await _ in events {} }
        await client.setAppStateActive(false)
        for await status in client.statuses where status.state == .suspended { break }
        let waiting = try await client.enqueue(topic: "line", message: "written while suspended")
        for await _ in signals.numbers { break }
        // Its parent may be gone and no longer check that it ends.
        alarm(60)
        await client.setAppStateActive(true)
        _ = try await waiting.receipt(within: .seconds(30))
        reader.cancel()
        await client.close()
    }

    /// Sleeps until it is killed, as a program with nothing to do.
    static func sleep(_ words: Words) async throws {
        while true { try await Task.sleep(for: .seconds(86_400)) }
    }

    /// Watches resting processes, each with its proxy.
    private static func watch(
        _ subjects: [(name: String, process: pid_t, proxy: FaultProxy)], beside floor: pid_t, for time: Double
    ) async throws -> [Measurement] {
        let processes = [floor] + subjects.map(\.process)
        let (traffic, ticks) = (subjects.map(\.proxy.statistics), processes.map { Meter.ticks(of: $0) ?? 0 })
        let begin = Meter.now()
        var wakings = processes.map { Wakings($0) }
        while Meter.now() - begin < time {
            try await Task.sleep(for: .milliseconds(50))
            for index in wakings.indices { wakings[index].look() }
        }
        let seconds = Meter.now() - begin
        return try subjects.enumerated().map { index, subject in
            guard let late = Meter.ticks(of: subject.process) else { throw BenchFailure("\(subject.name) has ended") }
            let (before, after) = (traffic[index], subject.proxy.statistics)
            let (count, floor) = (Double(wakings[index + 1].count), Double(wakings[0].count))
            return Measurement(subject.name).adding([
                "seconds": seconds, "bytes": bytes(after) - bytes(before), "bytes_goal": 0,
                "dials": after.acceptedConnections - before.acceptedConnections, "dials_goal": 0,
                "sockets": sockets(of: subject.process), "sockets_goal": 0, "wakeups_min": count * 60 / seconds,
                "floor_min": floor * 60 / seconds, "above_floor_min": max(0, count - floor) * 60 / seconds,
                "above_floor_min_goal": 1, "ticks": late - ticks[index + 1], "ticks_goal": 0,
            ])
        }
    }

    /// Counts how often any thread of a process wakes up.
    private struct Wakings {
        let process: pid_t
        private(set) var count = 0
        private var isAwake = false
        private var last: [String: Int]

        init(_ process: pid_t) { (self.process, last) = (process, Meter.sleeps(of: process)) }

        /// Samples the process. Activity in consecutive samples counts as one wake-up.
        mutating func look() {
            let now = Meter.sleeps(of: process)
            // A thread's id may have been reused by one that has slept less.
            let hasSlept = now.contains { thread, count in count > 0 && count != last[thread] }
            if hasSlept, !isAwake { count += 1 }
            isAwake = hasSlept
            last = now
        }
    }

    private static func bytes(_ traffic: FaultProxy.Statistics) -> Int {
        traffic.bytesFromClient + traffic.bytesFromServer + traffic.swallowedBytes
    }

    private static func sockets(of process: pid_t) -> Int {
        let folder = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target?.hasPrefix("socket:") == true
        }
    }

    /// Starts the chat; it is suspended when this returns.
    private static func restingChat(
        _ parley: String, _ folder: String, _ proxy: FaultProxy
    ) async throws -> BenchTerminal {
        let profile = "servers: ['\(proxy.address)'], user: 'bench', namespace: 'bench', hash: 'bench'"
        let file = "\(folder)/config.json"
        try Data("{ profiles: { default: { \(profile) } } }".utf8).write(to: URL(fileURLWithPath: file))
        let chat = try BenchTerminal(parley, ["--config", file, "--suspend-after", "1"], home: folder)
        // Leaves it time to subscribe first.
        var nextReport = ContinuousClock.now + .seconds(3)
        do {
            try await rest("the chat", proxy) {
                _ = try chat.output(within: 20)
                guard proxy.statistics.openConnections > 0, ContinuousClock.now >= nextReport else { return }
                // A report is lost before the chat listens.
                nextReport = .now + .seconds(5)
                try chat.type("\u{1B}[I\u{1B}[O")
            }
        } catch {
            chat.end()
            throw error
        }
        return chat
    }

    /// Waits until a process that was connected no longer is.
    private static func rest(_ name: String, _ proxy: FaultProxy, meanwhile: () async throws -> Void) async throws {
        try await wait(for: "the rest of \(name)", every: .milliseconds(20)) {
            try await meanwhile()
            return proxy.statistics.acceptedConnections > 0 && proxy.statistics.openConnections == 0
        }
    }
}
