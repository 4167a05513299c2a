import ArgumentParser
import Relay
import RelayNetwork

struct NetworkInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite a user to the network: write a file for parley join.",
        discussion: "It works once, and replaces an earlier invitation for the same user.")

    @Option(help: ArgumentHelp("How long it is valid, such as 12h or 30d; by default 7d.", valueName: "length"))
    var expires: String?

    @OptionGroup(title: "Rights") var rights: RightsOptions

    @Option(
        help: ArgumentHelp(
            "The server for the user, tls://host:port; by default the name in the network's certificate.",
            valueName: "url"))
    var server: [String] = []

    @Option(help: ArgumentHelp("The invitation's file; - prints it.", valueName: "file"))
    var out: String?

    @OptionGroup var choice: NetworkChoice

    @Flag(help: "Revoke the user's invitation.") var revoke = false
    @Flag(help: "Print one JSON object.") var json = false

    @Argument(help: "The user's name.")
    var name: String

    func validate() throws {
        if let expires, PastTime.seconds(expires) == nil {
            throw ValidationError("--expires takes a duration such as 12h or 30d.")
        }
        guard revoke || out != nil else { throw ValidationError("--out names the file for the invitation.") }
        guard !revoke || out == nil && expires == nil && rights.change.isEmpty && server.isEmpty else {
            throw ValidationError("--revoke goes with nothing else.")
        }
        guard !json || out != "-" else { throw ValidationError("--json does not go with --out -.") }
    }

    func run() async throws {
        guard let out else { return try await takeBack() }
        let length = expires.flatMap(PastTime.seconds).map { Int64($0) }
        let end = WallClock.now.milliseconds / 1_000 + (length ?? NetworkAdministrator.invitationLifetime)
        let invitation = try await choice.administrator().invite(
            user: name, rights: rights.change, servers: server, expires: end)
        choice.advise(about: name)
        // `line` adds the last line break itself.
        guard out != "-" else { return Output.line(String(invitation.text().dropLast())) }
        do throws(NetworkError) { try PrivateFile.write(invitation.text().utf8, to: out) } catch {
            let failure = CommandFailure(error)
            throw CommandFailure(
                failure.code, "\(failure.text) The invitation is lost: run it again with a file that can be written.")
        }
        if json {
            let endText = Timestamp(seconds: end).iso8601
            Output.json(["user": .string(name), "file": .string(out), "expires": .string(endText)])
        } else {
            Output.line("invitation for \(name) in \(out), \(NetworkUser.words(untilEnd: end)): parley join FILE")
        }
    }

    private func takeBack() async throws {
        let outcome = try await choice.administrator().revokeInvitation(of: name)
        if json {
            Output.json(["user": .string(name), "file": .null, "expires": .null])
        } else {
            switch outcome {
            case .revoked: Output.line("the invitation of \(name) was taken back")
            case .used:
                Output.line(
                    "the invitation of \(name) was used already: parley network key list \(name) shows the key that it was exchanged for"
                )
            case .none: Output.line("\(name) has no open invitation")
            }
        }
    }
}
