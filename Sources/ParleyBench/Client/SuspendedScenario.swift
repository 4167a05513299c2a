import NATS
import Platform
import Relay
import RelayFaults
import RelayNetwork

/// What a suspended client still does, which is to be nothing: a process with the client core alone, with a
/// subscription, a local store and a message that waits, and beside it the chat in a terminal that has lost its focus.
/// Each reaches a server through a proxy of its own. They rest for `settle` seconds (5), and are watched for `seconds`
/// (60): the bytes and dials that the proxy sees, the sockets that are open, how often it wakes up, and the processor's
/// ticks. Behind each figure stands its goal. The language's runtime wakes up by itself, in every program: a third
/// process, which does nothing but sleep, is watched at the same time, and what the others do beyond it is
/// `above_floor_min`.
enum SuspendedScenario {
    /// The names under which this program starts itself as the process that rests, and the one that only sleeps.
    static let (role, floorRole) = ("suspended-client", "suspended-floor")

    /// Nothing without the chat, and where the system does not say what a process does.
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
                    throw BenchFailure("the client did not come back:\n\(LogFile.tail(of: log, lines: 5))")
                }
                return measurements
            }
        }
    }

    /// Connects, subscribes, goes to the background with a message that waits, and rests until a signal asks for the
    /// end; then it returns, and ends well when the message has been stored.
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
        // Whoever told it to end may be gone and not look whether it does.
        alarm(60)
        await client.setAppStateActive(true)
        _ = try await waiting.receipt(within: .seconds(30))
        reader.cancel()
        await client.close()
    }

    /// Sleeps until it is killed, in the way of a program that has nothing to do.
    static func sleep(_ words: Words) async throws {
        while true { try await Task.sleep(for: .seconds(86_400)) }
    }

    /// Watches processes at rest, each with the proxy that it would go through.
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

    /// How often a process wakes up, whichever of its threads, one after the other, then do what is to be done.
    private struct Wakings {
        let process: pid_t
        private(set) var count = 0
        private var isAwake = false
        private var last: [String: Int]

        init(_ process: pid_t) { (self.process, last) = (process, Meter.sleeps(of: process)) }

        /// Takes in what the process has done up to now. What is done between three looks in a row is one waking.
        mutating func look() {
            let now = Meter.sleeps(of: process)
            // A thread's number may be another one's by now, which has slept less.
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

    /// Starts the chat, which is at rest when this returns.
    private static func restingChat(
        _ parley: String, _ folder: String, _ proxy: FaultProxy
    ) async throws -> BenchTerminal {
        let profile = "servers: ['\(proxy.address)'], user: 'bench', namespace: 'bench', hash: 'bench'"
        let file = "\(folder)/config.json"
        try Data("{ profiles: { default: { \(profile) } } }".utf8).write(to: URL(fileURLWithPath: file))
        let chat = try BenchTerminal(parley, ["--config", file, "--suspend-after", "1"], home: folder)
        // It has time to subscribe first.
        var nextReport = ContinuousClock.now + .seconds(3)
        do {
            try await rest("the chat", proxy) {
                _ = try chat.output(within: 20)
                guard proxy.statistics.openConnections > 0, ContinuousClock.now >= nextReport else { return }
                // A report that comes before the chat listens is lost.
                nextReport = .now + .seconds(5)
                try chat.type("\u{1B}[I\u{1B}[O")
            }
        } catch {
            chat.end()
            throw error
        }
        return chat
    }

    /// Waits until a process that has been connected is so no more.
    private static func rest(_ name: String, _ proxy: FaultProxy, meanwhile: () async throws -> Void) async throws {
        try await wait(for: "the rest of \(name)", every: .milliseconds(20)) {
            try await meanwhile()
            return proxy.statistics.acceptedConnections > 0 && proxy.statistics.openConnections == 0
        }
    }
}
