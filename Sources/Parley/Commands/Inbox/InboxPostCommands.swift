import ArgumentParser
import Relay

/// `parley inbox post`.
struct InboxPostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Send a letter to a postbox and return when it is stored.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("What the letter is about, in a line.", valueName: "text"))
    var subject: String?

    @OptionGroup var sending: LetterSending

    @Argument(help: ArgumentHelp("The postbox.", valueName: "user/postbox"))
    var address: String

    @Argument(help: "The letter; standard input when it is left out.")
    var text: String?

    func run() async throws {
        try await reportingFailures {
            let recipient = try LetterAddress(address)
            try sending.check()
            let body = try text.map(TextInput.argument) ?? StandardInput.all()
            guard !body.isEmpty else { throw CommandFailure(CommandFailure.badData, "There is nothing to send.") }
            let plan = try connection.plan()
            let client = try await Connector(plan).connect()
            try await sending.send(body, about: subject, to: recipient, over: client, plan)
        }
    }
}

/// `parley inbox forward`.
struct InboxForwardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward", abstract: "Send a letter on to a postbox, with whose it was and when.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var sending: LetterSending

    @Argument(help: "The letter's id.")
    var id: String

    @Argument(help: ArgumentHelp("The postbox.", valueName: "user/postbox"))
    var address: String

    @Argument(help: "A text above it.")
    var text: String?

    func run() async throws {
        try await reportingFailures {
            let recipient = try LetterAddress(address)
            try sending.check()
            let plan = try connection.plan()
            let client = try await Connector(plan).connect()
            let letter = try await client.letter(id)
            try await sending.send(
                letter.forwarded(under: text), about: letter.subject.map { LetterSubject.forwarding($0) },
                to: recipient, over: client, plan)
        }
    }
}

/// What the commands that send a letter share.
struct LetterSending: ParsableArguments {
    @Option(
        name: .customLong("id"),
        help: ArgumentHelp(
            "The new letter's identifier, so that a second try within two minutes stores nothing twice.",
            valueName: "id"))
    var newID: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    /// Refuses an identifier that can be none, before anything is done.
    func check() throws(CommandFailure) {
        guard let newID else { return }
        guard (1...128).contains(newID.utf8.count), newID.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandFailure(
                CommandFailure.badData, "An identifier has 1 to 128 letters, digits and signs, and no spaces.")
        }
    }

    /// Sends a letter, says so, and has the local store keep it.
    func send(
        _ body: String, about subject: String?, to recipient: LetterAddress, over client: RelayClient,
        _ plan: ConnectionPlan
    ) async throws {
        let id = newID ?? RelayClient.newID()
        let receipt: PublishReceipt
        do throws(RelayError) {
            receipt = try await client.post(
                to: recipient.user, postbox: recipient.postbox, subject: subject, text: body, id: id)
        } catch .timeout {
            throw CommandFailure(
                CommandFailure.notAcknowledged,
                "The letter \(id) was not acknowledged in time.\(client.status.hindrance) Try again within two minutes "
                    + "\(newID == nil ? "with --id \(id)" : "with the same --id"), and nothing is stored twice.")
        } catch { throw client.explained(error) }
        if json {
            Output.json([
                "id": .string(receipt.id), "seq": .integer(receipt.sequence), "duplicate": .bool(receipt.isDuplicate),
            ])
        }
        await client.close()
        let letter = KeptLetter(
            direction: .sent, id: receipt.id, person: recipient.user, postbox: recipient.postbox, time: WallClock.now,
            text: body, subject: subject.flatMap { $0.isEmpty ? nil : $0 })
        await StoreAccess.note([.letter(letter)], plan)
    }
}

/// Somebody's postbox, as it is written.
struct LetterAddress: Hashable {
    let user: String
    let postbox: String

    init(_ text: String) throws(CommandFailure) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else {
            throw CommandFailure(CommandFailure.badData, "Name the postbox as USER/POSTBOX.")
        }
        (user, postbox) = (parts[0], parts[1])
    }
}
