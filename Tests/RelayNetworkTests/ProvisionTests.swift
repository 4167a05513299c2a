import Foundation
import NATS
import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Plan: a network on servers that others run")
struct ProvisionTests {
    private let names = NetworkIdentity.Names(namespace: "team", hash: "H")
    private let account = NKeyPair.generate(.account).publicKey
    private let signing = NKeyPair.generate(.account).publicKey

    private func claims() -> AccountClaims { NetworkAccount.claims(account, names: names, signingKey: signing) }

    private func token(_ claims: AccountClaims) throws -> String {
        try claims.encode(signedBy: NKeyPair.generate(.operator))
    }

    @Test("Every stream has the wanted copies and tags, also the bucket of users, which services on a cluster need")
    func placement() throws {
        let placement = NetworkPlacement(replicas: 3, tags: ["ssd", "eu"], cluster: "west")
        let plan = NetworkPlan(names: names, settings: NetworkSettings(), placement: placement)
        let letters = try plan.letters(of: UserName("alice"), in: PostboxRegister(sudoId: "s", at: 1))
        for stream in plan.streams + [letters] {
            #expect(stream.replicas == 3 && stream.placement == .init(cluster: "west", tags: ["ssd", "eu"]))
        }
        #expect(plan.streams.map(\.name).contains("KV_relay_users"))
        let own = NetworkPlan(names: names, settings: NetworkSettings())
        #expect(!own.streams.map(\.name).contains("KV_relay_users") && own.topics.placement == nil)
        for fault in [NetworkPlacement(replicas: 0), .init(replicas: 6), .init(tags: [""]), .init(tags: ["a b"])] {
            #expect(fault.fault != nil, "\(fault)")
        }
        #expect(placement.fault == nil)
    }

    @Test("Other tags are a difference; the cluster that a server has chosen is none, nor is what nothing plans")
    func placementDifference() {
        let plan = NetworkPlan(
            names: names, settings: NetworkSettings(), placement: NetworkPlacement(replicas: 1, tags: ["ssd"])
        ).topics
        func changes(_ plan: StreamConfiguration, _ present: MessageMap?) -> [String] {
            var config: MessageMap = [
                "name": "team_stream", "subjects": ["H.>"], "max_bytes": 1_073_741_824, "max_msg_size": 1_048_576,
                "max_age": 0, "duplicate_window": 120_000_000_000, "num_replicas": 1,
            ]
            config["placement"] = present.map(MessageValue.map)
            return StreamDifference(plan, from: ["config": .map(config), "state": [:]]).changes.map(\.key)
        }
        #expect(changes(plan, ["cluster": "theirs", "tags": ["ssd"]]).isEmpty)
        #expect(changes(plan, ["tags": ["hdd"]]) == ["placement"] && changes(plan, nil) == ["placement"])
        let free = NetworkPlan(names: names, settings: NetworkSettings(), placement: NetworkPlacement()).topics
        #expect(changes(free, ["tags": ["hdd"]]).isEmpty)
    }

