import ArgumentParser
import RelayNetwork

/// Which network an administrator's command is about.
struct NetworkChoice: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A network on a cluster, by the name it was provisioned under; this user's own if left out.",
            valueName: "name"))
    var network: String?

    /// The network's folder.
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

    /// Says what is left to do about a user whose account only the servers' administrators hand to them.
    func advise(about user: String) {
        let paths = (try? directory().tokensToHandOver(of: user)) ?? []
        for path in paths {
            Output.complain("parley: hand \(path) to the servers; until then nothing of this holds there")
        }
    }

    /// Who acts on it.
    func administrator() throws(NetworkError) -> NetworkAdministrator {
        NetworkAdministrator(directory: try directory())
    }
}
