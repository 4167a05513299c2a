import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: the bucket of who is here", .realProcesses)
struct PresenceBucketTests {
    private func write(
        _ text: String, to subject: String, as user: NATSConnection, _ network: TestNetwork, headers: NATSHeaders? = nil
    ) async throws(NATSError) {
        _ = try await network.jetStream(user).publish(ByteBuffer(string: text), to: subject, headers: headers)
    }

    /// The subjects that a watch finds, as far as they are there.
    private func found(_ filter: String, as user: NATSConnection, _ network: TestNetwork) async throws -> [String] {
        try await network.jetStream(user).page(of: PresenceBucket.stream, filter: filter, from: .all, limit: 100)
            .messages.map(\.subject).sorted()
    }

    @Test(
        "A network has it in memory, with one entry a key and 90 seconds of life; one from before gets it at its next start",
        arguments: TestServers.all)
    func made(server: String) async throws {
        let folder = try TemporaryFolder()
        for _ in 0..<2 {
            try await TestNetwork.run(server: server, in: folder) { network in
                let service = try await network.connectAsNetwork()
                let jetStream = JetStream.patient(service)
                let made = try await jetStream.streamInfo(PresenceBucket.stream).configuration
                #expect(made.storage == .memory && made.maximumMessagesPerSubject == 1 && made.discard == .old)
                #expect(made.maximumAge == 90_000_000_000 && made.duplicateWindow == 90_000_000_000)
                #expect(made.allowsRollup == false && made.deniesDelete == true)
                #expect(made.maximumMessageSize == 2_048 && made.maximumBytes == 64 << 20)
                try await jetStream.deleteStream(PresenceBucket.stream)
                await service.close()
            }
        }
    }

    @Test("Accounts that were signed without the bucket have it after a start", arguments: TestServers.all)
    func carriedOver(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            await (try network.connect(as: "alice")).close()
        }
        // As another version wrote it, whose accounts had other imports.
        let directory = folder.network
        var form = try #require(try PrivateFile.readJSON(AccountSigner.Form.self, from: directory.accountsFile))
        #expect(form.imports == UserPermissions.importsVersion)
        form.imports = 0
        try PrivateFile.writeJSON(form, to: directory.accountsFile)
        let path = directory.tokenPath(ofAccount: try directory.knownRecord(of: UserName("alice")).account)
        let token = String(decoding: try #require(try PrivateFile.read(path)), as: UTF8.self)
        var claims = try AccountClaims.verify(token)
        let all = claims.grant.imports ?? []
        claims.grant.imports = all.filter { !$0.subject.contains(PresenceBucket.name) }
        #expect(claims.grant.imports?.count == all.count - 5)
        let old = try claims.encode(signedBy: IdentityFiles(folder: directory.keys).operatorPair())
        try PrivateFile.write(old.utf8, to: path)
        try await TestNetwork.run(server: server, in: folder) { network in
            let alice = try await network.connect(as: "alice")
            try await write("{}", to: "$KV.relay_here.alice.d.chat.lobby", as: alice, network)
            await alice.close()
        }
    }

    @Test(
        "A user writes below the own name alone, in granted topics alone, and nobody rolls anything up",
        arguments: TestServers.all)
    func writing(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "a+b=c", topics: ["chat.>", "ops.*.log"])
            let bob = try await network.connect(as: "bob")
            let key = try UserName("a+b=c").key
            try await write("{}", to: "$KV.relay_here.\(key).d1.chat.lobby", as: alice, network)
            try await write("{}", to: "$KV.relay_here.\(key).d2.ops.x.log", as: alice, network)
            try await write("{}", to: "$KV.relay_here.bob.d.chat.lobby", as: bob, network)
            for subject in [
                "$KV.relay_here.bob.d.chat.lobby", "$KV.relay_here.\(key).d1.secret.x", "$KV.relay_here.\(key).d1",
                "$KV.relay_here.\(key)", "$KV.relay_here.x",
            ] {
                for headers in [nil, ["KV-Operation": "DEL"], ["KV-Operation": "PURGE", "Nats-Rollup": "sub"]]
                    as [NATSHeaders?]
                {
                    await #expect(throws: NATSError.publishNotPermitted(subject: subject), "\(subject)") {
                        try await write("", to: subject, as: alice, network, headers: headers)
                    }
                }
            }
            for scope in ["all", "sub"] {
                do throws(NATSError) {
                    try await write(
                        "", to: "$KV.relay_here.\(key).d1.chat.lobby", as: alice, network,
                        headers: ["Nats-Rollup": scope])
                    Issue.record("a rollup was taken")
                } catch .jetStream(let failure) {
                    #expect(failure.errorCode == JetStreamFailure.rollupRefused)
                } catch {
                    Issue.record("\(error)")
                }
            }
            #expect(
                try await found("$KV.relay_here.*.*.>", as: bob, network) == [
                    "$KV.relay_here.\(key).d1.chat.lobby", "$KV.relay_here.\(key).d2.ops.x.log",
                    "$KV.relay_here.bob.d.chat.lobby",
                ])
            await alice.close()
            await bob.close()
        }
    }

    @Test("Who was not granted a topic does not learn who is there", arguments: TestServers.all)
    func reading(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "alice", topics: ["chat.>", "ops.*.log"])
            let bob = try await network.connect(as: "bob")
            for topic in ["chat.lobby", "ops.x.log", "secret.x"] {
                try await write("{}", to: "$KV.relay_here.bob.d.\(topic)", as: bob, network)
            }
            #expect(
                try await found("$KV.relay_here.*.*.chat.lobby", as: alice, network) == [
                    "$KV.relay_here.bob.d.chat.lobby"
                ])
            #expect(
                try await found("$KV.relay_here.*.*.ops.x.log", as: alice, network) == [
                    "$KV.relay_here.bob.d.ops.x.log"
                ])
            let call = "net.API.CONSUMER.CREATE.\(PresenceBucket.stream)"
            for filter in [
                "$KV.relay_here.*.*.secret.x", "$KV.relay_here.>", "$KV.relay_here.*.>", "$KV.relay_here.*.*.>",
                "$KV.relay_here.bob.>", "$KV.relay_here.bob.d.secret.x", "$KV.>", ">",
            ] {
                let keys = [#""filter_subject":"\#(filter)""#, #""filter_subjects":["\#(filter)"]"#]
                for key in keys {
                    let body =
                        #"{"stream_name":"\#(PresenceBucket.stream)","config":{"name":"c","ack_policy":"none","deliver_policy":"all",\#(key)}}"#
                    let reply = try await alice.ask(
                        body, to: "\(call).c.$KV.relay_here.bob.d.chat.lobby")
                    #expect(reply.text.contains("\"error\""), "\(reply.text)")
                }
                await #expect(throws: NATSError.self, "\(filter)") {
                    _ = try await found(filter, as: alice, network)
                }
            }
            await alice.close()
            await bob.close()
        }
    }
}
