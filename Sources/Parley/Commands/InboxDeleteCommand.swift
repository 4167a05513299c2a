import ArgumentParser
import Relay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// `parley inbox delete`.
struct InboxDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete letters by their ids, at most 25 at once, or all.")

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Delete any number, 25 at a time.")
    var chunked = false

    @Flag(help: "Delete all letters that are there now, after a question.")
    var all = false

    @OptionGroup var part: InboxSelectionOptions

    @Flag(help: "With --all: ask nothing.")
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
        try await reportingFailures {
            guard all || chunked || ids.count <= BulkDeletion.maximumCount else {
                throw CommandFailure(
                    CommandFailure.badData,
                    "At most \(BulkDeletion.maximumCount) letters are deleted at once; --chunked takes any number.")
            }
            let plan = try connection.plan()
            let client = try await Connector(plan).connect()
            let wanted = all ? try await present(client) : ids
            guard try isWanted(wanted.count) else {
                await client.close()
                return Output.complain("parley: nothing was deleted")
            }
            let (result, failure) = await delete(wanted, client)
            await client.close()
            await StoreAccess.note(result.deleted.map { .letterDeleted(.received, id: $0) }, plan)
            if let failure {
                // What is gone is said, whatever becomes of the rest.
                try? report(result)
                let left = wanted.count - result.deleted.count - result.failed.count
                Output.complain("parley: \(Wording.count(left, "letter")) not deleted, or not known to be")
                throw client.explained(failure)
            }
            try report(result)
        }
    }

    /// The ids of the letters that are there now. What comes meanwhile stays.
    private func present(_ client: RelayClient) async throws -> [String] {
        let selection = try await part.selection(client)
        var found: [String] = []
        var token: String?
        repeat {
            let page: ListOutput<PostboxMessage>
            do throws(RelayError) {
                page = try await client.page(of: selection, limit: RelayClient.maximumPage, nextToken: token)
            } catch { throw client.explained(error) }
            found += page.items.map(\.id)
            token = page.nextToken
        } while token != nil
        return found
    }

    /// Whether so many are to be deleted, as the person at a terminal says.
    private func isWanted(_ count: Int) throws(CommandFailure) -> Bool {
        guard all, !yes, count > 0 else { return true }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                CommandFailure.usage, "Nobody is there to be asked; --yes deletes \(Wording.count(count, "letter")).")
        }
        Output.prompt("Delete \(Wording.count(count, "letter"))? (y/n) ")
        let answer = readLine()?.lowercased().filter { !$0.isWhitespace }
        return answer == "y" || answer == "yes"
    }

    private func delete(_ wanted: [String], _ client: RelayClient) async -> (BulkDeletion, RelayError?) {
        var result = BulkDeletion()
        let progress = Progress(of: wanted.count)
        defer { progress.end() }
        for start in stride(from: 0, to: wanted.count, by: BulkDeletion.maximumCount) {
            let chunk = Array(wanted[start..<min(wanted.count, start + BulkDeletion.maximumCount)])
            do throws(RelayError) {
                let part = try await client.bulkDeleteMessage(withMessageIds: chunk)
                result.deleted += part.deleted
                result.failed += part.notDeleted
            } catch { return (result, error) }
            progress.show(start + chunk.count)
        }
        return (result, nil)
    }

    /// How far a long deletion is, for a person at a terminal.
    private struct Progress {
        private let total: Int
        private let isShown: Bool

        init(of total: Int) {
            self.total = total
            isShown = total > BulkDeletion.maximumCount && isatty(STDERR_FILENO) == 1
        }

        func show(_ done: Int) {
            if isShown { Output.prompt("\r\(Wording.grouped(done)) of \(Wording.grouped(total)) letters") }
        }

        func end() { if isShown { Output.complain("") } }
    }

    private func report(_ result: BulkDeletion) throws {
        if json {
            let failed = result.failed.map {
                MessageValue.map(["id": .string($0.id), "error": .string($0.error.words)])
            }
            Output.json(["deleted": .array(result.deleted.map { .string($0) }), "failed": .array(failed)])
        } else {
            for id in result.deleted { Output.line(id) }
        }
        guard let failure = result.failed.first else { return }
        if json { throw ExitCode(CommandFailure(failure.error).code) }
        for failure in result.failed.dropLast() { Output.complain("parley: \(failure.error.words)") }
        throw CommandFailure(result.failed[result.failed.count - 1].error)
    }
}
