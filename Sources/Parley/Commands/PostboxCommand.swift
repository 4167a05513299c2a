import ArgumentParser
import Relay

/// `parley postbox`: the user's own postboxes.
struct PostboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postbox", abstract: "List, create, rename, enable, disable and delete postboxes.",
        subcommands: [
            PostboxListCommand.self, PostboxCreateCommand.self, PostboxRenameCommand.self,
            PostboxEnableCommand.self, PostboxDisableCommand.self, PostboxDeleteCommand.self,
        ])
}

/// What the postbox commands share: a connected client, and how a postbox is printed.
struct PostboxOptions: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Only this persona's postboxes; a new one belongs to it.", valueName: "id"))
    var sudoId: String?

    @Flag(help: "Print one JSON object for each postbox.")
    var json = false

    /// Does something with postboxes and prints them.
    ///
    /// - Parameter outcome: what has become of each, for a person; nil for whether it is enabled.
    func run(_ outcome: String? = nil, _ body: (RelayClient) async throws -> [Postbox]) async throws {
        try await reportingFailures {
            let client = try await Connector(connection.plan()).connect()
            let postboxes: [Postbox]
            do { postboxes = try await body(client) } catch let error as RelayError { throw client.explained(error) }
            for postbox in postboxes {
                if json { Output.json(postbox.json) } else { Output.line(postbox.line(outcome)) }
            }
            await client.close()
        }
    }
}

extension Postbox {
    /// The object that scripts read.
    var json: MessageMap {
        [
            "id": .string(id), "name": .string(name), "sudoId": .string(sudoId), "isEnabled": .bool(isEnabled),
            "createdAt": .string(createdAt.iso8601), "title": .string(title),
        ]
    }

    /// The line that people read.
    ///
    /// - Parameter outcome: what has become of it; nil for whether it is enabled.
    func line(_ outcome: String? = nil) -> String {
        "\(Output.safe(name))  \(outcome ?? (isEnabled ? "enabled" : "disabled"))"
            + (hasTitle ? "  \(Output.safe(title))" : "")
    }
}

/// `parley postbox list`.
struct PostboxListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Print the postboxes.")
    @OptionGroup var options: PostboxOptions

    func run() async throws { try await options.run { try await $0.postboxes(sudoId: options.sudoId) } }
}

/// `parley postbox create`.
struct PostboxCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Make a postbox.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name: letters, digits, _ and -.") var name: String

    func run() async throws { try await options.run { [try await $0.createPostbox(name, sudoId: options.sudoId)] } }
}

/// `parley postbox rename`.
struct PostboxRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Call a postbox something else; its address stays.",
        discussion: "The title is for you: lists show it beside the name. Others go on writing to the name.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String
    @Argument(help: "Its title: a line of up to 128 bytes. Give its name to remove the title.") var title: [String]

    func run() async throws {
        let title = title.joined(separator: " ")
        try await options.run { [try await $0.updatePostbox(name, title: title, sudoId: options.sudoId)] }
    }
}

/// `parley postbox enable`.
struct PostboxEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enable", abstract: "Let it take letters.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String

    func run() async throws {
        try await options.run { [try await $0.updatePostbox(name, isEnabled: true, sudoId: options.sudoId)] }
    }
}

/// `parley postbox disable`.
struct PostboxDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Refuse further letters and keep those it has.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String

    func run() async throws {
        try await options.run { [try await $0.updatePostbox(name, isEnabled: false, sudoId: options.sudoId)] }
    }
}

/// `parley postbox delete`.
struct PostboxDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a postbox with its letters.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String

    func run() async throws {
        try await options.run("deleted") { [try await $0.deletePostbox(name, sudoId: options.sudoId)] }
    }
}
