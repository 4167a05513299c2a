import ArgumentParser
import Logging
import Platform
import RelayNetwork

struct NetworkChoice: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A network on a cluster, by its provisioned name; by default your private network.", valueName: "name"))
    var network: String?

    @OptionGroup var logging: LoggingOption

    /// - Throws: `NetworkError.invalidProvision` for a network that this machine has not provisioned.
    func directory() throws(NetworkError) -> NetworkDirectory {
        guard let network else { return .standard() }
        let directory = try NetworkDirectory.named(network)
        guard try directory.cluster() != nil else {
            throw .invalidProvision(
                "This machine administers no network \(network.debugDescription): `parley network provision \(network)` makes one."
            )
        }
        return directory
    }

    /// Names the tokens that the servers' administrators still have to install for a user.
    func advise(about user: String) {
        for path in (try? directory().tokensToHandOver(of: user)) ?? [] {
            Output.complain("parley: hand \(path) to the servers; until then nothing of this holds there")
        }
    }

    func administrator() throws -> NetworkAdministrator {
        NetworkAdministrator(directory: try directory(), logger: try logging.logger())
    }
}

struct ExpiryOption: ParsableArguments {
    @Option(help: ArgumentHelp("How long the credentials are valid, such as 12h or 30d.", valueName: "length"))
    var expires: String?

    func validate() throws {
        guard let expires, PastTime.seconds(expires) == nil else { return }
        throw ValidationError("--expires takes a duration such as 12h or 30d.")
    }

    /// When they expire, in seconds since 1970; nil for never.
    var end: Int64? { expires.flatMap(PastTime.seconds).map { WallClock.now.milliseconds / 1_000 + Int64($0) } }
}

struct LoggingOption: ParsableArguments {
    @Option(help: ArgumentHelp("Append a log to this file, for a bug report.", valueName: "file"))
    var log: String?

    /// The logger; nil if neither the flag nor `PARLEY_LOG` names a file.
    func logger() throws(CommandFailure) -> Logger? {
        let environment = ProcessInfo.processInfo.environment
        guard let file = log ?? environment["PARLEY_LOG"], !file.isEmpty else { return nil }
        return try LibraryLog.logger(appendingTo: UserFolders.expanded(file, environment))
    }
}
