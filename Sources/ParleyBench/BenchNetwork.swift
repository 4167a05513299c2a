import NATS
import NIOConcurrencyHelpers
import Platform
import RelayNetwork

/// A private network for one run, in a temporary folder. Its host works inside this process, and its server ends with
/// this process, however that ends.
struct BenchNetwork: Sendable {
    let directory: NetworkDirectory
    let description: NetworkDescription

    /// Runs the body on a network of its own; the server has ended and the folder is gone when this returns.
    static func run<R>(_ body: (BenchNetwork) async throws -> R) async throws -> R {
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let directory = NetworkDirectory(path: folder + "/network")
        var options = NetworkHost.Options()
        options.handlesSignals = false
        let host = NetworkHost(directory: directory, options: options)
        let outcome = NIOLockedValueBox<NetworkHost.Outcome?>(nil)
        let running = Task {
            let ending = await host.run()
            outcome.withLockedValue { $0 = ending }
        }
        let result: Result<R, any Error>
        do {
            while try await !directory.status().running {
                if let ending = outcome.withLockedValue(\.self) { throw failure(ending) }
                try await Task.sleep(for: .milliseconds(10))
            }
            // Held to the end: a network without clients would end by itself.
            let lease = try await NetworkLease.acquire(directory: directory, hostCommand: [])
            defer { lease.release() }
            result = .success(try await body(BenchNetwork(directory: directory, description: lease.description)))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        await running.value
        return try result.get()
    }

    private static func failure(_ outcome: NetworkHost.Outcome) -> NetworkError {
        if case .failed(let error) = outcome { error } else { .notRunning }
    }

    /// The server's address.
    var address: ServerAddress {
        get throws { try ServerAddress(parsing: description.url) }
    }

    /// Credentials of a user of the network's own account, for whom nothing is imported. The network issues none to
    /// others, so that they are made here with its key.
    func ownCredentials() throws -> Credentials {
        let signer = try NKeyPair(seed: text("signing.nk"))
        let account = try NKey(AccountClaims.verify(text("account.jwt")).subject)
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "~bench", grant: UserGrant(issuerAccount: account))
        return try Credentials(jwt: claims.encode(signedBy: signer), keyPair: pair)
    }

    private func text(_ file: String) throws -> String {
        let path = "\(directory.path)/keys/\(file)"
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }
}
