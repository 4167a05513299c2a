import Foundation
import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: put onto servers that others run", .realClusters)
struct ProvisionedTests {
    /// Servers of somebody else's, and what their administrator has in files.
    private struct Site {
        let cluster: TestOperatorCluster
        let folder: TemporaryDirectory
        var directory: NetworkDirectory { NetworkDirectory(path: folder.path("data/parley/networks/team")) }

        init(_ cluster: TestOperatorCluster) throws {
            self.cluster = cluster
            folder = try TemporaryDirectory("site")
            try cluster.operatorKey.withSeedText {
                try TestOperatorCluster.write($0 + "\n", to: folder.path("operator.nk"))
            }
            try TestOperatorCluster.write(cluster.administrator.fileText(), to: folder.path("sys.creds"))
        }

        /// Runs the body on one server.
        static func run(_ server: String, _ body: (Site) async throws -> Void) async throws {
            let cluster = try await TestOperatorCluster.start([NATSServerBinary(path: server)], tags: [["ssd"]])
            defer { cluster.close() }
            try await body(Site(cluster))
        }

        /// Three servers with a copy of everything on each, which the caller closes.
        static func onThree(_ server: String) async throws -> Site {
            let cluster = try await TestOperatorCluster.start(
                Array(repeating: NATSServerBinary(path: server), count: 3))
            do {
                let site = try Site(cluster)
                _ = try await site.provision { $0.replicas = 3 }
                return site
            } catch {
                cluster.close()
                throw error
            }
        }

        func provision(
            _ change: (inout NetworkProvision.Options) -> Void = { _ in }, system: Bool = true
        ) async throws(NetworkError) -> ProvisionReport {
            var options = NetworkProvision.Options()
            options.servers = cluster.servers.map(\.url)
            options.operatorKeyFile = folder.path("operator.nk")
            options.systemCredentialsFile = system ? folder.path("sys.creds") : nil
            change(&options)
            return try await NetworkProvision("team", directory: directory, options: options).run()
        }

        func connection(_ credentials: Credentials, inboxPrefix: String? = nil) async throws -> NATSConnection {
            try await NATSConnection.connect(
                to: ServerAddress(parsing: cluster.servers[0].url),
                options: .init(
                    authentication: .init(credentials), inboxPrefix: inboxPrefix, connectTimeout: .seconds(60)))
        }

        /// Everything there, as the network's own account.
        func owner() async throws -> NATSConnection {
            try await connection(
                NetworkIdentity.open(in: directory).issuer.issue(name: "~test"), inboxPrefix: "_INBOX_~test")
        }

        /// All files of the network's folder, by their paths.
        func files() throws -> [String: Data] {
            var files: [String: Data] = [:]
            for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
                files[path] = FileManager.default.contents(atPath: directory.path + "/" + path) ?? Data()
            }
            return files
        }

        /// The services of the network as they are given to processes now, for as long as the body runs.
        func serving(
            _ body: ((services: NetworkServing, running: Task<Void, any Error>)) async throws -> Void
        ) async throws {
            var options = NetworkServing.Options()
            options.handlesSignals = false
            let services = try NetworkServing(ServiceAccess(path: directory.servicesFile), options: options)
            let running = Task { try await services.run() }
            defer { running.cancel() }
            try await body((services, running))
        }

