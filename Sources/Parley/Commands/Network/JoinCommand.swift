import ArgumentParser
import Platform
import Relay
import RelayNetwork

struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Join a network by invitation: create a profile for it, and open the chat.",
        discussion: "An invitation works once. The chat opens if input and output are a terminal.")

    @Option(help: ArgumentHelp("The profile's name; by default the server's.", valueName: "name"))
    var profile: String?

    @Option(help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config: String?

    @Flag(help: "Print a JSON object, and open no chat.")
    var json = false

    @Argument(help: "The invitation's file; - to paste it or pipe it in.")
    var file: String

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let invitation = try Invitation(parsing: read())
        let writer = try ProfileWriter(flag: config, environment)
        let host = try RelayConfiguration.addresses(invitation.servers).first?.host ?? "network"
        let name = try writer.name(profile, [host, "\(invitation.user)@\(host)", invitation.user])
        let folder = NetworkDirectory.dataFolder(environment) + "/joined/" + name
        let (credentials, authority) = (folder + "/user.creds", folder + "/authority.pem")
        var settings: MessageMap = [
            "servers": MessageValue(invitation.servers), "creds": .string(credentials),
            "namespace": .string(invitation.names.namespace), "hash": .string(invitation.names.hash),
            "api": .string(invitation.names.api),
        ]
        if invitation.authority != nil { settings["tlsAuthority"] = .string(authority) }
        let text = try writer.adding(name, settings)
        // Everything that can fail on this machine comes before the invitation is used up.
        try Self.make(folder, for: credentials)
        do {
            if let certificates = invitation.authority { try PrivateFile.write(certificates.utf8, to: authority) }
            try PrivateFile.write([], to: credentials)
            let granted = try await invitation.accept(authorityFile: invitation.authority == nil ? nil : authority)
            try PrivateFile.write(granted.fileText().utf8, to: credentials)
        } catch {
            unlink(credentials)
            unlink(authority)
            rmdir(folder)
            throw error
        }
        do throws(CommandFailure) { try writer.write(text) } catch {
            // The file has changed meanwhile, and the invitation cannot be used again.
            let again = try ProfileWriter(flag: config, environment)
            try again.write(again.adding(name, settings))
        }
        guard !json else { return Output.json(["profile": .string(name)]) }
        Output.line("joined as \(invitation.user): parley --profile \(name)")
        if isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 { try chat(name) }
    }

    private func read() throws(CommandFailure) -> String {
        guard file == "-" else {
            return String(decoding: try contents(ofFile: file).prefix(Invitation.maximumLength + 1), as: UTF8.self)
        }
        var text = ""
        // Ends without ^D, for an invitation that is pasted.
        while text.utf8.count <= Invitation.maximumLength, let line = readLine(strippingNewline: false) {
            text += line
            if Invitation.isEnd(line) { break }
        }
        return text
    }

    private static func make(_ folder: String, for credentials: String) throws(CommandFailure) {
        guard !FileManager.default.fileExists(atPath: credentials) else {
            throw CommandFailure(
                .cannotCreate,
                "\(folder) contains credentials of no profile: choose another name with --profile, or remove it.")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.cannotCreate, "\(folder) cannot be made.")
        }
    }

    /// Replaces the process by the chat, which needs the first thread.
    private func chat(_ name: String) throws {
        let words = ["parley", "chat", "--profile", name] + (config.map { ["--config", $0] } ?? [])
        var arguments = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        // The event loops have ignored it, which the new program would inherit.
        signal(SIGPIPE, SIG_DFL)
        execv(Connector.executablePath, arguments)
        throw ExitCode(of: .noConnection)
    }
}
