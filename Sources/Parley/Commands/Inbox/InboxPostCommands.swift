import ArgumentParser
import Relay

struct InboxPostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Send a letter to a postbox and return when it is stored.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("The subject line.", valueName: "text"))
    var subject: String?

    @OptionGroup var sending: LetterSending

    @Argument(help: ArgumentHelp("The postbox.", valueName: "user/postbox"))
    var address: String

    @Argument(help: "The letter; standard input by default.")
    var text: String?

    func run() async throws {
        let recipient = try LetterSending.recipient(address)
        try sending.check()
        let body = try text.map(TextInput.argument) ?? StandardInput.all()
        guard !body.isEmpty else {
            throw CommandFailure(.badData, "There is nothing to send; pass TEXT or pipe it in.")
        }
        try await sending.send(to: recipient, connection.plan()) { _ in (body, subject) }
    }
}

struct InboxForwardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward", abstract: "Forward a letter to a postbox, with its sender and time.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var sending: LetterSending

    @Argument(help: "The letter's id.")
    var id: String

    @Argument(help: ArgumentHelp("The postbox.", valueName: "user/postbox"))
    var address: String

    @Argument(help: "Text to put above it.")
    var text: String?

    func run() async throws {
        let recipient = try LetterSending.recipient(address)
        try sending.check()
        try await sending.send(to: recipient, connection.plan()) { client in
            let letter = try await client.postboxMessage(withMessageId: id)
            return (letter.forwarded(under: text), letter.subject.map { LetterSubject.forwarding($0) })
        }
    }
}

/// The options and steps shared by the commands that send a letter.
struct LetterSending: ParsableArguments {
    @Option(
        name: .customLong("id"),
        help: "The new letter's identifier, so that a retry within two minutes stores nothing twice.")
    var newID: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    typealias Recipient = (user: String, postbox: String)

    static func recipient(_ address: String) throws(CommandFailure) -> Recipient {
        let parts = address.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else {
            throw CommandFailure(.badData, "Name the postbox as USER/POSTBOX.")
        }
        return (parts[0], parts[1])
    }

    /// Refuses an invalid identifier before anything is done.
    func check() throws(CommandFailure) {
        guard let newID else { return }
        guard (1...128).contains(newID.utf8.count), newID.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandFailure(
                .badData, "An identifier is 1 to 128 letters, digits or symbols, without spaces.")
        }
    }

    /// Sends a letter, reports it, and saves it to the local store.
    ///
    /// - Parameter letter: makes the letter, over the client that sends it.
    func send(
        to recipient: Recipient, _ plan: ConnectionPlan,
        _ letter: (RelayClient) async throws -> (text: String, subject: String?)
    ) async throws {
        let sent = try await plan.connected { client in
            let (text, subject) = try await letter(client)
            let id = newID ?? RelayClient.newID()
            let receipt: PublishReceipt
            do {
                receipt = try await client.post(
                    to: recipient.user, postbox: recipient.postbox, subject: subject, text: text, id: id)
            } catch RelayError.timeout {
                throw CommandFailure(
                    .notAcknowledged,
                    "The letter \(id) was not acknowledged in time.\(client.status.hindrance) Try again within two minutes "
                        + "\(newID == nil ? "with --id \(id)" : "with the same --id"), and nothing is stored twice.")
            }
            if json {
                Output.json([
                    "id": .string(receipt.id), "seq": .integer(receipt.sequence),
                    "duplicate": .bool(receipt.isDuplicate),
                ])
            }
            return KeptLetter(
                direction: .sent, id: receipt.id, person: recipient.user, postbox: recipient.postbox,
                time: WallClock.now, text: text, subject: subject.flatMap { $0.isEmpty ? nil : $0 })
        }
        await StoreAccess.note([.letter(sent)], plan)
    }
}
