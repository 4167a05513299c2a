import NATS
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: folder")
struct DirectoryTests {
    private let folder: TemporaryDirectory
    private let directory: NetworkDirectory

    init() throws {
        folder = try TemporaryDirectory()
        directory = NetworkDirectory(path: folder.path + "/local")
    }

    @Test("The folder follows XDG_DATA_HOME, else the home folder")
    func standardPath() {
        #expect(NetworkDirectory.standard(environment: ["XDG_DATA_HOME": "/x"]).path == "/x/parley/local")
        #expect(
            NetworkDirectory.standard(environment: ["XDG_DATA_HOME": "", "HOME": "/h/"]).path
                == "/h/.local/share/parley/local")
    }

    @Test("Without HOME, folders and ~/ are in the account's home folder, wherever they lead")
    func accountsHome() throws {
        let account = { UserAccount(name: "svc", home: "/srv/svc") }
        for environment in [[:], ["HOME": ""], ["PATH": "/bin"]] {
            #expect(UserFolders.data.path(environment, account: account) == "/srv/svc/.local/share")
            #expect(UserFolders.configuration.path(environment, account: account) == "/srv/svc/.config")
            #expect(UserFolders.state.path(environment, account: account) == "/srv/svc/.local/state")
            #expect(UserFolders.mistake(in: environment, account: account) == nil)
        }
        let home = try #require(UserAccount.current()?.home)
        #expect(NetworkDirectory.standard(environment: [:]).path == home + "/.local/share/parley/local")
        #expect(UserFolders.expanded("~/a.creds", [:]) == home + "/a.creds")
        #expect(UserFolders.expanded("~/a.creds", ["HOME": "/h"]) == "/h/a.creds")
        for path in ["~", "~bob/x", "/a/~/b", "a"] { #expect(UserFolders.expanded(path, ["HOME": "/h"]) == path) }
    }

    @Test("A relative folder is refused by its variable's name, and so is none at all")
    func folderMistakes() {
        let account = { UserAccount(name: "svc", home: "/srv/svc") }
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            for path in ["rel", "./rel", "~/rel", " /rel"] {
                let environment = ["HOME": "/h"].merging([name: path]) { $1 }
                let words = UserFolders.mistake(in: environment, account: account)
                #expect(words?.hasPrefix("\(name) is “\(path)”, which is not a full path.") == true)
            }
        }
        for none in [nil, UserAccount(name: "x", home: nil), UserAccount(name: "x", home: ".")] {
            #expect(UserFolders.mistake(in: [:], account: { none })?.contains("Set HOME") == true)
            let named = ["XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"]
            #expect(UserFolders.mistake(in: named, account: { none }) == nil)
        }
    }

    @Test("A cluster of this machine is known by its ports on loopback, all of those that are named")
    func clusterPlaces() {
        let known = [41, 42, 43].map { ServerAddress(host: "127.0.0.1", port: $0) }
        func isOurs(_ named: (String, Int)...) -> Bool {
            LocalCluster.places(known, ifAmong: named.map { ServerAddress(host: $0.0, port: $0.1) }) == known
        }
        #expect(isOurs(("127.0.0.1", 42)) && isOurs(("localhost", 43), ("127.0.0.1", 41)))
        #expect(!isOurs() && !isOurs(("127.0.0.1", 44)) && !isOurs(("192.0.2.1", 42)))
        #expect(!isOurs(("127.0.0.1", 41), ("example.org", 41)))
    }

    @Test("Two processes that begin at once agree on one identity")
    func agreement() async throws {
        let directory = NetworkDirectory(path: folder.path + "/deep/local")
        let identities = try await withThrowingTaskGroup(of: (String, String, Credentials).self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let identity = try NetworkIdentity.open(in: directory)
                    return (identity.account.text, identity.names.hash, try directory.credentials(for: "alice"))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(identities.map(\.0)).count == 1)
        #expect(Set(identities.map(\.1)).count == 1)
        #expect(Set(identities.map(\.2.jwt)).count == 1)
    }

    @Test("Nothing in the folder can be read by others")
    func modes() async throws {
        _ = try directory.credentials(for: "alice")
        let administrator = NetworkAdministrator(directory: directory)
        try await administrator.ban(user: "alice")
        try await administrator.blockApplication()
        #expect(directory.isBlocked)
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        for name in ["users/alice.creds", "users/alice.json", "keys/operator.nk", "keys/account.jwt", "blocked"] {
            #expect(names.contains(name), "\(name)")
        }
        for path in names.map({ "\(directory.path)/\($0)" }) + [directory.path] {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(path)")
        }
        #expect(chmod(directory.path, 0o755) == 0)
        _ = try NetworkIdentity.open(in: directory)
        var status = stat()
        #expect(stat(directory.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    @Test("A user is made once; the machine's own key stays when topics and end change")
    func users() throws {
        let first = try directory.credentials(for: "alice")
        #expect(try directory.credentials(for: "alice") == first)
        let claims = try UserClaims.verify(first.jwt)
        #expect(claims.name == "alice" && claims.inboxPrefix == "_INBOX" && claims.expires == nil)
        let alice = try UserName("alice")
        try directory.establish(alice, rights: AccessRights(topics: ["chat.>"]), expires: 4_102_444_800)
        try directory.renewOwnCredentials(of: alice)
        let second = try directory.credentials(for: "alice")
        #expect(second.keyPair == first.keyPair)
        #expect(try UserClaims.verify(second.jwt).expires == 4_102_444_800)
        #expect(throws: NetworkError.invalidUserName("../bob")) { try directory.credentials(for: "../bob") }
        #expect(throws: NetworkError.self) {
            try directory.establish(UserName("bob"), rights: AccessRights(topics: ["chat.*"]), expires: nil)
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/users/bob.creds"))
    }

    @Test("A user whose name differs from another one's in capitals alone is refused, and nothing is made of it")
    func capitals() throws {
        _ = try directory.credentials(for: "alice")
        for name in ["Alice", "ALICE", "alicE"] {
            #expect(throws: NetworkError.userNameTaken(name, by: "alice")) { try directory.credentials(for: name) }
            #expect(throws: NetworkError.userNameTaken(name, by: "alice")) {
                try directory.establish(UserName(name), rights: .all, expires: nil)
            }
        }
        #expect(try directory.userNames().map(\.text) == ["alice"])
        _ = try directory.credentials(for: "alice2")
    }

    @Test("A damaged identity is named, and its secrets are not")
    func damage() throws {
        _ = try NetworkIdentity.open(in: directory)
        let path = directory.keys + "/signing.nk"
        let seed = try String(contentsOf: URL(filePath: path), encoding: .utf8)
        var damaged = Array(seed.utf8)
        damaged[20] = damaged[20] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        try PrivateFile.write(damaged, to: path)
        do {
            _ = try NetworkIdentity.open(in: directory)
            Issue.record("a damaged key was taken")
        } catch {
            #expect(error.description.contains("keys is damaged"))
            #expect(!error.description.contains(seed.prefix(10)))
        }
    }

    @Test("A log's entry is a line with its metadata; the host's file takes what matters, another logger everything")
    func log() throws {
        let path = folder.path + "/host.log"
        let lines = Collected()
        var other = NetworkHost.Options().logger
        other.handler = LineLogHandler(logLevel: .trace) { lines.add("\($0) \($1)") }
        let log = try LogFile(path).logger(besides: other)
        log.debug("quiet", metadata: ["b": "x y", "a": "1"])
        log.notice("loud")
        #expect(lines.all == [#"debug quiet a=1 b="x y""#, "notice loud"])
        let kept = LogFile.tail(of: path, lines: 9)
        #expect(kept.hasSuffix(" notice loud") && !kept.contains("quiet"))
    }

    @Test("A file lock has one exclusive holder or many shared ones, and goes with its last reference")
    func locks() throws {
        let path = folder.path + "/lock"
        var shared: [FileLock?] = [try FileLock.attempt(path, .shared), try FileLock.attempt(path, .shared)]
        #expect(shared.allSatisfy { $0 != nil })
        #expect(try FileLock.attempt(path, .exclusive) == nil)
        #expect(try FileLock.isHeld(path, against: .exclusive) && !FileLock.isHeld(path, against: .shared))
        shared = []
        let exclusive = try FileLock.attempt(path, .exclusive)
        #expect(try exclusive != nil && FileLock.isHeld(path, against: .shared))
        #expect(throws: NetworkError.self) { try FileLock.attempt(folder.path + "/none/lock", .shared) }
        withExtendedLifetime(exclusive) {}
    }

    @Test("A network that runs already goes on as it was asked to where somebody runs or starts it once more")
    func runningAlready() async throws {
        try directory.prepare()
        let listener = try NetworkListener(listen: "127.0.0.1:4242")
        try directory.keep(listener)
        try PrivateFile.write([], to: directory.keepMarker)
        let host = try #require(try FileLock.attempt(directory.hostLock, .exclusive))
        for again in [nil, listener] {
            await #expect(throws: NetworkError.self) {
                try await NetworkControl.run(directory: directory, listener: again)
            }
            await #expect(throws: NetworkError.self) {
                try await NetworkControl.start(directory: directory, listener: again, hostCommand: [], timeout: .zero)
            }
            #expect(try directory.listener() == listener && PrivateFile.exists(directory.keepMarker))
        }
        // One that its clients alone keep is not kept from then on.
        PrivateFile.remove(directory.keepMarker)
        await #expect(throws: NetworkError.self) { try await NetworkControl.run(directory: directory) }
        #expect(!PrivateFile.exists(directory.keepMarker))
        withExtendedLifetime(host) {}
    }

    @Test("An act on all users of a large network is kept and read again")
    func manyUsers() throws {
        try directory.prepare()
        let users = try (100_000..<130_000).map { try UserName(String(repeating: "u", count: 30) + "\($0)") }
        try directory.markUnfinished(users)
        #expect(try Set(directory.unfinishedUsers()) == Set(users))
        try directory.markFinished(users)
        #expect(try directory.unfinishedUsers().isEmpty)
    }

    @Test("A file that could not be read again is not written, and the one before stays")
    func longFile() throws {
        let path = folder.path + "/file"
        try PrivateFile.write([1], to: path)
        #expect(throws: NetworkError.self) {
            try PrivateFile.write([UInt8](repeating: 0, count: PrivateFile.maximumLength + 1), to: path)
        }
        #expect(try PrivateFile.read(path) == [1])
        try PrivateFile.write([UInt8](repeating: 0, count: PrivateFile.maximumLength), to: path)
        #expect(try PrivateFile.read(path)?.count == PrivateFile.maximumLength)
    }

    @Test("An account is known as its user's only where its record says so")
    func accounts() throws {
        _ = try directory.credentials(for: "alice")
        let alice = try UserName("alice")
        let account = try directory.knownRecord(of: alice).account
        #expect(directory.user(ofAccount: account) == alice)
        let identity = try NetworkIdentity.open(in: directory)
        for other in [identity.account.text, "", "../../x", NKeyPair.generate(.account).publicKey.text] {
            #expect(directory.user(ofAccount: other) == nil, "\(other)")
        }
    }

    @Test("An account is known as its user's while the server writes its token")
    func accountsBeingWritten() throws {
        for user in ["alice", "bob"] { _ = try directory.credentials(for: user) }
        let bob = try UserName("bob")
        let account = try directory.knownRecord(of: bob).account
        let path = directory.tokenPath(ofAccount: account)
        let token = try #require(try PrivateFile.read(path))
        for length in [0, 1, token.count / 2, token.count - 1] {
            try Data(token.prefix(length)).write(to: URL(filePath: path))
            #expect(directory.user(ofAccount: account) == bob, "\(length) bytes of it")
        }
    }
}
