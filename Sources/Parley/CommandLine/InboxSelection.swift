import ArgumentParser
import Relay

/// Which letters a command is about: all, or those of some postboxes.
enum InboxSelection: Equatable {
    case all
    case postboxes(Set<String>)

    /// Those of a postbox, by its identifier or name, and of a persona (Sudo). One that is not among the user's
    /// postboxes, as far as these are known, is refused: mistyped, it would look as if it were empty.
    init(postbox: String?, persona: String?, among known: [Postbox]?) throws(CommandFailure) {
        var known = known
        if let persona {
            known = known?.filter { $0.sudoId == persona }
            if known?.isEmpty ?? true {
                throw CommandFailure(
                    .badData,
                    "No postbox belongs to the persona “\(persona)”. parley postbox list --json tells whose each is.")
            }
        }
        if let postbox = try Self.id(of: postbox, among: known) {
            self = .postboxes([postbox])
        } else if persona != nil, let known {
            self = .postboxes(Set(known.map(\.id)))
        } else {
            self = .all
        }
    }

    /// The one postbox that is meant; nil where there may be several.
    var onlyPostbox: String? { if case .postboxes(let ids) = self, ids.count == 1 { ids.first } else { nil } }

    /// The identifiers of a page's letters that are meant, those that cannot be read after the others.
    func ids(in page: ListOutput<PostboxMessage>) -> [String] {
        let letters = page.items.map { ($0.id, $0.postboxId) } + page.unreadable.map { ($0.id, $0.postboxId) }
        return letters.filter { means(postbox: $0.1) }.map(\.0)
    }

    /// Whether a postbox's letters are meant.
    func means(postbox: String) -> Bool { if case .postboxes(let ids) = self { ids.contains(postbox) } else { true } }

    /// The identifier of a postbox by its identifier or name.
    static func id(of name: String?, among known: [Postbox]?) throws(CommandFailure) -> String? {
        guard let name, let known else { return name }
        if let postbox = known.first(where: { $0.id == name }) ?? known.first(where: { $0.name == name }) {
            return postbox.id
        }
        let names = known.map(\.name).sorted().joined(separator: ", ")
        let others = names.isEmpty ? "There are none; parley postbox create makes one." : "These are: \(names)."
        throw CommandFailure(.badData, "There is no postbox “\(name)”. \(others)")
    }
}

/// A page of those letters in a list that are wanted. A place in the list stands for where the next page begins, so
/// that each letter is on one page, whatever comes and goes between two of them.
struct InboxPage {
    private let limit: Int
    private let isWanted: (PostboxMessage) -> Bool
    private(set) var output = ListOutput<PostboxMessage>(items: [], nextToken: nil)

    init(limit: Int, where isWanted: @escaping (PostboxMessage) -> Bool) {
        self.limit = limit
        self.isWanted = isWanted
    }

    /// Takes in the next page of the whole list; returns where to go on reading, or nil where nothing more is needed.
    mutating func take(_ page: ListOutput<PostboxMessage>) -> String? {
        let unreadable = page.unreadable.filter { isWanted(PostboxMessage($0)) }
        for letter in page.items where isWanted(letter) {
            guard output.items.count == limit else {
                output.items.append(letter)
                continue
            }
            // One more than are wanted tells where the next page begins.
            let next = PostboxMessageID(letter.id)
            output.nextToken = next.map { PageToken(incarnation: $0.incarnation, sequence: $0.sequence).text }
            output.unreadable += unreadable.filter { other in
                guard let next, let place = PostboxMessageID(other.id) else { return true }
                return place.sequence < next.sequence
            }
            return nil
        }
        output.unreadable += unreadable
        return page.nextToken
    }
}

/// The options of commands that are about a part of the letters.
struct InboxSelectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only letters of this postbox.", valueName: "id"))
    var postbox: String?

    @Option(help: ArgumentHelp("Only letters to this persona's postboxes.", valueName: "id"))
    var sudoId: String?

    var isAll: Bool { postbox == nil && sudoId == nil }

    /// The selected letters. For all, the network's host, which may be slow or away, need not be asked. A command that
    /// does more than read gives no `plan`, and relies on the network alone for a persona's postboxes.
    func selection(_ client: RelayClient, orKept plan: ConnectionPlan? = nil) async throws -> InboxSelection {
        if isAll { return .all }
        let known: [Postbox]? =
            if let sudoId {
                try await client.postboxes(of: sudoId, orKept: plan)
            } else {
                // A postbox is named by its identifier too, for which the network is not needed.
                try? await client.postboxes()
            }
        return try InboxSelection(postbox: postbox, persona: sudoId, among: known)
    }

    /// Whether a letter that is kept is meant, as far as this machine knows.
    func means(_ letter: PostboxMessage) -> Bool {
        (postbox ?? letter.postboxId) == letter.postboxId && (sudoId ?? letter.sudoId) == letter.sudoId
    }
}

extension RelayClient {
    /// The postboxes among which a persona's are. Where the network does not answer, they are those that this machine
    /// keeps, if the persona has one of them, and a complaint says how old they are.
    nonisolated func postboxes(of persona: String, orKept plan: ConnectionPlan?) async throws -> [Postbox] {
        do throws(RelayError) { return try await postboxes() } catch {
            // Why a session has ended is known a moment later, to whoever waits for that.
            if case .connection = error { throw error }
            let failure = explained(error)
            guard failure.meansNoAnswer else { throw failure }
            var kept: KeptPostboxes?
            await StoreAccess.readKept(plan) { kept = try await $0.postboxes() }
            guard let kept, kept.items.contains(where: { $0.sudoId == persona }) else { throw failure }
            Output.complain(
                "parley: not told by the network; the persona's postboxes are as kept here, as of \(kept.asOf.iso8601)")
            return kept.items
        }
    }

    /// A page of the letters that are meant; see ``listMessages(limit:nextToken:)``.
    func page(
        of selection: InboxSelection, limit: Int, nextToken: String?
    ) async throws(RelayError) -> ListOutput<PostboxMessage> {
        guard case .postboxes(let ids) = selection, ids.count > 1 else {
            return try await listMessages(limit: limit, nextToken: nextToken, postbox: selection.onlyPostbox)
        }
        var page = InboxPage(limit: limit) { ids.contains($0.postboxId) }
        var token = nextToken
        repeat {
            token = page.take(try await listMessages(limit: Self.maximumPage, nextToken: token))
        } while token != nil
        return page.output
    }
}

extension PostboxMessage {
    /// The letter as that of the persona that was asked for, where its postbox is one of that persona's and the network
    /// does not say whose it is: it is the owner's then.
    func belonging(to persona: String?, by selection: InboxSelection) -> PostboxMessage {
        guard let persona, sudoId == ownerId, selection.means(postbox: postboxId) else { return self }
        var letter = self
        letter.sudoId = persona
        return letter
    }
}
