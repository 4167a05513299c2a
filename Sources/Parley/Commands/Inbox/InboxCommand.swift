import ArgumentParser
import Relay

struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "List, read, delete, send and watch letters.",
        subcommands: [
            InboxListCommand.self, InboxReadCommand.self, InboxSaveCommand.self, InboxDeleteCommand.self,
            InboxPostCommand.self, InboxForwardCommand.self, InboxWatchCommand.self,
        ])
}

struct InboxListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Print one page of letters, oldest first.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Most letters on the page, 1 to 100. (default: 25)", valueName: "count"))
    var limit: Int?

    @Option(help: ArgumentHelp("Where an earlier page ended.", valueName: "token"))
    var nextToken: String?

    @Flag(help: "All letters, page after page.")
    var all = false

    @OptionGroup var part: InboxSelectionOptions

    @Flag(help: "Print one JSON object for each page.")
    var json = false

    func validate() throws {
        guard let limit, !(1...RelayClient.maximumPage).contains(limit) else { return }
        throw ValidationError("--limit takes a number from 1 to \(RelayClient.maximumPage).")
    }

    func run() async throws {
        let plan = try connection.plan()
        do {
            try await plan.connected { client in
                let selection = try await part.selection(client, orKept: plan)
                var token = nextToken
                repeat {
                    var page = try await client.page(of: selection, limit: pageLimit, nextToken: token)
                    page.items = page.items.map { $0.belonging(to: part.sudoId, by: selection) }
                    write(page)
                    // A page with an empty range deletes nothing from the store: filtered, it is incomplete.
                    let kept = KeptLetterPage(
                        letters: page.items.map { KeptLetter($0) }, incarnation: 0, start: 0, end: 0,
                        moment: WallClock.now)
                    await StoreAccess.note([.lettersListed(kept)], plan)
                    token = page.nextToken
                } while all && token != nil
            }
        } catch {
            // Stored letters are better than none; the exit status tells a script that they may be outdated. Not after
            // a call's own failure, for which there was a connection.
            if CommandFailure.meansNoConnection(error) { await writeKept(plan) }
            throw error
        }
    }

    /// By default as many as on a page of the chat.
    private var pageLimit: Int { limit ?? (all ? RelayClient.maximumPage : 25) }

    private func writeKept(_ plan: ConnectionPlan) async {
        await StoreAccess.readKept(plan) { store in
            var token = nextToken
            repeat {
                let (page, asOf) = try await keptPage(in: store, after: token, of: plan.userName ?? "")
                guard asOf != nil || !page.items.isEmpty else { return }
                let moment = asOf?.iso8601
                if token == nextToken {
                    let since = moment.map { ", as of \($0)" } ?? ""
                    Output.complain("parley: offline; these letters are stored here\(since)")
                }
                write(page, ["offline": .bool(true), "asOf": MessageValue(moment)])
                token = page.nextToken
            } while all && token != nil
        }
    }

    private func keptPage(
        in store: LocalStore, after token: String?, of owner: String
    ) async throws -> (page: ListOutput<PostboxMessage>, asOf: Timestamp?) {
        var page = InboxPage(limit: pageLimit) { part.means($0) }
        var (token, asOf) = (token, Timestamp?.none)
        repeat {
            let kept = try await store.letterPage(
                limit: RelayClient.maximumPage, nextToken: token, postbox: part.postbox, owner: owner)
            asOf = kept.asOf
            token = page.take(kept.page)
        } while token != nil
        return (page.output, asOf)
    }

    private func write(_ page: ListOutput<PostboxMessage>, _ more: MessageMap = [:]) {
        for letter in page.unreadable { Output.complain("parley: the letter \(letter.id) is not readable") }
        if json {
            let items = MessageValue.array(page.items.map { .map($0.json) })
            return Output.json(["items": items, "nextToken": MessageValue(page.nextToken)], more)
        }
        for letter in page.items { Output.line(letter.line) }
        if let token = page.nextToken, !all { Output.complain("parley: there are more: --next-token \(token)") }
    }
}

struct InboxWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print letters as they are created, and the subscription's status.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: "End after this many letters.")
    var count: Int?

    @Option(help: ArgumentHelp("Only letters to this persona's postboxes.", valueName: "id"))
    var sudoId: String?

    @Flag(help: "Print one JSON object for each event.")
    var json = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number of 1 or more.") }
    }

    func run() async throws {
        let plan = try connection.plan()
        let connector = try Connector(plan)
        tell(.initialized)
        tell(.connecting)
        do {
            try await watch(try await connector.connect(), plan)
            tellEnd()
        } catch {
            tellEnd(error)
            throw error
        }
    }

    private func watch(_ client: RelayClient, _ plan: ConnectionPlan) async throws {
        try await client.whileInSession {
            var selection = InboxSelection.all
            if let sudoId {
                let known = try await client.postboxes(of: sudoId, orKept: plan)
                selection = try InboxSelection(postbox: nil, persona: sudoId, among: known)
            }
            let events = try await client.postboxMessages()
            var seen = 0
            for try await event in events {
                switch event {
                // `whileInSession` is about to throw the reason.
                case .status(.error(.connection)), .status(.disconnected): break
                case .status(.error(let error)): throw error
                case .status(let new): tell(new)
                case .unreadable(let letter): Output.complain("parley: the letter \(letter.id) is not readable")
                case .gap(let lost): Output.complain("parley: \(lost) letters were deleted before they were seen")
                case .message(let told):
                    let letter = told.belonging(to: sudoId, by: selection)
                    guard (sudoId ?? letter.sudoId) == letter.sudoId else { continue }
                    if json {
                        Output.json(["event": "message"], letter.json)
                    } else {
                        Output.line(letter.line)
                    }
                    seen += 1
                }
                if let count, seen >= count { break }
            }
        }
        await client.close()
    }

    private func tell(_ status: PlatformSubscriptionStatus) {
        guard json else { return Output.complain("parley: subscription \(status.name)") }
        Output.json(["event": "status", "status": .string(status.name)])
    }

    /// Prints the last event for scripts: `disconnected` if the user or a signal ended it, otherwise `error` with the
    /// reason. People see the failure itself.
    private func tellEnd(_ error: (any Error)? = nil) {
        guard json else { return }
        let words = error is CancellationError ? nil : error.flatMap { CommandFailure(of: $0) }?.text
        let status = words == nil ? "disconnected" : "error"
        Output.json(["event": "status", "status": .string(status), "reason": MessageValue(words)])
    }
}

extension PostboxMessage {
    var json: MessageMap {
        [
            "id": .string(id), "createdAt": .string(createdAt.iso8601), "updatedAt": .string(updatedAt.iso8601),
            "ownerId": .string(ownerId), "sudoId": .string(sudoId), "postboxId": .string(postboxId),
            "from": MessageValue(from), "message": .string(message), "subject": MessageValue(subject),
        ]
    }

    var line: String {
        let who = from.map { Output.safe($0) } ?? "–"
        let about = LetterSubject.prefix(subject.map { Output.safe($0) })
        return "\(id)  \(createdAt.iso8601)  \(Output.safe(postboxId))  \(who): \(about)\(Output.indented(shownText))"
    }
}
