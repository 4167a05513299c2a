import ArgumentParser
import Relay

/// The letters that a command applies to: all, or those of some postboxes.
enum InboxSelection: Equatable {
    case all
    case postboxes(Set<String>)

    /// Selects by postbox, given by identifier or name, and by persona (Sudo). Refuses a postbox that is not among the
    /// known ones, since a mistyped name would look like an empty postbox.
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

    /// The selected postbox, if there is exactly one.
    var onlyPostbox: String? { if case .postboxes(let ids) = self, ids.count == 1 { ids.first } else { nil } }

    /// The identifiers of a page's selected letters, unreadable ones last.
    func ids(in page: ListOutput<PostboxMessage>) -> [String] {
        let letters = page.items.map { ($0.id, $0.postboxId) } + page.unreadable.map { ($0.id, $0.postboxId) }
        return letters.filter { means(postbox: $0.1) }.map(\.0)
    }

    func means(postbox: String) -> Bool { if case .postboxes(let ids) = self { ids.contains(postbox) } else { true } }

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

/// A page of the wanted letters of a list. The next page begins at a place in the list rather than at a count, so that
/// each letter is on one page even if letters are added or deleted in between.
struct InboxPage {
    private let limit: Int
    private let isWanted: (PostboxMessage) -> Bool
    private(set) var output = ListOutput<PostboxMessage>(items: [], nextToken: nil)

    init(limit: Int, where isWanted: @escaping (PostboxMessage) -> Bool) {
        self.limit = limit
        self.isWanted = isWanted
    }

    /// Takes in the next page of the full list; returns the token to continue with, or nil when the page is complete.
    mutating func take(_ page: ListOutput<PostboxMessage>) -> String? {
        let unreadable = page.unreadable.filter { isWanted(PostboxMessage($0)) }
        for letter in page.items where isWanted(letter) {
            guard output.items.count == limit else {
                output.items.append(letter)
                continue
            }
            // The first letter too many is where the next page begins.
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

struct InboxSelectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only letters of this postbox.", valueName: "id"))
    var postbox: String?

    @Option(help: ArgumentHelp("Only letters to this persona's postboxes.", valueName: "id"))
    var sudoId: String?

    var isAll: Bool { postbox == nil && sudoId == nil }

    /// The selected letters. The network's host, which may be slow or away, is asked only if an option is given.
    ///
    /// - Parameter plan: nil for commands that do more than read, which must not rely on stored postboxes.
    func selection(_ client: RelayClient, orKept plan: ConnectionPlan? = nil) async throws -> InboxSelection {
        if isAll { return .all }
        let known: [Postbox]? =
            if let sudoId {
                try await client.postboxes(of: sudoId, orKept: plan)
            } else {
                // Optional, since an identifier needs no lookup.
                try? await client.postboxes()
            }
        return try InboxSelection(postbox: postbox, persona: sudoId, among: known)
    }

    /// Whether a stored letter is selected, as far as this machine knows.
    func means(_ letter: PostboxMessage) -> Bool {
        (postbox ?? letter.postboxId) == letter.postboxId && (sudoId ?? letter.sudoId) == letter.sudoId
    }
}

extension RelayClient {
    /// The user's postboxes, to look up a persona's. If the network does not answer, falls back to the stored ones if
    /// the persona has one of them, and says how old they are.
    nonisolated func postboxes(of persona: String, orKept plan: ConnectionPlan?) async throws -> [Postbox] {
        do throws(RelayError) { return try await postboxes() } catch {
            // The caller learns a moment later why the session has ended.
            if case .connection = error { throw error }
            let failure = explained(error)
            guard failure.meansNoAnswer else { throw failure }
            var kept: KeptPostboxes?
            await StoreAccess.readKept(plan) { kept = try await $0.postboxes() }
            guard let kept, kept.items.contains(where: { $0.sudoId == persona }) else { throw failure }
            Output.complain(
                "parley: no answer from the network; the persona's postboxes are those stored here, as of "
                    + kept.asOf.iso8601)
            return kept.items
        }
    }

    /// A page of the selected letters; see ``listMessages(limit:nextToken:)``.
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
    /// The letter, attributed to the requested persona if it is in one of its postboxes and the network only names the
    /// owner.
    func belonging(to persona: String?, by selection: InboxSelection) -> PostboxMessage {
        guard let persona, sudoId == ownerId, selection.means(postbox: postboxId) else { return self }
        var letter = self
        letter.sudoId = persona
        return letter
    }
}
