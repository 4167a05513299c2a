import ArgumentParser
import Relay
import RelayNetwork

struct NetworkTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Print a bearer token for a user: a complete login, for a limited time.",
        discussion: """
            The token is alone on a line, for PARLEY_TOKEN, for a profile's tokenCommand and for other clients. It has its \
            own key: parley network key list shows it, and key revoke ends it early.
            """)

    @Option(help: ArgumentHelp("How long it is valid, such as 90s, 1h or 30d.", valueName: "length"))
    var expires = "1h"

    @OptionGroup(title: "Rights, which are at most the user's") var rights: RightsOptions
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object.") var json = false
    @Argument(help: "The user's name.") var name: String

    private var lifetime: Int64? { PastTime.seconds(expires).map { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } }

    func validate() throws {
        guard lifetime != nil else { throw ValidationError("--expires takes a duration such as 90s, 1h or 30d.") }
    }

    func run() async throws {
        guard let lifetime else { return }
        let (key, token) = try await choice.administrator().makeToken(
            of: name, rights: rights.change, expires: WallClock.now.milliseconds / 1_000 + lifetime)
        choice.advise(about: name)
        guard json else { return Output.line(token) }
        Output.json([
            "user": .string(name), "key": .string(key.id), "token": .string(token),
            "expires": MessageValue(key.expires.map { Timestamp(seconds: $0).iso8601 }),
        ])
    }
}
