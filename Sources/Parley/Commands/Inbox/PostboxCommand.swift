import ArgumentParser
import Relay

struct PostboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postbox", abstract: "List, create, rename, enable, disable and delete postboxes.",
        subcommands: [
            PostboxListCommand.self, PostboxCreateCommand.self, PostboxRenameCommand.self,
            PostboxEnableCommand.self, PostboxDisableCommand.self, PostboxDeleteCommand.self,
        ])
}

struct PostboxOptions: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Only this persona's postboxes; a new one belongs to it.", valueName: "id"))
    var sudoId: String?

    @Flag(help: "Print one JSON object for each postbox.")
    var json = false

    /// Prints the postboxes that the body returns.
    ///
    /// - Parameter outcome: what was done to each; nil to print whether it is enabled.
    func run(_ outcome: String? = nil, _ body: (RelayClient) async throws -> [Postbox]) async throws {
        try await connection.plan().connected { client in
            for postbox in try await body(client) { write(postbox, outcome) }
        }
    }

    /// - Parameter more: further keys for scripts.
    func write(_ postbox: Postbox, _ outcome: String? = nil, more: MessageMap = [:]) {
        guard json else { return Output.line(postbox.line(outcome)) }
        Output.json(postbox.json, more)
    }
}

extension Postbox {
    var json: MessageMap {
        [
            "id": .string(id), "name": .string(name), "sudoId": .string(sudoId), "isEnabled": .bool(isEnabled),
            "createdAt": .string(createdAt.iso8601), "title": .string(title),
        ]
    }

    /// - Parameter outcome: what was done to it; nil to print whether it is enabled.
    func line(_ outcome: String? = nil) -> String {
        "\(Output.safe(name))  \(outcome ?? (isEnabled ? "enabled" : "disabled"))"
            + (hasTitle ? "  \(Output.safe(title))" : "")
    }
}

struct PostboxListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Print the postboxes.",
        discussion: "If the network does not answer, prints those stored here and how old they are.")
    @OptionGroup var options: PostboxOptions

    func run() async throws {
        let plan = try options.connection.plan()
        do {
            let postboxes = try await plan.connected { client in
                let postboxes = try await client.postboxes(sudoId: options.sudoId)
                for postbox in postboxes { options.write(postbox) }
                return postboxes
            }
            guard options.sudoId == nil else { return }
            await StoreAccess.note([.postboxesListed(KeptPostboxes(items: postboxes, asOf: WallClock.now))], plan)
        } catch {
            // Stored postboxes are better than none; the exit status tells a script that they may be outdated.
            if (error as? CommandFailure)?.meansNoAnswer ?? CommandFailure.meansNoConnection(error) {
                await writeKept(plan)
            }
            throw error
        }
    }

    private func writeKept(_ plan: ConnectionPlan) async {
        await StoreAccess.readKept(plan) { store in
            guard let kept = try await store.postboxes() else { return }
            let moment = kept.asOf.iso8601
            Output.complain("parley: no answer from the network; these postboxes are stored here, as of \(moment)")
            for postbox in kept.items where (options.sudoId ?? postbox.sudoId) == postbox.sudoId {
                options.write(postbox, more: ["offline": .bool(true), "asOf": .string(moment)])
            }
        }
    }
}

struct PostboxCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Create a postbox.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name: letters, digits, _ and -.") var name: String

    func run() async throws { try await options.run { [try await $0.createPostbox(name, sudoId: options.sudoId)] } }
}

struct PostboxRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Give a postbox a title; its address stays.",
        discussion: "The title is for you: lists show it beside the name. Others still write to the name.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String
    @Argument(help: "Its title: a line of up to 128 bytes. Give its name to remove the title.") var title: [String]

    func run() async throws {
        let title = title.joined(separator: " ")
        try await options.run { [try await $0.updatePostbox(name, title: title, sudoId: options.sudoId)] }
    }
}

struct PostboxEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enable", abstract: "Accept letters.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String

    func run() async throws {
        try await options.run { [try await $0.updatePostbox(name, isEnabled: true, sudoId: options.sudoId)] }
    }
}

struct PostboxDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Refuse further letters; existing ones stay.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String

    func run() async throws {
        try await options.run { [try await $0.updatePostbox(name, isEnabled: false, sudoId: options.sudoId)] }
    }
}

struct PostboxDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a postbox and its letters.")
    @OptionGroup var options: PostboxOptions
    @Argument(help: "Its name.") var name: String

    func run() async throws {
        try await options.run("deleted") { [try await $0.deletePostbox(name, sudoId: options.sudoId)] }
    }
}