        /// All settings of all streams, as the server has them.
        func streams() async throws -> [String: String] {
            let connection = try await owner()
            defer { connection.closeNow() }
            let jetStream = JetStream.patient(connection)
            var found: [String: String] = [:]
            for name in try await jetStream.streamNames() {
                found[name] = try await jetStream.description(of: name)?["config"].map { JSONText.text($0) }
            }
            return found
        }
    }

    @Test(
        "Run twice it changes nothing; what was changed by hand is shown, and mended, or lost, only when asked for",
        arguments: TestServers.all)
    func idempotent(server: String) async throws {
        try await Site.run(server) { site in
            let rehearsal = try await site.provision { $0.isRehearsal = true }
            #expect(rehearsal.parts.allSatisfy { $0.state == .missing } && rehearsal.parts.count == 7)
            #expect(!FileManager.default.fileExists(atPath: site.directory.path))

            let first = try await site.provision { $0.tags = ["ssd"] }
            #expect(first.parts.map(\.state) == Array(repeating: .made, count: 7), "\(first)")
            let made = try await site.streams()
            #expect(made.count == 6 && made.values.allSatisfy { $0.contains(#""tags":["ssd"]"#) })
            let second = try await site.provision()
            #expect(second.isUnchanged && second.isComplete, "\(second)")
            #expect(try await site.streams() == made)

            // By hand: another bound for the topics, and an account that exports less.
            let owner = try await site.owner()
            let jetStream = JetStream.patient(owner)
            var byHand = StreamConfiguration(name: "team_stream", subjects: nil)
            byHand.maximumBytes = 4_000_000
            (byHand.storage, byHand.replicas) = (nil, nil)
            _ = try await jetStream.updateStream(byHand)
            let changed = try await site.streams()
            let shown = try await site.provision()
            let part = try #require(shown.parts.first { $0.name == "stream team_stream" })
            #expect(part.state == .different && part.changes == ["max_bytes 4000000 → 1073741824"])
            #expect(!shown.isComplete && shown.parts.count { $0.state != .same } == 1)
            #expect(try await site.streams() == changed)
            let dry = try await site.provision { $0.isRehearsal = true }
            #expect(dry.parts == shown.parts)
            let applied = try await site.provision { $0.applies = true }
            #expect(applied.isComplete && applied.parts.first { $0.name == part.name }?.state == .changed)
            #expect(try await site.streams() == made)
            #expect(try await site.provision().isUnchanged)

            // Messages are deleted for a new bound only where that is asked for as well.
            let hash = try NetworkIdentity.open(in: site.directory).names.hash
            for _ in 0..<3 {
                _ = try await jetStream.publish(ByteBuffer(repeating: 7, count: 40_000), to: "\(hash).a")
            }
            try PrivateFile.write(
                Array(#"{"topics":{"maximumBytes":65536}}"#.utf8), to: site.directory.settingsFile)
            let kept = try await site.provision { $0.applies = true }
            let bound = try #require(kept.parts.first { $0.name == "stream team_stream" })
            #expect(bound.state == .different && bound.withheld == bound.changes && !kept.isComplete, "\(bound)")
            #expect(try await jetStream.streamInfo("team_stream").state.messages == 3)
            let deleted = try await site.provision { ($0.applies, $0.losesMessages) = (true, true) }
            #expect(deleted.isComplete)
            #expect(try await jetStream.streamInfo("team_stream").state.messages == 1)
            await owner.close()
        }
    }

    @Test("What protects a full disk stays through a provision, and the report says it", arguments: TestServers.all)
    func fullDisk(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            let identity = try NetworkIdentity.open(in: site.directory)
            let system = try await SystemInterface(
                at: ServerAddress(parsing: site.cluster.servers[0].url), identity: identity)
            defer { system.close() }
            let owner = try await site.owner()
            func limit() async throws -> Int64? { try await JetStream.patient(owner).accountInfo().limits?.storage }
            #expect(try await limit() == -1)
            try await system.install(AccountSigner(site.directory, identity).networkToken(acceptsMessages: false))
            try await eventually("the account that stores nothing more") { try await limit() == 1 }
            let applied = try await site.provision { $0.applies = true }
            #expect(applied.isUnchanged, "\(applied)")
            #expect(try await limit() == 1)
            // A busy machine may not answer in the report's time.
            try await eventually("a report of it") {
                let report = try await site.directory.report()
                #expect(!report.isWhole)
                return report.troubles.contains { $0.hasPrefix("Nothing more is stored") }
            }
            await owner.close()
        }
    }

    @Test("Of two networks on the same servers each counts its own users alone", arguments: TestServers.all)
    func neighbours(server: String) async throws {
        try await Site.run(server) { site in
            let other = try Site(site.cluster)
            var connections: [NATSConnection] = []
            for place in [site, other] {
                _ = try await place.provision()
                let administrator = NetworkAdministrator(directory: place.directory)
                for user in ["alice", "bob"].prefix(place.directory.path == site.directory.path ? 1 : 2) {
                    connections.append(try await place.connection(administrator.add(user: user)))
                }
            }
            #expect(try await site.directory.report().users == 1)
            #expect(try await other.directory.report().clients == 2)
            for connection in connections { await connection.close() }
        }
    }

    @Test("Without a user of the system account the tokens are written, and streams follow once servers have them")
    func handedOver() async throws {
        try await Site.run(TestServers.all[0]) { site in
            let first = try await site.provision(system: false)
            #expect(first.parts.first?.state == .handOver && !first.isComplete, "\(first)")
            #expect(first.parts.dropFirst().allSatisfy { $0.state == .missing })
            // As their administrator does it.
            let account = try NetworkIdentity.open(in: site.directory).account
            let token = try #require(try PrivateFile.read(site.directory.tokenPath(ofAccount: account.text)))
            let system = try await site.connection(site.cluster.administrator)
            _ = try await system.request(ByteBuffer(bytes: token), to: "$SYS.REQ.CLAIMS.UPDATE", timeout: .seconds(60))
            await system.close()
            let second = try await site.provision(system: false)
            #expect(second.isComplete && second.parts.allSatisfy { $0.state == .made }, "\(second)")
            #expect(try await site.provision(system: false).isUnchanged)
        }
    }

    @Test("What a server that does not answer may have is not touched, and that is said")
    func uncertain() async throws {
        // The one that says nothing where it has none.
        let cluster = try await TestOperatorCluster.start(
            Array(repeating: NATSServerBinary(path: TestServers.all[0]), count: 3))
        defer { cluster.close() }
        let site = try Site(cluster)
        try await cluster.servers[2].pause()
        let shown = try await site.provision { $0.servers = [cluster.servers[0].url] }
        #expect(shown.parts.allSatisfy { $0.state == .unknown } && shown.parts.count == 7, "\(shown)")
        #expect(shown.parts.first?.changes == ["2 of 3 servers say which accounts they have"] && !shown.isComplete)
        cluster.servers[2].resume()
        // The servers may have to agree first on who leads them.
        try await eventually("the network", deadline: .seconds(120)) {
            // A copy on each, so that what is asked below does not depend on the one that is away then.
            do throws(NetworkError) { return try await site.provision { $0.replicas = 3 }.isComplete } catch {
                guard case .connection = error else { throw error }
                return false
            }
        }
        // What others have is known without it.
        try await cluster.servers[2].pause()
        let rehearsal = try await site.provision {
            ($0.servers, $0.replicas, $0.isRehearsal) = ([cluster.servers[0].url], 3, true)
        }
        #expect(rehearsal.parts.first?.state == .same)
        cluster.servers[2].resume()
    }

    @Test("A rehearsal goes by what it is given, makes nothing and says what is there", arguments: TestServers.all)
    func rehearsed(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            // The same network, as it would come onto other servers.
            let other = try await TestOperatorCluster.start([NATSServerBinary(path: server)])
            defer { other.close() }
            try other.operatorKey.withSeedText {
                try TestOperatorCluster.write($0, to: site.folder.path("other.nk"))
            }
            try TestOperatorCluster.write(other.administrator.fileText(), to: site.folder.path("other.creds"))
            try FileManager.default.removeItem(atPath: site.folder.path("operator.nk"))
            let before = try site.files()
            func rehearse(_ key: String, _ credentials: String) async throws(NetworkError) -> ProvisionReport {
                try await site.provision {
                    ($0.servers, $0.isRehearsal) = ([other.servers[0].url], true)
                    $0.operatorKeyFile = site.folder.path(key)
                    $0.systemCredentialsFile = site.folder.path(credentials)
                }
            }
            let shown = try await rehearse("other.nk", "other.creds")
            #expect(shown.parts.allSatisfy { $0.state == .missing } && shown.parts.count == 7, "\(shown)")
            // Credentials of other servers' system account are these servers' no more than before.
            await #expect(throws: NetworkError.self) { try await rehearse("other.nk", "sys.creds") }
            #expect(try site.files() == before)
        }
    }

    @Test("A ban that does not get to the servers says so, and is in effect after the administrator's next act")
    func overdue() async throws {
        try await Site.run(TestServers.all[0]) { site in
            _ = try await site.provision()
            let administrator = NetworkAdministrator(directory: site.directory)
            let credentials = try await administrator.add(user: "alice")
            try await site.connection(credentials).close()
            try await site.cluster.servers[0].kill9()
            do throws(NetworkError) {
                try await administrator.ban(user: "alice")
                Issue.record("nobody was told")
            } catch {
                guard case .notInEffect = error else { throw error }
                #expect("\(error)".contains("decided and kept"))
            }
            try await site.cluster.servers[0].restart()
            _ = try await administrator.add(user: "bob")
            let guest = try await site.connection(credentials)
            await #expect(throws: NATSError.publishNotPermitted(subject: "relay.postbox.alice.list")) {
                try await guest.ask(to: "relay.postbox.alice.list")
            }
            await guest.close()
        }
    }

    @Test(
        "B57 B58 B59 B60 a revoked key, a token, a key's rights, the reason at the door and a kick hold on three servers",
        arguments: TestServers.all)
    func accountsOnThree(server: String) async throws {
        let site = try await Site.onThree(server)
        defer { site.cluster.close() }
        // At another server than the one that the administrator uses first, unless a test says.
        @Sendable func client(
            _ credentials: RelayCredentials, at index: Int = 2, knowing names: RelayConfiguration.Namespace? = nil
        ) throws -> RelayClient {
            var configuration = RelayConfiguration(
                servers: .fixed([try ServerAddress(parsing: site.cluster.servers[index].url)]),
                credentials: credentials)
            configuration.dialTimeout = .seconds(60)
            configuration.rememberedNamespace = names
            return RelayClient(configuration: configuration)
        }
        var carol = RelayCredentials.none
        try await site.serving { serving in
            let administrator = NetworkAdministrator(directory: site.directory)
            let invitation = try await administrator.invite(
                user: "carol", expires: NetworkAdministrator.now + 3_600)
            let joined = try await invitation.accept(authorityFile: nil, timeout: .seconds(60))
            let file = try await administrator.makeKey(of: "carol").credentials
            let invited = try client(RelayCredentials(joined))
            let journal = Journal(invited)
            try await invited.connect(timeLimit: 60)
            let other = try await site.connection(file)
            let keys = try await administrator.keys(of: "carol")
            #expect(Set(keys.map(\.key.publicKey)) == Set([joined, file].map(\.keyPair.publicKey.text)))
            let key = try #require(keys.first { $0.key.kind == .invitation })
            #expect(key.lastUse == .connected)

            try await administrator.revoke(key: key.key.id, of: "carol", reason: "lost")
            #expect(try await journal.end().reason == .credentialsRevoked("lost"))
            await #expect(throws: NATSError.authorization(.violation)) { try await site.connection(joined) }
            try await other.flush()
            _ = try await site.provision { $0.applies = true }
            try await administrator.ban(user: "carol")
            try await administrator.unban(user: "carol")
            await #expect(throws: NATSError.authorization(.violation)) { try await site.connection(joined) }
            try await site.connection(file).close()
            // A service that is asked for it once more, as after a lost answer, has no way around that.
            await #expect(throws: NetworkError.invitation(.usedUp)) {
                try await invitation.accept(authorityFile: nil, timeout: .seconds(60))
            }

            // A token that may read topics alone.
            var rights = RightsChange()
            (rights.subscribe, rights.keyValue, rights.letters) = (["chat.>"], AccessRights.KeyValueAccess.none, false)
            let token = try await administrator.makeToken(
                of: "carol", rights: rights, expires: NetworkAdministrator.now + 3_600)
            let readers = try (0..<3).map { try client(.accessToken(token.token), at: $0) }
            let journals = readers.map(Journal.init)
            for reader in readers {
                try await reader.connect(timeLimit: 60)
                #expect(await reader.accessRights?.subscribe == ["chat.>"])
                await #expect(throws: RelayError.notAuthorized("publishing to chat.room")) {
                    try await reader.send(topic: "chat.room", message: "no", timeout: .seconds(60))
                }
            }
            _ = try await administrator.revokeToken(token.key.id)
            for journal in journals { #expect(try await journal.end().reason == .credentialsRevoked(nil)) }
            for reader in readers { await reader.close() }

            carol = RelayCredentials(file)
            try await administrator.ban(user: "carol", reason: "spam")
            for index in 0..<3 {
                let refused = try client(carol, at: index)
                await #expect(throws: RelayError.connection(.banned("spam"))) {
                    try await refused.connect(timeLimit: 60)
                }
            }
            serving.running.cancel()
            try await serving.running.value
        }
        // Whoever knows the names and comes while nobody answers is told when somebody does.
        let names = try NetworkIdentity.open(in: site.directory).names
        let early = try client(
            carol, knowing: .init(name: names.namespace, hash: names.hash, apiPrefix: UserPermissions.apiPrefix))
        let journal = Journal(early)
        try await early.connect(timeLimit: 60)
        try await site.serving { _ in
            let end = try await journal.end()
            #expect(end.reason == .banned("spam"))
        }
        await early.close()
        try await expectKicks(at: site)
    }

    /// Whoever is kicked loses the connections to all servers.
    private func expectKicks(at site: Site) async throws {
        let (cluster, administrator) = (site.cluster, NetworkAdministrator(directory: site.directory))
        let (alice, bob) = try await (administrator.add(user: "alice"), administrator.add(user: "bob"))
        func connect(_ credentials: Credentials, to server: NATSServerProcess) async throws -> NATSConnection {
            let options = ConnectOptions(authentication: .init(credentials), connectTimeout: .seconds(60))
            return try await NATSConnection.connect(to: ServerAddress(parsing: server.url), options: options)
        }
        var connections: [NATSConnection] = []
        for server in cluster.servers { connections.append(try await connect(alice, to: server)) }
        let other = try await connect(bob, to: cluster.servers[1])
        #expect(try await administrator.kick(user: "alice") == 3)
        for connection in connections { #expect(await connection.waitUntilClosed() != nil) }
        try await other.flush()
        #expect(try await administrator.kick(user: "alice") == 0)
        // A server that is away keeps nobody from being reached at the others.
        connections = [try await connect(alice, to: cluster.servers[2])]
        try await cluster.servers[0].kill9()
        try await administrator.ban(user: "alice")
        #expect(await connections[0].waitUntilClosed() != nil)
        await other.close()
    }

    @Test(
        "An invitation that died before the servers heard of its user is made good by another one",
        arguments: TestServers.all)
    func interrupted(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            try await site.serving { _ in
                let administrator = NetworkAdministrator(directory: site.directory)
                let end = NetworkAdministrator.now + 3_600
                try site.directory.establish(UserName("carol"), rights: AccessRights(topics: ["chat.>"]), expires: nil)
                let invitation = try await administrator.invite(user: "carol", expires: end)
                let credentials = try await invitation.accept(authorityFile: nil, timeout: .seconds(60))
                try await site.connection(credentials).close()
                #expect(try site.directory.knownRecord(of: UserName("carol")).rights.subscribe == ["chat.>"])
            }
        }
    }

    @Test("An invitation is used or taken back, whichever comes first, and never both", arguments: TestServers.all)
    func revoked(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            let administrator = NetworkAdministrator(directory: site.directory)
            let end = NetworkAdministrator.now + 3_600
            let carol = try UserName("carol")
            let owner = try await site.owner()
            let register = try BucketUserRegister(JetStream.patient(owner))
            /// A service that has read what was decided before it hears of anything later.
            func use(_ record: UserRecord) async throws {
                let key = try #require(record.invitation?.key)
                try await register.publish(record, of: carol)
                _ = try await register.redeem(key, for: "A", of: carol, at: NetworkAdministrator.now)
            }
            _ = try await administrator.invite(user: "carol", expires: end)
            let first = try site.directory.knownRecord(of: carol)
            #expect(try await administrator.revokeInvitation(of: "carol") == .revoked)
            await #expect(throws: NetworkError.invitation(.revoked)) { try await use(first) }

            _ = try await administrator.invite(user: "carol", expires: end)
            let second = try site.directory.knownRecord(of: carol)
            try await use(second)
            #expect(try await administrator.revokeInvitation(of: "carol") == .used)
            #expect(try await administrator.revokeInvitation(of: "carol") == .none)

            // One whose place another one takes.
            _ = try await administrator.invite(user: "carol", expires: end)
            let third = try site.directory.knownRecord(of: carol)
            _ = try await administrator.invite(user: "carol", expires: end)
            await #expect(throws: NetworkError.invitation(.revoked)) { try await use(third) }

            // At the same moment.
            for _ in 0..<8 {
                _ = try await administrator.invite(user: "carol", expires: end)
                let key = try #require(try site.directory.knownRecord(of: carol).invitation?.key)
                async let using = register.redeem(key, for: "A", of: carol, at: NetworkAdministrator.now)
                let outcome = try await administrator.revokeInvitation(of: "carol")
                do {
                    _ = try await using
                    #expect(outcome == .used)
                } catch {
                    #expect(error as? NetworkError == .invitation(.revoked) && outcome == .revoked)
                }
            }
            await owner.close()
        }
    }

    @Test(
        "B58 an app's server gets its users' tokens and ends them, and nothing without the secret",
        arguments: TestServers.all)
    func tokens(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            let text = String(repeating: "s", count: SharedSecret.minimumLength)
            let administrator = NetworkAdministrator(directory: site.directory)
            let service = TokenService(administrator, secret: try SharedSecret(text, from: "the test"))
            func ask(
                _ method: String, _ path: String, _ body: String = "", secret: String? = nil
            ) async throws -> (status: Int, fields: [String: String]) {
                let answer = try #require(
                    await service.answer(
                        HTTPQuestion(
                            method: method, path: path, authorization: "Bearer " + (secret ?? text),
                            body: Array(body.utf8))))
                return (
                    answer.status, try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))
                )
            }
            #expect(await service.answer(HTTPQuestion(method: "GET", path: "/ready")) == nil)
            #expect(try await ask("POST", "/tokens", #"{"user":"alice"}"#, secret: "another").status == 401)
            #expect(try site.directory.userNames().isEmpty)
            for body in ["", "[]", #"{"user":7}"#, #"{"user":"a.b"}"#, #"{"user":"alice","lifetime":0}"#] {
                #expect(try await ask("POST", "/tokens", body).status == 400, "\(body)")
            }
            #expect(try await ask("GET", "/tokens").status == 405)
            try await site.serving { _ in
                // Whom the network does not know yet is registered by it.
                let made = try await ask("POST", "/tokens", #"{"user":"alice","lifetime":600}"#)
                let (token, key) = (made.fields["token"] ?? "", made.fields["key"] ?? "")
                #expect(made.status == 201 && made.fields["user"] == "alice")
                #expect(made.fields["expires"].flatMap(Timestamp.init(iso8601:)) != nil)
                let other = try await ask("POST", "/tokens", #"{"user":"alice","topics":["chat.>"],"kv":"none"}"#)
                #expect(try await ask("POST", "/tokens", #"{"user":"alice","topics":["chat.*"]}"#).status == 400)
                func client(_ token: String) throws -> RelayClient {
                    var configuration = RelayConfiguration(
                        servers: .fixed([try ServerAddress(parsing: site.cluster.servers[0].url)]),
                        credentials: try .accessToken(token), reconnect: .rongcloud)
                    configuration.dialTimeout = .seconds(60)
                    return RelayClient(configuration: configuration)
                }
                let (alice, second) = (try client(token), try client(other.fields["token"] ?? ""))
                let journal = Journal(alice)
                for client in [alice, second] { try await client.connect(timeLimit: 60) }
                let ended = try await ask("DELETE", "/tokens/\(key)")
                #expect(ended.status == 200 && ended.fields == ["user": "alice", "key": key, "action": "revoked"])
                #expect(try await journal.end().reason == .credentialsRevoked(nil))
                await #expect(throws: RelayError.self) { try await alice.connect(timeLimit: 60) }
                _ = try await second.send(topic: "chat.a", message: "still here", timeout: .seconds(60))
                await #expect(throws: RelayError.self) {
                    try await second.send(topic: "ops.a", message: "no", timeout: .seconds(60))
                }
                #expect(try await ask("DELETE", "/tokens/\(key)").status == 200)
                // Files are the administrator's.
                let file = try await administrator.makeKey(of: "alice").key
                for id in [file.id, file.publicKey, "NOBODY", ""] {
                    #expect(try await ask("DELETE", "/tokens/\(id)").status == 404, "\(id)")
                }
                try await administrator.ban(user: "alice", reason: "spam")
                let refused = try await ask("POST", "/tokens", #"{"user":"alice"}"#)
                #expect(refused.status == 403 && refused.fields["error"]?.contains("spam") == true, "\(refused)")
                await second.close()
            }
        }
    }

    @Test(
        "Services that were given older settings change nothing of a stream but its subjects",
        arguments: TestServers.all)
    func olderServices(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            try await site.serving { _ in
                let administrator = NetworkAdministrator(directory: site.directory)
                let alice = try await site.connection(administrator.add(user: "alice"))
                _ = try await alice.ask(to: "relay.postbox.alice.list")
                try PrivateFile.write(
                    Array(#"{"postboxes":{"maximumBytes":1048576}}"#.utf8), to: site.directory.settingsFile)
                let applied = try await site.provision { $0.applies = true }
                #expect(applied.isComplete && applied.parts.contains { $0.name == "stream PB_alice" }, "\(applied)")
                let made = try await alice.ask(#"{"name":"work"}"#, to: "relay.postbox.alice.create")
                #expect(try JSONText.parse(bytes: made.bytes)["error"] == nil)
                let stream = try #require(try await site.streams()["PB_alice"])
                #expect(
                    stream.contains(#""max_bytes":1048576"#) && stream.contains("postbox.alice.work.*"), "\(stream)")
                #expect(try await site.provision().isUnchanged)
                await alice.close()
            }
        }
    }

    @Test("Services whose end is wanted while their server is away look for no other one")
    func endsWithoutServer() async throws {
        try await Site.run(TestServers.all[0]) { site in
            _ = try await site.provision()
            try await site.serving { serving in
                let administrator = NetworkAdministrator(directory: site.directory)
                let alice = try await site.connection(administrator.add(user: "alice"))
                _ = try await alice.ask(to: "relay.postbox.alice.list")
                await alice.close()
                try await site.cluster.servers[0].kill9()
                await serving.services.drain()
                let ended = TestSupport.Collected()
                let waiting = Task {
                    try await serving.running.value
                    ended.add("by itself")
                }
                try await eventually("its end") { !ended.all.isEmpty }
                try await waiting.value
            }
        }
    }

    @Test("A register that cannot be read is no word on whether somebody is there")
    func unreadable() async throws {
        try await Site.run(TestServers.all[0]) { site in
            _ = try await site.provision()
            let identity = try NetworkIdentity.open(in: site.directory)
            let names = identity.names
            _ = try await NetworkAdministrator(directory: site.directory).add(user: "alice")
            let owner = try await site.owner()
            let jetStream = JetStream.patient(owner)
            let register = try BucketUserRegister(jetStream)
            let plan = NetworkPlan(names: names, settings: NetworkSettings(), placement: NetworkPlacement())
            let postboxes = try PostboxService(jetStream: jetStream, plan: plan, users: register)
            let namespace = NamespaceService(
                names: names, users: register, issuer: identity.issuer, jetStream: jetStream)
            let (alice, nobody) = try (UserName("alice"), UserName("nobody"))
            #expect(await postboxes.state(ofPostbox: "personal", of: "alice") == .accepting)
            #expect(await postboxes.state(ofPostbox: "personal", of: "nobody") == .unknownUser)
            let refusal = try #require(await namespace.reply(to: nobody, in: ""))
            #expect(String(decoding: refusal, as: UTF8.self).contains("NAMESPACE_RETRIEVE_FAILURE"))
            await owner.close()
            #expect(await postboxes.state(ofPostbox: "personal", of: "alice") == nil)
            #expect(await namespace.reply(to: alice, in: "") == nil)
        }
    }

    // Before 2.10 a server that was killed may number what is in a bucket in its own way from then on.
    @Test(
        "What is in a bucket can be read and changed after refused changes and a server's end, whoever leads",
        arguments: TestServers.all)
    func refusedChanges(server: String) async throws {
        let site = try await Site.onThree(server)
        let cluster = site.cluster
        defer { cluster.close() }
        _ = try await cluster.wholeStreams(atLeast: 6)
        let stream = NetworkNames.stream(ofBucket: NetworkPlan.postboxes)
        var leader = ""
        try await eventually("a leader") {
            leader = try await cluster.standings()[stream]?.leader ?? ""
            return !leader.isEmpty
        }
        let victim = try #require(cluster.servers.indices.last { "s\($0 + 1)" != leader })
        let connection = try await site.owner()
        defer { connection.closeNow() }
        let jetStream = JetStream.patient(connection)
        var bucket = try KeyValueBucket(NetworkPlan.postboxes, jetStream)
        var count = 0
        // What the newest value is: the one acknowledged last, or one sent since.
        var values: Set<String> = ["0"]
        var revision = try await bucket.create(ByteBuffer(string: "0"), for: "alice")
        func isRefused(_ change: () async throws(NATSError) -> Void) async throws -> Bool {
            do throws(NATSError) { try await change() } catch {
                guard case .jetStream(let failure) = error, KeyValueBucket.isConflict(failure) else { throw error }
                return true
            }
            return false
        }
        func change() async throws {
            let new = ByteBuffer(string: "new")
            #expect(
                try await isRefused { () async throws(NATSError) in _ = try await bucket.create(new, for: "alice") })
            count += 1
            let value = "\(count)"
            values.insert(value)
            revision = try await bucket.update(ByteBuffer(string: value), for: "alice", revision: revision)
            values = [value]
        }
        for _ in 1...3 { try await change() }
        try await cluster.servers[victim].kill9()
        try await cluster.servers[victim].restart()
        _ = try await cluster.wholeStreams(atLeast: 6)
        bucket = try KeyValueBucket(NetworkPlan.postboxes, JetStream(connection, timeout: .seconds(5)))
        var led: Set<String> = []
        try await eventually("each of the servers in the lead", deadline: .seconds(120)) {
            guard let leader = try await cluster.standings()[stream]?.leader else { return false }
            if !led.contains(leader) {
                // While another one comes to lead there may be no answer, or one of the other's.
                guard let entry = try? await bucket.current("alice") else { return false }
                #expect(values.contains(String(buffer: entry.value)), "\(leader) leads, killed was s\(victim + 1)")
                revision = entry.revision
                guard (try? await change()) != nil else { return false }
                if try await cluster.standings()[stream]?.leader == leader { led.insert(leader) }
            }
            if led.count == 3 { return true }
            _ = try? await connection.request(
                ByteBuffer(), to: "$JS.API.STREAM.LEADER.STEPDOWN.\(stream)", timeout: .seconds(5))
            return false
        }
    }

    @Test("Keys that the servers do not trust, or that others can read, change nothing")
    func refused() async throws {
        try await Site.run(TestServers.all[0]) { site in
            let other = NKeyPair.generate(.operator).withSeedText { $0 }
            try TestOperatorCluster.write(other, to: site.folder.path("operator.nk"))
            // A busy machine may not answer in the time of one look.
            try await eventually("words that say why") {
                let words = await #expect(throws: NetworkError.self) { try await site.provision() }?.description
                let meant = ["do not trust the network's account", "refused"]
                return meant.contains { words?.contains($0) == true }
            }
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644], ofItemAtPath: site.folder.path("operator.nk"))
            await #expect(throws: NetworkError.credentials(.fileTooOpen(path: site.folder.path("operator.nk")))) {
                try await site.provision()
            }
            await #expect(throws: NetworkError.self) { try await site.provision { $0.servers = ["http://x"] } }
        }
    }

    @Test(
        "Any number of processes answer together, and tools for services see each of them", arguments: TestServers.all)
    func services(server: String) async throws {
        try await Site.run(server) { site in
            _ = try await site.provision()
            let administrator = NetworkAdministrator(directory: site.directory)
            let access = try ServiceAccess(path: site.directory.servicesFile)
            var options = NetworkServing.Options()
            options.handlesSignals = false
            options.patience = .seconds(60)
            let processes = [NetworkServing(access, options: options), NetworkServing(access, options: options)]
            let running = processes.map { serving in Task { try await serving.run() } }
            let observer = try await site.connection(
                Credentials.load(path: site.directory.observerFile), inboxPrefix: HostRole.observing.inboxPrefix)
            var known: Set<String> = []
            try await eventually("both services", deadline: .seconds(60)) {
                let answer = try? await observer.request(ByteBuffer(), to: "$SRV.PING.parley", timeout: .seconds(1))
                if let answer { known.insert(try JSONText.parse(bytes: answer.bytes)["id"]?.stringValue ?? "") }
                return known.count == 2
            }
            // Whom nobody has been told of is found at once after it was made.
            let alice = try await site.connection(
                administrator.add(user: "alice", rights: RightsChange(topics: ["chat.>"])))
            let names = try JSONText.parse(bytes: await alice.ask(to: "accounts.user.get_namespace").bytes)
            #expect(names["data"]?["namespace"] == "team" && names["data"]?["topics"] == ["chat.>"], "\(names)")
            for index in 0..<8 {
                let made = try await alice.ask(#"{"name":"p\#(index)"}"#, to: "relay.postbox.alice.create")
                #expect(try JSONText.parse(bytes: made.bytes)["error"] == nil)
            }
            let list = try JSONText.parse(bytes: await alice.ask(to: "relay.postbox.alice.list").bytes)
            #expect(list["postboxes"]?.arrayValue?.count == 9, "\(list)")
            // An invitation is used up for all of them at once.
            let end = NetworkAdministrator.now + 3_600
            let invitation = try await administrator.invite(user: "bob", expires: end)
            #expect(invitation.servers == [site.cluster.servers[0].url])
            _ = try await invitation.accept(authorityFile: nil, timeout: .seconds(60))
            for _ in 0..<4 {
                await #expect(throws: NetworkError.invitation(.usedUp)) {
                    try await invitation.accept(authorityFile: nil, timeout: .seconds(60))
                }
            }
            // One that ends in good order answers what it was asked before, and the other one what comes then.
            let inbox = try alice.subscribe(to: "_INBOX.drain")
            for _ in 0..<30 { try alice.publish([], to: "relay.postbox.alice.list", reply: "_INBOX.drain") }
            try await alice.flush()
            await processes[0].drain()
            running[0].cancel()
            try await running[0].value
            for _ in 0..<10 { try alice.publish([], to: "relay.postbox.alice.list", reply: "_INBOX.drain") }
            let answers = TestSupport.Collected()
            let reading = Task {
                for try await answer in inbox { answers.add(String(decoding: answer.bytes, as: UTF8.self)) }
            }
            try await eventually("40 answers", deadline: .seconds(60)) { answers.all.count == 40 }
            reading.cancel()
            #expect(answers.all.allSatisfy { $0.contains("personal") && !$0.contains("error") })
            try await administrator.ban(user: "alice")
            #expect(await alice.waitUntilClosed() != nil)
            for task in running { task.cancel() }
            for task in running { try await task.value }
            // Nobody answers: servers from 2.10 on say so, and with others it takes its time.
            let carol = try await site.connection(administrator.add(user: "carol"))
            await #expect(throws: NATSError.self) {
                try await carol.request(
                    ByteBuffer(string: #"{"name":"p"}"#), to: "relay.postbox.carol.create", timeout: .seconds(2))
            }
            for connection in [carol, observer] { await connection.close() }
            #expect(try await site.provision().isUnchanged)
        }
    }
}
