import ArgumentParser
import Platform
import Relay
import RelayNetwork

struct InboxDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete letters by their ids, at most 25 at once, or all.")

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Delete any number.")
    var chunked = false

    @Flag(help: "Delete all present letters, after asking.")
    var all = false

    @OptionGroup var part: InboxSelectionOptions

    @Flag(help: "With --all: do not ask.")
    var yes = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @Argument(help: "The letters' ids.")
    var ids: [String] = []

    func validate() throws {
        guard all != ids.isEmpty else {
            if all || part.isAll && !yes { return }
            throw ValidationError("--postbox, --sudo-id and --yes go with --all.")
        }
        throw ValidationError(all ? "Give ids, or --all, not both." : "Give the ids of the letters, or --all.")
    }

    func run() async throws {
        guard all || chunked || ids.count <= BulkDeletion.maximumCount else {
            throw CommandFailure(
                .badData,
                "At most \(BulkDeletion.maximumCount) letters are deleted at once; --chunked takes any number.")
        }
        let plan = try connection.plan()
        let outcome = try await plan.connected { client -> (BulkDeletion, DeletionReport, signal: Int32?)? in
            let wanted = all ? try await present(client) : ids
            guard try isWanted(wanted.count) else { return nil }
            let (result, signal) = await delete(wanted, client)
            let deletion = try result.get()
            return (deletion, DeletionReport(deletion) { client.explained($0) }, signal)
        }
        guard let (deletion, report, signal) = outcome else { return Output.complain("parley: nothing was deleted") }
        await StoreAccess.note(deletion.gone.map { .letterDeleted(.received, id: $0) }, plan)
        if json {
            Output.json(report.json)
        } else {
            for id in deletion.deleted { Output.line(id) }
            for complaint in report.complaints { Output.complain("parley: " + complaint.text) }
        }
        if let signal { throw ExitCode(128 + signal) }
        if let last = report.complaints.last { throw ExitCode(of: last.code) }
    }

    /// The ids of all present letters, including unreadable ones. Letters that arrive later are not deleted.
    private func present(_ client: RelayClient) async throws -> [String] {
        let selection = try await part.selection(client)
        var found: [String] = []
        var token: String?
        repeat {
            let page = try await client.listMessages(
                limit: RelayClient.maximumPage, nextToken: token, postbox: selection.onlyPostbox)
            found += selection.ids(in: page)
            token = page.nextToken
        } while token != nil
        return found
    }

    /// Asks the user at a terminal whether to delete this many letters.
    private func isWanted(_ count: Int) throws(CommandFailure) -> Bool {
        guard all, !yes, count > 0 else { return true }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .usage, "There is no terminal to ask at; --yes deletes \(Wording.count(count, "letter")).")
        }
        Output.prompt("Delete \(Wording.count(count, "letter"))? (y/n) ")
        let answer = readLine()?.lowercased().filter { !$0.isWhitespace }
        return answer == "y" || answer == "yes"
    }

    /// Deletes letters. After a signal no more deletions are sent, and those sent are awaited.
    private func delete(
        _ wanted: [String], _ client: RelayClient
    ) async -> (result: Result<BulkDeletion, any Error>, signal: Int32?) {
        let (total, step) = (wanted.count, BulkDeletion.maximumCount)
        let showsProgress = total > step && isatty(STDERR_FILENO) == 1
        let signals = EndingSignals()
        let deletion = Task {
            try await client.deleteMessages(withMessageIds: wanted) { done in
                guard showsProgress, done.isMultiple(of: step) || done == total else { return }
                Output.prompt("\r\(Wording.grouped(done)) of \(Wording.grouped(total)) letters")
            }
        }
        let listener = Task { [numbers = signals.numbers] () -> Int32? in
            for await number in numbers {
                deletion.cancel()
                return number
            }
            return nil
        }
        let result = await deletion.result
        signals.cancel()
        listener.cancel()
        if showsProgress { Output.complain("") }
        return (result, await listener.value)
    }
}
