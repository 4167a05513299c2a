import NATS
import NIOCore
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// A network of the version before, in which all users shared one account.
@Suite("Accounts: carrying an older network over", .realProcesses)
struct CarryOverTests {
    private static let hash = "0123456789abcdef"

    /// Makes the folder of an older network: its keys, users alice (all topics), bob (banned) and carol (chat.>), and,
    /// by a server of its own, its streams with messages and letters.
    /// - Returns: alice's credentials, as they were handed out.
    private func olderNetwork(in directory: NetworkDirectory, server: String) async throws -> Credentials {
        let identity = try NetworkIdentity.open(in: directory)
        try PrivateFile.write(
            Array(#"{"namespace":"local","hash":"\#(Self.hash)"}"#.utf8), to: directory.keys + "/names.json")
        let root = try IdentityFiles(folder: directory.keys).operatorPair()
        var account = AccountClaims(
            subject: identity.account, name: "local",
            grant: AccountGrant(signingKeys: [.key(identity.signingKey.publicKey.text)]))
        account.issuedAt = 1_700_000_000
        let token = try account.encode(signedBy: root)
        try PrivateFile.write(token.utf8, to: directory.keys + "/account.jwt")
        func credentials(_ name: String, _ topics: [String]) throws -> Credentials {
            let subjects = topics.map { "\(Self.hash).\($0)" }
            let credentials = try identity.issuer.issue(
                name: name,
                permissions: Permissions(
                    pub: SubjectRules(allow: subjects + ["postbox.*.*", "relay.postbox.\(name).*"]),
                    sub: SubjectRules(allow: subjects + ["relay.control.\(name)", "_INBOX_\(name).>"])),
                issuedAt: 1_700_000_000)
            try PrivateFile.write(
                credentials.fileText().utf8, to: directory.credentialsPath(for: UserName(name)))
            return credentials
        }
        let alice = try credentials("alice", [">"])
        _ = try credentials("bob", [">"])
        _ = try credentials("carol", ["chat.>", "ops.a"])
        try PrivateFile.write(
            Array(#"{"banned":{"since":1700000000,"reason":"spam"}}"#.utf8),
            to: directory.users + "/bob.standing.json")

        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        for (key, text) in [(own.systemAccount, own.system), (identity.account, token)] {
            try PrivateFile.write(text.utf8, to: directory.tokenPath(ofAccount: key.text))
        }
        let configuration = ServerConfiguration(
            port: -1, operatorToken: own.operator, systemAccount: own.systemAccount.text,
            resolver: directory.resolver, store: directory.store, processFile: directory.serverProcessFile
        ).text.split(separator: "\n").filter { !$0.hasPrefix("host") && !$0.hasPrefix("port") }
            .joined(separator: "\n").replacing("authorization: {", with: "authorization {")
        let old = try await NATSServerProcess.start(
            NATSServerBinary(path: server), configuration: configuration, jetStream: false)
        let keeper = try await NATSConnection.connect(
            to: ServerAddress(parsing: old.url),
            options: .init(authentication: .init(identity.issuer.issue(name: "~service"))))
        let jetStream = JetStream.patient(keeper)
        var topics = StreamConfiguration(name: "local_stream", subjects: ["\(Self.hash).>"])
        topics.allowsDirectAccess = true
        try await jetStream.createStream(topics)
        for text in ["one", "two"] {
            let envelope = Envelope(
                clientID: "x", id: text, room: "chat.a", message: .string(text), start: Timestamp(milliseconds: 1))
            _ = try await jetStream.publish(
                ByteBuffer(bytes: envelope.encoded()),
                to: "\(Self.hash).chat.a")
        }
        let register = PostboxRegister(sudoId: "s", at: 1)
        try await KeyValueBucket("relay_postboxes", jetStream).create()
        _ = try await KeyValueBucket("relay_postboxes", jetStream).put(
            ByteBuffer(bytes: Wire.json(register)), for: "alice")
        try await jetStream.createStream(
            StreamConfiguration(name: "PB_alice", subjects: ["postbox.alice.personal"]))
        _ = try await jetStream.publish(
            ByteBuffer(string: #"{"id":"l","createdAt":1,"from":"carol","message":"an old letter"}"#),
            to: "postbox.alice.personal")
        await keeper.close()
        try await old.stop()
        old.close()
        return alice
    }

    @Test(
        "Streams and messages stay, users get accounts, and handed-out credentials are refused with advice",
        arguments: TestServers.all)
    func carriedOver(server: String) async throws {
        let folder = try TemporaryFolder()
        let handedOut = try await olderNetwork(in: folder.network, server: server)
        for _ in 0..<2 {
            try await TestNetwork.run(server: server, in: folder) { network in
                #expect(network.description.hash == Self.hash)
                let client = try network.client()
                try await client.connect(timeLimit: 60)
                let stored = try await client.history(topic: "chat.a", start: Timestamp(milliseconds: 0))
                #expect(stored.prefix(2).map(\.text) == ["one", "two"])
                let letters = try await client.listMessages(limit: 5).items
                #expect(letters.first?.message == "an old letter" && letters.first?.from == nil)
                #expect(letters.first?.postboxId == "personal")
                let receipt = try await client.post(to: "alice", postbox: "personal", text: "a new one")
                #expect(receipt.sequence >= 2)
                #expect(try await client.listMessages(limit: 5).items.last?.from == "alice")
                await client.close()

                let users = try await network.administrator.users()
                #expect(users.map(\.name.text) == ["alice", "bob", "carol"])
                #expect(users.map(\.rights.subscribe) == [[">"], [">"], ["chat.>", "ops.a"]])
                #expect(users[1].standing.banned?.reason == "spam")

                let stranger = try network.client(credentials: RelayCredentials(handedOut))
                do throws(RelayError) {
                    try await stranger.connect(timeLimit: 60)
                    Issue.record("old credentials were taken")
                } catch {
                    #expect(error.words.contains("before every user had an account"), "\(error.words)")
                    #expect(error.words.contains("Ask the network's administrator for new ones"))
                }
                await stranger.close()
            }
        }
    }

    @Test("An older network that still runs is left alone, and the person learns what to do")
    func stillRunning() throws {
        let folder = try TemporaryFolder()
        _ = try NetworkIdentity.open(in: folder.network)
        try PrivateFile.write(
            Array(#"{"namespace":"local","hash":"\#(Self.hash)"}"#.utf8), to: folder.network.keys + "/names.json")
        let host = try #require(try FileLock.attempt(folder.network.hostLock, .exclusive))
        #expect(throws: NetworkError.olderNetworkRuns) { try NetworkIdentity.open(in: folder.network) }
        #expect(NetworkError.olderNetworkRuns.description.contains("parley network stop --force"))
        withExtendedLifetime(host) {}
    }
}