    @Test("A stream that the servers could not make is a failure, though they tell of it for a moment")
    func failedStream() async throws {
        let plan = NetworkPlan(names: names, settings: NetworkSettings()).topics
        let server = MemoryServer()
        server.info.hasJetStream = false
        // As 2.9.10 does where a folder could not be made: the stream is assigned, and then it is not.
        let looks = NIOLockedValueBox(0)
        server.service("$JS.API.STREAM.INFO.\(plan.name)") { _ in
            let isThere = looks.withLockedValue { looks in
                looks += 1
                return looks == 2
            }
            return Array((isThere ? #"{"config":{"name":"team_stream"}}"# : Self.notFound).utf8)
        }
        let failure = JetStreamFailure(code: 500, errorCode: 10_049, text: "could not create storage directory")
        server.fail(subjectPrefix: "$JS.API.STREAM.CREATE.", with: .refusal(failure))
        let connection = try await server.connect()
        await #expect(throws: NATSError.jetStream(failure)) { try await JetStream(connection).provide(plan) }
        await connection.close()
    }

    private static let notFound = #"{"error":{"code":404,"err_code":10059,"description":"stream not found"}}"#

    @Test("An account is compared by what the network decides, not by who signed it and when")
    func accounts() throws {
        var later = claims()
        later.issuedAt = 1
        #expect(try claims().differences(from: token(later)).isEmpty)
        var changed = claims()
        changed.grant.exports?.removeAll { $0.subject == "$KV.>" }
        changed.grant.exports?.append(.stream("theirs.>"))
        changed.grant.limits.conn = 7
        changed.expires = 9
        let words = try claims().differences(from: token(changed))
        #expect(words.contains { $0.hasPrefix("export + ") && $0.contains("$KV.>") })
        #expect(words.contains { $0.hasPrefix("export − ") && $0.contains("theirs.>") })
        #expect(words.contains("limits + conn -1") && words.contains("limits − conn 7"))
        #expect(words.contains("end 9 → none") && words.count == 5)
        #expect(claims().differences(from: "x") == ["its token cannot be read"])
    }

    @Test("The operator's key comes from a file of one's own or the environment, and no error holds it")
    func operatorKey() throws {
        let folder = try TemporaryDirectory()
        let pair = NKeyPair.generate(.operator)
        let seed = pair.withSeedText { $0 }
        let file = try folder.write(seed + "\n", to: "key")
        func failure(_ file: String?, _ environment: [String: String] = [:]) -> String {
            do throws(NetworkError) {
                _ = try OperatorKey.read(file: file, environment: environment)
                return ""
            } catch {
                return "\(error)"
            }
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
        #expect(failure(file).contains("chmod"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        #expect(try OperatorKey.read(file: file) == pair)
        #expect(try OperatorKey.read(file: nil, environment: [OperatorKey.variable: seed]) == pair)
        #expect(failure(nil).contains("--operator-key") && failure(folder.path("none")).contains("none"))
        let other = NKeyPair.generate(.account).withSeedText { $0 }
        let words = failure(nil, [OperatorKey.variable: other])
        #expect(words.contains("no operator's") && !words.contains(other))
        #expect(!failure(nil, [OperatorKey.variable: String(seed.dropLast())]).contains(seed.dropLast()))
    }

    @Test("What the services are given is theirs alone, and shows its secret to nobody")
    func access() throws {
        let folder = try TemporaryDirectory()
        let directory = NetworkDirectory(path: folder.path + "/team")
        let identity = try NetworkIdentity.open(in: directory)
        let made = ServiceAccess(
            ClusterNetwork(servers: ["nats://a:1"], placement: .init(replicas: 3)), authority: "PEM", identity,
            NetworkSettings())
        let file = folder.path("services.json")
        try PrivateFile.write(made.text().utf8, to: file)
        let read = try ServiceAccess(path: file)
        #expect(read.servers == ["nats://a:1"] && read.authority == "PEM" && read.plan.placement?.replicas == 3)
        #expect(read.issuer.signingKey == identity.signingKey && read.issuer.account == identity.account)
        let seed = identity.signingKey.withSeedText { $0 }
        #expect(!"\(made)".contains(seed) && !String(reflecting: made).contains(seed))
        var dumped = ""
        dump(made, to: &dumped)
        #expect(!dumped.contains(seed))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        #expect(throws: NetworkError.credentials(.fileTooOpen(path: file))) { try ServiceAccess(path: file) }
        try PrivateFile.write([], to: file)
        #expect(throws: NetworkError.self) { try ServiceAccess(path: file) }
    }

    @Test(
        "A network's name is a stream's and a folder's, and none of the network's own",
        arguments: [
            "", ".", "..", "a.b", "a/b", "a b", "relay_x", "-x", String(repeating: "a", count: 33), "ä",
        ])
    func names(_ text: String) {
        #expect(throws: NetworkError.self) { try NetworkDirectory.named(text) }
        #expect(throws: Never.self) { try NetworkDirectory.named("Team_1-b") }
    }
}

@Suite("Services: what they say of themselves")
struct ServiceReportTests {
    private func object(_ subject: String, _ figures: ServiceFigures) throws -> [String: Any] {
        let answer = JSONText.text(try #require(ServiceDiscovery.answer(to: subject, "X1", figures)))
        return try #require(JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any])
    }

    @Test("Tools for services are answered, by name and by number, and for nobody else")
    func discovery() throws {
        var figures = ServiceFigures(start: 0)
        figures.count(.postboxes, took: .milliseconds(3), didAnswer: true)
        figures.count(.postboxes, took: .milliseconds(1), didAnswer: false)
        figures.refused(.namespace)
        for subject in ["$SRV.PING", "$SRV.PING.parley", "$SRV.PING.parley.X1"] {
            let ping = try object(subject, figures)
            #expect(ping["type"] as? String == "io.nats.micro.v1.ping_response" && ping["id"] as? String == "X1")
            #expect(ping["name"] as? String == "parley" && ping["version"] as? String == "1.0.0")
        }
        for subject in [
            "$SRV", "$SRV.PING.other", "$SRV.PING.parley.X2", "$SRV.NONE", "x.PING", "$SRV.PING.parley.X1.y",
        ] {
            #expect(ServiceDiscovery.answer(to: subject, "X1", figures) == nil, "\(subject)")
        }
        let endpoints = try #require(object("$SRV.INFO", figures)["endpoints"] as? [[String: Any]])
        #expect(endpoints.map { $0["subject"] as? String }.contains("relay.postbox.*.*") && endpoints.count == 5)
        #expect(endpoints.allSatisfy { $0["queue_group"] as? String == "relay-hosts" })
        let statistics = try object("$SRV.STATS.parley", figures)
        #expect(statistics["started"] as? String == "1970-01-01T00:00:00.000Z", "\(statistics)")
        let own = try #require(
            (statistics["endpoints"] as? [[String: Any]])?.first { $0["name"] as? String == "postboxes" })
        #expect(own["num_requests"] as? Int == 2 && own["num_errors"] as? Int == 1)
        #expect(own["processing_time"] as? Int == 4_000_000 && own["average_processing_time"] as? Int == 2_000_000)
    }

    @Test("Its HTTP port says whether it lives, whether it answers and why not, and what it has answered")
    func state() {
        var state = ServiceState(id: "X1", network: "team")
        var figures = ServiceFigures(start: 7)
        func answer(_ path: String) -> HTTPAnswer { state.answer(to: .init(method: "GET", path: path), figures) }
        #expect(answer("/health").status == 200 && answer("/").status == 404)
        #expect(answer("/ready").status == 503)
        state.began(at: "s1")
        figures.count(.recipient, took: .microseconds(1_500), didAnswer: true)
        #expect(answer("/ready") == .init(status: 200, body: "ready\n"))
        let metrics = answer("/metrics").body
        for line in [
            "# TYPE parley_requests_total counter", "parley_ready{network=\"team\",id=\"X1\"} 1",
            "parley_requests_total{network=\"team\",id=\"X1\",endpoint=\"recipient\"} 1",
            "parley_request_seconds_total{network=\"team\",id=\"X1\",endpoint=\"recipient\"} 0.001500000",
            "parley_start_time_seconds{network=\"team\",id=\"X1\"} 7",
        ] {
            #expect(metrics.contains(line + "\n"), "\(line)")
        }
        state.ended("no server answers")
        let now = answer("/ready")
        #expect(now.status == 503 && now.body == "not ready: no server answers\n")
        #expect(answer("/metrics").body.contains("parley_ready{network=\"team\",id=\"X1\"} 0\n"))
    }

    @Test(
        "Without a certificate it listens for this machine alone, and to others it never tells its state",
        arguments: ["0.0.0.0:1", "192.168.1.1:1", "[::]:1"])
    func loopback(_ text: String) async throws {
        let issuer = UserTokenIssuer(account: NKeyPair.generate(.account).publicKey, signingKey: .generate(.account))
        let identity = NetworkIdentity(
            names: .init(namespace: "team", hash: "h"), account: issuer.account, signingKey: issuer.signingKey,
            administrator: nil)
        let cluster = ClusterNetwork(servers: ["nats://127.0.0.1:1"])
        let access = ServiceAccess(cluster, authority: nil, identity, NetworkSettings())
        var options = NetworkServing.Options()
        options.httpAddress = text
        await #expect(throws: NetworkError.self) { try await NetworkServing(access, options: options).run() }
        options.certificate = (chain: "chain.pem", key: "key.pem")
        await #expect(throws: NetworkError.self) { try await NetworkServing(access, options: options).run() }
    }
}
