import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: services", .realProcesses)
struct ServiceTests {
    private struct Namespace: Decodable {
        var status: String
        var data: NamespaceService.Reply.Names?
    }

    @Test("A client learns the names by its account, whatever it says of itself", arguments: TestServers.all)
    func namespace(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let bob = try network.directory.credentials(for: "bob")
            let connection = try await network.connect(as: "alice", topics: ["chat.>"])
            for body in ["", "{}", #"{"api_key":"\#(bob.jwt)"}"#, String(repeating: "[", count: 100_000)] {
                let reply = try await connection.ask(body, to: NamespaceService.subject)
                let known = try JSONDecoder().decode(Namespace.self, from: Data(reply.bytes))
                #expect(known.status == "NAMESPACE_RETRIEVE_SUCCESS")
                #expect(known.data?.namespace == network.description.namespace)
                #expect(known.data?.hash == network.description.hash)
                #expect(known.data?.api == "net.API" && known.data?.topics == ["chat.>"])
                #expect(known.data?.created ?? 0 > 0 && known.data?.batches == true)
            }
            // The first postbox is there before anything else is asked.
            #expect(try await network.jetStream(connection).streamInfo("PB_alice").state.messages == 1)
            // The stream that the names lead to stores what is published.
            let stored = try await network.jetStream(connection).publish(
                ByteBuffer(string: "hello"), to: "\(network.description.hash).chat.lobby")
            #expect(stored.stream == "\(network.description.namespace)_stream" && stored.sequence == 1)
            await connection.close()
        }
    }

    @Test("B66: every request to a service is answered, however many there are", arguments: TestServers.all)
    func refusals(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "alice")
            let bob = try await network.connect(as: "bob")
            // What nobody may ask, and what is asked too often.
            let asked = [
                "accounts.user.get_namespace", "net.API.STREAM.NAMES", "relay.postbox.alice.list",
                "relay.postbox.alice.paint", "relay.recipient.bob.personal", "relay.enrol.alice",
            ]
            var refused = 0
            for subject in asked {
                let count = 1_000
                let inbox = alice.newInbox()
                let answers = try alice.subscribe(to: inbox)
                for _ in 0..<count { try alice.publish(ByteBuffer(), to: subject, reply: inbox) }
                // Another user's turn comes meanwhile.
                let other = try await bob.ask(to: NamespaceService.subject)
                #expect(other.text.contains("NAMESPACE_RETRIEVE_SUCCESS"))
                let texts = TestSupport.Collected()
                let reading = Task {
                    for try await answer in answers { texts.add(answer.text) }
                }
                try await eventually("each request to \(subject) has its answer") { texts.all.count == count }
                refused += texts.all.count { $0.contains(#""busy":true"#) || $0.contains("unavailable") }
                reading.cancel()
                answers.unsubscribe()
            }
            #expect(refused > 0)
            // Nor is one left open where a user's record cannot be read.
            try PrivateFile.write(Array("{".utf8), to: network.directory.recordPath(of: UserName("alice")))
            #expect(try await alice.ask(to: NamespaceService.subject).text.contains(#""busy":true"#))
            await bob.close()
            await alice.close()
        }
    }

    private func ask(
        _ verb: String, of user: String, _ connection: NATSConnection, _ request: PostboxRequest? = nil
    ) async throws -> PostboxReply {
        let body = try request.map { try JSONEncoder().encode($0) } ?? Data()
        let reply = try await connection.request(
            ByteBuffer(bytes: body), to: "relay.postbox.\(user).\(verb)", timeout: .seconds(60))
        return try JSONDecoder().decode(PostboxReply.self, from: Data(reply.bytes))
    }

    @Test(
        "B51: a postbox from its welcome through disabling to deletion, and whether it takes letters, for every user",
        arguments: TestServers.all)
    func postboxLife(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let bob = try await network.connect(as: "bob")
            func state(_ user: String, _ postbox: String) async throws -> RecipientReply.State? {
                let reply = try await bob.ask(to: "relay.recipient.\(user).\(postbox)")
                return try JSONDecoder().decode(RecipientReply.self, from: Data(reply.bytes)).state
            }
            // Also of a user who never came.
            _ = try network.directory.credentials(for: "alice")
            #expect(try await state("nobody", "personal") == .unknownUser)
            #expect(try await state("alice", "personal") == .accepting)
            #expect(try await state("alice", "work") == .unknownPostbox)
            let alice = try await network.connect(as: "alice")
            let own = network.jetStream(alice)
            let sender = network.jetStream(bob)
            let first = try #require(try await ask("list", of: "alice", alice).postboxes)
            #expect(first.map(\.name) == ["personal"] && first.allSatisfy(\.isEnabled))
            #expect(try await ask("list", of: "alice", alice).postboxes == first)
            let page = try await own.page(of: "PB_alice", from: .all, limit: 10)
            let letters = try page.messages.map {
                try JSONDecoder().decode(PostboxLetter.self, from: Data($0.payload.readableBytesView))
            }
            #expect(page.messages.map(\.subject) == ["postbox.alice.personal.~parley"])
            #expect(letters[0].message.contains("alice"))

            let work = try #require(
                try await ask("create", of: "alice", alice, .init(name: "work", sudoId: "s")).postboxes)
            #expect(work.map(\.name) == ["work"] && work[0].sudoId == "s")
            #expect(try await ask("create", of: "alice", alice, .init(name: "work")).error == .exists)
            #expect(try await ask("create", of: "alice", alice, .init(name: "a.b")).error == .invalidName)
            #expect(try await ask("enable", of: "alice", alice, .init(name: "none")).error == .notFound)
            let titled = try await ask("rename", of: "alice", alice, .init(name: "work", title: "Orders")).postboxes
            #expect(titled?.map(\.title) == ["Orders"])
            #expect(try await ask("list", of: "alice", alice).postboxes?.map(\.title) == [nil, "Orders"])
            #expect(try await ask("paint", of: "alice", alice, .init(name: "work")).error == .invalidRequest)
            #expect(try await sender.publish(ByteBuffer(string: "1"), to: "postbox.alice.work").sequence == 2)

            #expect(try await state("alice", "work") == .accepting)
            #expect(try await ask("disable", of: "alice", alice, .init(name: "work")).postboxes?[0].isEnabled == false)
            #expect(try await state("alice", "work") == .disabled)
            // A server before 2.10 says nothing.
            var impatient = sender
            impatient.timeout = .seconds(2)
            await #expect(throws: NATSError.self) {
                _ = try await impatient.publish(ByteBuffer(string: "2"), to: "postbox.alice.work")
            }
            #expect(try await own.page(of: "PB_alice", from: .all, limit: 10).messages.count == 2)
            #expect(try await ask("disable", of: "alice", alice, .init(name: "personal")).error == nil)
            await #expect(throws: NATSError.self) {
                _ = try await impatient.publish(ByteBuffer(string: "2"), to: "postbox.alice.personal")
            }
            #expect(try await ask("enable", of: "alice", alice, .init(name: "work")).postboxes?[0].isEnabled == true)
            #expect(try await sender.publish(ByteBuffer(string: "3"), to: "postbox.alice.work").sequence == 3)

            #expect(try await ask("delete", of: "alice", alice, .init(name: "work")).postboxes?[0].name == "work")
            let left = try await own.page(of: "PB_alice", from: .all, limit: 10).messages
            #expect(left.map(\.subject) == ["postbox.alice.personal.~parley"])
            #expect(try await ask("list", of: "alice", alice).postboxes?.map(\.isEnabled) == [false])
            await alice.close()
            await bob.close()
        }
    }

    @Test(
        "A postbox that was made or deleted by half is so as a whole when that is asked for again",
        arguments: TestServers.all)
    func halfDone(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "alice")
            let bob = try await network.connect(as: "bob")
            let sender = network.jetStream(bob)
            #expect(try await ask("create", of: "alice", alice, .init(name: "work")).error == nil)
            #expect(try await sender.publish(ByteBuffer(string: "1"), to: "postbox.alice.work").sequence == 2)
            // All that services did which were ended then.
            let keeper = try await network.connectAsNetwork()
            let bucket = try KeyValueBucket(NetworkPlan.postboxes, .patient(keeper))
            let known = try await bucket.decoded(PostboxRegister.self, "alice")
            var register = try #require(known?.value)
            let revision = try #require(known?.revision)
            register.postboxes.removeAll { $0.name == "work" }
            register.postboxes.append(
                .init(id: "play", name: "play", sudoId: register.sudoId, isEnabled: true, createdAt: 0))
            try await bucket.update(ByteBuffer(bytes: Wire.json(register)), for: "alice", revision: revision)

            #expect(try await ask("create", of: "alice", alice, .init(name: "play")).error == .exists)
            #expect(try await sender.publish(ByteBuffer(string: "2"), to: "postbox.alice.play").sequence == 3)
            #expect(try await ask("delete", of: "alice", alice, .init(name: "work")).error == .notFound)
            let left = try await network.jetStream(alice).page(of: "PB_alice", from: .all, limit: 10).messages
            #expect(left.map(\.subject) == ["postbox.alice.personal.~parley", "postbox.alice.play.bob"])
            for connection in [alice, bob, keeper] { await connection.close() }
        }
    }

    @Test("Requests at the same time all take effect, whichever host answers", arguments: TestServers.all)
    func concurrentChanges(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "a+b=c")
            // A second set of services plays the host of another machine.
            let identity = try NetworkIdentity.open(in: network.directory)
            let second = try await network.connectAsNetwork()
            let plan = NetworkPlan(names: identity.names, settings: NetworkSettings())
            let services = try NetworkServices(
                answering: second, jetStream: .patient(second), plan: plan, users: network.directory,
                issuer: identity.issuer, id: "second", figures: .init(ServiceFigures(start: 0)), logger: .silent)
            let answering = Task { try await services.run() }
            try await second.flush()
            let names = (0..<12).map { "p\($0)" }
            try await withThrowingTaskGroup(of: PostboxReply.self) { group in
                for name in names {
                    group.addTask { try await ask("create", of: "a+b=c", alice, .init(name: name)) }
                }
                var refused: [String] = []
                for try await reply in group where reply.error != nil {
                    refused.append("\(reply)")
                }
                #expect(refused.count < names.count, "\(refused)")
            }
            let listed = try #require(try await ask("list", of: "a+b=c", alice).postboxes).map(\.name)
            let subjects = try await network.jetStream(alice).streamInfo("PB_a+b=c").configuration.subjects ?? []
            #expect(Set(subjects) == Set(listed.map { "postbox.a+b=c.\($0).*" }))
            #expect(Set(listed).count == listed.count)
            let welcome = try await network.jetStream(alice).page(of: "PB_a+b=c", from: .all, limit: 10)
            #expect(welcome.messages.count == 1)
            answering.cancel()
            await second.close()
            await alice.close()
        }
    }

    @Test("Who asks is whom the server saw, whatever the request says of itself", arguments: TestServers.all)
    func forgedAsker(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let mallory = try await network.connect(as: "mallory", topics: ["chat.>"])
            try await network.connect(as: "bob", topics: ["secret.>"]).close()
            let account = try network.directory.knownRecord(of: UserName("bob")).account
            for name in ["Nats-Request-Info", "nats-request-info"] {
                let headers: NATSHeaders = [name: #"{"acc":"\#(account)","rtt":1}"#]
                let names = try await mallory.ask(to: NamespaceService.subject, headers: headers)
                let known = try JSONDecoder().decode(Namespace.self, from: Data(names.bytes))
                #expect(known.data?.topics == ["chat.>"], "\(name)")
                // Asked as bob, it would be refused: mallory's postboxes are not his.
                let list = try await mallory.request(
                    ByteBuffer(), to: "relay.postbox.mallory.list", headers: headers, timeout: .seconds(60))
                #expect(list.text.contains("personal"), "\(name): \(list.text)")
            }
            await mallory.close()
        }
    }

    @Test(
        "A second host leaves at once, and a server that is killed comes back at the same port, with data and services",
        arguments: TestServers.all)
    func serverKilled(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            var options = NetworkHost.Options(environment: ["PARLEY_NATS_SERVER": server])
            options.handlesSignals = false
            #expect(await NetworkHost(directory: network.directory, options: options).run() == .alreadyRunning)
            #expect(try await TestNetwork.answering(network.directory) == network.description)
            let before = try await network.connect(as: "alice")
            _ = try await network.jetStream(before).publish(
                ByteBuffer(string: "kept"), to: "\(network.description.hash).a")
            #expect(kill(network.description.serverPid, SIGKILL) == 0)
            #expect(await before.waitUntilClosed() != nil)
            var after: NetworkDescription?
            try await eventually("another server runs") {
                after = try await network.directory.running()
                return after.map { $0.serverPid != network.description.serverPid } ?? false
            }
            #expect(after?.url == network.description.url)
            let again = try await network.connect(as: "alice")
            #expect(try await network.jetStream(again).streamInfo("local_stream").state.messages == 1)
            #expect(try await ask("list", of: "alice", again).postboxes?.count == 1)
            await again.close()
        }
    }
}
