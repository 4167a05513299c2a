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
    /// The scenario's name on the command line.
    static let name = "suspended"
    /// The name under which this program starts itself as the process that rests.
    static let role = "suspended-client"
    /// The name under which this program starts itself as the process that only sleeps.
    static let floorRole = "suspended-floor"

    /// Nothing where the system does not say what a process does.
    @concurrent
    static func run(_ words: Words) async throws -> [Measurement] {
        #if os(Linux)
            let times = (
                settling: Duration.seconds(max(0, words.number("settle", 5))),
                watching: Duration.seconds(max(1, words.number("seconds", 60)))
            )
            return try await BenchServer.run { server in
                let jetStream = JetStream(try await NATSConnection.connect(to: server.address))
                try await jetStream.createStream(.init(name: "bench_stream", subjects: ["bench.>"]))
                await jetStream.connection.close()
                let folder = try TemporaryFolder.make("bench")
                defer { try? FileManager.default.removeItem(atPath: folder) }
                return try await withClient(server, folder) { client in
                    try await withChat(server, folder) { chat in
                        let subjects = [client, chat].compactMap(\.self)
                        return try await withFloor(folder) { floor in
                            try await watch(subjects, beside: floor, settling: times.settling, for: times.watching)
                        }
                    }
                }
            }
        #else
            Meter.remark("suspended is left out: what a process does is counted on Linux alone")
            return []
        #endif
    }

    // MARK: The process that rests

    /// Connects, subscribes, goes to the background with a message that waits, and rests until a signal asks for the
    /// end; then it returns, and ends well when the message has been stored.
    @concurrent
    static func rest(_ words: Words) async throws {
        let signals = EndingSignals()
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([words.text("server", "")])), user: "bench",
            namespace: .init(name: "bench", hash: "bench"), lifecycle: .immediate,
            store: .file(words.text("folder", ".") + "/store.db"))
        configuration.handleAppLifecycle = true
        let client = RelayClient(configuration: configuration)
        try await client.connect(timeLimit: 20)
        let events = try await client.messages(topic: "line", from: .all)
        let reader = Task { for try await _ in events {} }
        await client.setAppStateActive(false)
        for await status in client.statuses where status.state == .suspended { break }
        let waiting = try client.submit(topic: "line", message: "written while suspended")
        for await _ in signals.numbers { break }
        // Whoever told it to end may be gone and not look whether it does.
        alarm(60)
        await client.setAppStateActive(true)
        _ = try await waiting.receipt(within: .seconds(30))
        reader.cancel()
        await client.close()
    }

    /// Sleeps until it is killed, in the way of a program that has nothing to do.
    @concurrent
    static func sleep() async throws {
        while true { try await Task.sleep(for: .seconds(86_400)) }
    }

    #if os(Linux)
        // MARK: Watching

        /// A process at rest, with the proxy that it would go through.
        private struct Subject {
            let name: String
            let process: pid_t
            let proxy: FaultProxy
        }

        /// What is known of a subject up to a moment.
        private struct Reading {
            let activity: ProcessActivity
            let traffic: FaultProxy.Statistics
        }

        private static func watch(
            _ subjects: [Subject], beside floor: pid_t, settling: Duration, for time: Duration
        ) async throws -> [Measurement] {
            try await Task.sleep(for: settling)
            let earlier = try subjects.map(reading)
            let begin = Meter.now()
            var wakings = try subjects.map { Wakings(try activity(of: $0.process, $0.name)) }
            var floorWakings = Wakings(try activity(of: floor, "the floor"))
            while Meter.now() - begin < Double(time.components.seconds) {
                try await Task.sleep(for: .milliseconds(50))
                floorWakings.look(try activity(of: floor, "the floor"))
                for (index, subject) in subjects.enumerated() {
                    wakings[index].look(try activity(of: subject.process, subject.name))
                }
            }
            let seconds = Meter.now() - begin
            return try subjects.indices.map { index in
                let (subject, before) = (subjects[index], earlier[index])
                let after = try reading(subject)
                let bytes = Self.bytes(after.traffic) - Self.bytes(before.traffic)
                let dials = after.traffic.acceptedConnections - before.traffic.acceptedConnections
                let done = after.activity.since(before.activity)
                Meter.remark("\(subject.name) slept in \(done.threads.joined(separator: ", "))")
                let (count, floorCount) = (Double(wakings[index].count), Double(floorWakings.count))
                return Measurement(subject.name).adding("seconds", seconds)
                    .adding("bytes", Double(bytes)).adding("bytes_goal", 0)
                    .adding("dials", Double(dials)).adding("dials_goal", 0)
                    .adding("sockets", Double(sockets(of: subject.process))).adding("sockets_goal", 0)
                    .adding("wakeups_min", count * 60 / seconds)
                    .adding("floor_min", floorCount * 60 / seconds)
                    .adding("above_floor_min", max(0, count - floorCount) * 60 / seconds)
                    .adding("above_floor_min_goal", 1)
                    .adding("ticks", Double(done.ticks)).adding("ticks_goal", 0)
            }
        }

        /// How often a process wakes up, whichever of its threads, one after the other, then do what is to be done.
        private struct Wakings {
            private(set) var count = 0
            private var isAwake = false
            private var last: ProcessActivity

            init(_ first: ProcessActivity) { last = first }

            /// Takes in what the process has done up to now. What is done between three looks in a row is one waking.
            mutating func look(_ now: ProcessActivity) {
                let hasSlept = now.since(last).sleeps > 0
                if hasSlept, !isAwake { count += 1 }
                isAwake = hasSlept
                last = now
            }
        }

        private static func reading(_ subject: Subject) throws -> Reading {
            Reading(
                activity: try activity(of: subject.process, subject.name), traffic: subject.proxy.statistics)
        }

        private static func activity(of process: pid_t, _ name: String) throws -> ProcessActivity {
            guard let activity = ProcessActivity.of(process) else {
                throw failure("\(name) has ended, or the system does not say what it does")
            }
            return activity
        }

        private static func bytes(_ traffic: FaultProxy.Statistics) -> Int {
            traffic.bytesFromClient + traffic.bytesFromServer + traffic.swallowedBytes
        }

        /// How many sockets a process has open, of whatever kind.
        private static func sockets(of process: pid_t) -> Int {
            let folder = "/proc/\(process)/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
                return target?.hasPrefix("socket:") == true
            }
        }

        /// Waits until a process that has been connected is so no more.
        private static func awaitRest(
            _ name: String, _ proxy: FaultProxy, meanwhile: () async throws -> Void
        ) async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while proxy.statistics.acceptedConnections == 0 || proxy.statistics.openConnections > 0 {
                guard ContinuousClock.now < deadline else { throw failure("\(name) does not come to rest") }
                try await meanwhile()
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        private static func failure(_ words: String) -> NATSError { .invalidArgument(words) }

        // MARK: The subjects

        /// Runs a body beside a process that only sleeps.
        private static func withFloor(
            _ folder: String, _ body: (pid_t) async throws -> [Measurement]
        ) async throws -> [Measurement] {
            let process = try await ServerProcess.start(
                [ThisProgram.path, floorRole], environment: ProcessInfo.processInfo.environment,
                log: LogFile("\(folder)/floor.log"))
            let result: Result<[Measurement], any Error>
            do { result = .success(try await body(process.id)) } catch { result = .failure(error) }
            process.signal(SIGKILL)
            _ = await process.end()
            return try result.get()
        }

        /// Runs a body beside the client core at rest, and has it return afterwards.
        private static func withClient(
            _ server: BenchServer, _ folder: String, _ body: (Subject) async throws -> [Measurement]
        ) async throws -> [Measurement] {
            let proxy = try await FaultProxy.start(target: server.address)
            let command = [ThisProgram.path, role, "server=\(url(of: proxy))", "folder=\(folder)"]
            let process = try await ServerProcess.start(
                command, environment: ProcessInfo.processInfo.environment, log: LogFile("\(folder)/log"))
            let result: Result<[Measurement], any Error>
            do {
                try await awaitRest("the client", proxy) {
                    guard !process.hasEnded else {
                        throw failure("the client has ended:\n\(LogFile.tail(of: "\(folder)/log", lines: 5))")
                    }
                }
                result = .success(try await body(Subject(name: name, process: process.id, proxy: proxy)))
            } catch { result = .failure(error) }
            process.signal(SIGTERM)
            let status = await process.end()
            await proxy.close()
            let measurements = try result.get()
            guard status == 0 else {
                throw failure("the client did not come back:\n\(LogFile.tail(of: "\(folder)/log", lines: 5))")
            }
            return measurements
        }

        /// Runs a body beside the chat at rest; without it where there is no `parley` beside this program.
        private static func withChat(
            _ server: BenchServer, _ folder: String, _ body: (Subject?) async throws -> [Measurement]
        ) async throws -> [Measurement] {
            guard let executable = FirstFrame.executable else {
                Meter.remark("suspended_chat is left out: there is no parley beside parley-bench")
                return try await body(nil)
            }
            let proxy = try await FaultProxy.start(target: server.address)
            let profile = "servers: ['\(url(of: proxy))'], user: 'bench', namespace: 'bench', hash: 'bench'"
            let file = "\(folder)/config.json"
            try Data("{ profiles: { default: { \(profile) } } }".utf8).write(to: URL(fileURLWithPath: file))
            let chat = try BenchTerminal(
                executable, ["--config", file, "--suspend-after", "1"],
                environment: [
                    "HOME=\(folder)", "XDG_DATA_HOME=\(folder)/data", "XDG_CONFIG_HOME=\(folder)/config",
                    "XDG_STATE_HOME=\(folder)/state", "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=/usr/bin:/bin",
                ])
            defer { chat.end() }
            // It has time to subscribe first.
            var nextReport = ContinuousClock.now + .seconds(3)
            try await awaitRest("the chat", proxy) {
                guard chat.output(within: 20) != nil else { throw failure("the chat has ended") }
                guard proxy.statistics.openConnections > 0, ContinuousClock.now >= nextReport else { return }
                // A report that comes before the chat listens is lost.
                nextReport = .now + .seconds(5)
                try chat.type(Array("\u{1B}[I\u{1B}[O".utf8))
            }
            let measurements = try await body(Subject(name: "\(name)_chat", process: chat.process, proxy: proxy))
            await proxy.close()
            return measurements
        }

        private static func url(of proxy: FaultProxy) -> String { "nats://\(proxy.address.host):\(proxy.address.port)" }
    #endif
}
