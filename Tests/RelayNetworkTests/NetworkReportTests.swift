import NATS
import Testing

@testable import RelayNetwork

@Suite("Report: how a network on several servers is doing")
struct NetworkReportTests {
    private func stream(_ name: String, leader: String? = "s1", _ copies: NetworkReport.Copy...) -> NetworkReport.Stream
    {
        var stream = NetworkReport.Stream(name: name, leader: leader)
        stream.copies = copies
        return stream
    }

    private func copy(_ server: String, isCurrent: Bool = true, isOffline: Bool = false) -> NetworkReport.Copy {
        .init(server: server, isCurrent: isCurrent, isOffline: isOffline, lag: isCurrent ? 0 : 7)
    }

    /// A network of which all is there.
    private func whole() -> NetworkReport {
        var report = NetworkReport(network: "team")
        report.take(
            [("nats://a:1", .success(.init(name: "s1", version: "2.15.1", connections: nil, answers: true)))],
            told: [
                .init(name: "s2", version: "2.9.10", connections: 2, answers: true),
                .init(name: "s1", version: "2.15.1", connections: 3, answers: true),
            ])
        var list = StreamStandings()
        list.streams = [stream("team_stream", copy("s2"))]
        list.postboxes.add(stream("PB_alice", copy("s2")))
        report.take(list, planned: ["team_stream"])
        report.services = [.init(id: "X", started: "", requests: 1, errors: 0)]
        return report
    }

    @Test("A server is told once, by name, with what it said of its connections, also one that nobody named")
    func servers() {
        let report = whole()
        #expect(report.servers.map(\.name) == ["s1", "s2"] && report.servers.map(\.connections) == [3, 2])
        #expect(report.isWhole && report.troubles.isEmpty)
    }

    @Test("A network that stores nothing more is not whole, and it is said what to do")
    func closed() {
        var report = whole()
        var list = StreamStandings()
        list.streams = [stream("team_stream", copy("s2"))]
        list.isClosed = true
        report.take(list, planned: ["team_stream"])
        #expect(!report.isWhole && report.troubles.count == 1 && report.troubles[0].contains("Free some space"))
    }

    @Test(
        "A server that is not reached stands there by its place, with the reason, and without the system account the rest does too"
    )
    func lost() {
        var report = NetworkReport(network: "team")
        report.take(
            [
                ("nats://a:1", .success(.init(name: "s1", version: "2.15.1", connections: nil, answers: true))),
                ("nats://b:1", .failure(.timedOut("Asking"))),
            ], told: nil)
        #expect(report.servers.map(\.name) == ["s1", "nats://b:1"] && report.servers.map(\.answers) == [true, false])
        #expect(report.troubles.count == 1 && report.troubles[0].hasPrefix("nats://b:1 is not reached: "))
        #expect(!report.isWhole)
    }

    @Test("A server that others tell of while nobody reaches its place is one server, which does not answer")
    func unplaced() {
        func server(_ name: String) -> NetworkReport.Server {
            .init(name: name, version: "2.15.1", connections: 1, answers: true)
        }
        var report = NetworkReport(network: "team")
        report.take(
            [("nats://a:1", .success(server("s1"))), ("nats://b:1", .failure(.timedOut("Asking")))],
            told: [server("s1"), server("s2")])
        #expect(report.servers.map(\.name) == ["s1", "nats://b:1"] && report.servers.map(\.answers) == [true, false])
        #expect(report.troubles.count == 1 && !report.isWhole)
        // Which of two it is nobody can say.
        var wide = NetworkReport(network: "team")
        wide.take(
            [("nats://a:1", .success(server("s1"))), ("nats://b:1", .failure(.timedOut("Asking")))],
            told: [server("s1"), server("s2"), server("s3")])
        #expect(wide.servers.map(\.answers) == [true, true, true] && !wide.isWhole)
    }

    @Test("Where the list of streams did not come to its end, what is missing is not called gone")
    func untold() {
        var report = whole()
        var list = StreamStandings()
        list.streams = [stream("team_stream", copy("s2"))]
        list.untold = 300
        report.take(list, planned: ["team_stream", "KV_late"])
        #expect(report.troubles == ["300 more streams were not told of in time."] && !report.isWhole)
    }

    @Test(
        "Streams come in the plan's order; one that only its name is known of has no leader, and one that is not there is a trouble"
    )
    func streams() {
        var report = NetworkReport(network: "team")
        var list = StreamStandings()
        list.streams = [stream("KV_b"), stream("theirs"), stream("a")]
        list.missing = ["c"]
        report.take(list, planned: ["a", "KV_b", "c", "d"])
        #expect(report.streams?.map(\.name) == ["a", "KV_b", "c", "d"])
        #expect(report.streams?.map(\.leader) == ["s1", "s1", nil, nil])
        #expect(report.troubles.count == 1 && report.troubles[0].contains("no stream d"))
    }

    @Test("Copies that are behind or away, streams of letters without a leader and missing services are nothing whole")
    func partial() {
        let changes: [(inout NetworkReport) -> Void] = [
            { $0.streams = [stream("team_stream", copy("s2", isCurrent: false))] },
            { $0.streams = [stream("team_stream", copy("s2", isOffline: true))] },
            { $0.streams = [stream("team_stream", leader: nil)] }, { $0.streams = nil },
            { $0.postboxes?.add(stream("PB_bob", leader: nil)) },
            { $0.postboxes?.add(stream("PB_bob", copy("s2", isCurrent: false))) },
            { $0.services = [] }, { $0.services = nil }, { $0.troubles = ["x"] }, { $0.servers[0].answers = false },
        ]
        for (index, change) in changes.enumerated() {
            var report = whole()
            change(&report)
            #expect(!report.isWhole, "\(index)")
        }
    }

    @Test("Streams of letters are counted, and the first without a leader named, however many there are")
    func letters() {
        var postboxes = NetworkReport.Postboxes()
        for number in 0..<50 { postboxes.add(stream("PB_\(number)", leader: nil)) }
        postboxes.add(stream("PB_x", copy("s2", isCurrent: false)))
        #expect(postboxes.streams == 51 && postboxes.leaderlessCount == 50 && postboxes.partial == 1)
        #expect(postboxes.leaderless.count == 20 && postboxes.leaderless.first == "PB_0")
        // Whatever a server says they hold.
        var absurd = stream("PB_y", copy("s2"))
        (absurd.messages, absurd.bytes) = (.max, .max)
        for _ in 0..<2 { postboxes.add(absurd) }
        #expect(postboxes.streams == 53)
    }

    @Test("What a service says of itself is added up; what is no answer is none")
    func services() {
        let text =
            #"{"type":"t","name":"parley","version":"1.0.0","metadata":{},"id":"A","started":"2026-01-01T00:00:00.000Z","endpoints":[{"name":"a","subject":"a","queue_group":"q","num_requests":2,"num_errors":1},{"name":"b","subject":"b","queue_group":"q","num_requests":3}]}"#
        let service = NetworkReport.Service(Array(text.utf8))
        #expect(service == .init(id: "A", started: "2026-01-01T00:00:00.000Z", requests: 5, errors: 1))
        #expect(NetworkReport.Service(Array("{}".utf8)) == nil && NetworkReport.Service([]) == nil)
    }

    @Test("A server's configuration names the others, and takes their connections by the password alone")
    func configuration() {
        let place = LocalClusterServer(name: "parley-1", folder: #"/a "b"\c"#)
        let text = ServerConfiguration(
            name: place.name, port: 1, operatorToken: "O", systemAccount: "A", resolver: place.accounts,
            store: place.store, processFile: place.processFile, syncInterval: 10,
            cluster: .init(port: 2, otherPorts: [3, 4], password: "secret", systemToken: "T")
        ).text
        #expect(text.contains(#"routes: ["nats://parley:secret@127.0.0.1:3", "nats://parley:secret@127.0.0.1:4"]"#))
        #expect(text.contains(#"authorization: { user: "parley", password: "secret""#))
        #expect(text.contains(#"store_dir: "/a \"b\"\\c/jetstream""#) && text.contains(#"sync_interval: "10s""#))
        #expect(!text.contains("0.0.0.0"))
    }
}
