/// The persona (Sudo) of each of the user's postboxes, as the network has reported over one connection, as a value. A
/// postbox never changes its persona.
///
/// The network's host may be slow, or away for a while. Letters wait for it once; after that they get the last reported
/// persona of their postbox until the host answers again.
struct Personas: Sendable {
    private var owner: String?
    private var known: [String: String] = [:]
    /// Personas from earlier connections or an earlier start.
    private var remembered: [String: String] = [:]
    /// Whether this machine's store was consulted.
    private var hasLooked = false
    /// Whether letters wait for the network's answer: it has not failed to arrive.
    private(set) var isAnswerExpected = true
    private var isAskedAside = false

    /// A new connection begins: known personas must be confirmed.
    mutating func reconnect() {
        remembered.merge(known) { $1 }
        (known, isAnswerExpected, isAskedAside) = ([:], true, false)
    }

    /// The postboxes of these letters whose persona is unknown.
    func unknownPostboxes(of letters: [PostboxMessage]) -> Set<String> {
        Set(letters.lazy.map(\.postboxId).filter { known[$0] == nil })
    }

    /// Handles the network's answer.
    ///
    /// - Parameters:
    ///   - postboxes: All of the user's.
    ///   - asked: Those that were asked about. A missing one is gone, and is not asked for again.
    ///   - owner: The user, who owns the letters of such a postbox.
    mutating func take(_ postboxes: [Postbox], asked: Set<String>, owner: String) {
        belong(to: owner)
        isAnswerExpected = true
        for postbox in postboxes { known[postbox.id] = postbox.sudoId }
        for id in asked where known[id] == nil { known[id] = owner }
    }

    /// Sets the owner of the postboxes; another user's are dropped.
    private mutating func belong(to owner: String) {
        guard self.owner != owner else { return }
        if self.owner != nil { (known, remembered, hasLooked) = ([:], [:], false) }
        self.owner = owner
    }

    // MARK: Without an answer

    /// The network has not answered.
    mutating func expectNoAnswer() { isAnswerExpected = false }

    /// Whether to ask the network while no letter waits: unless it is being asked already.
    mutating func beginAskingAside() -> Bool { !exchange(&isAskedAside, with: true) }

    /// It has answered or timed out.
    mutating func endAskingAside() { isAskedAside = false }

    /// Whether the postboxes stored on this machine might tell more about these letters; they are read once.
    mutating func needsMemory(for letters: [PostboxMessage]) -> Bool {
        guard !hasLooked, letters.contains(where: { known[$0.postboxId] == nil && remembered[$0.postboxId] == nil })
        else { return false }
        hasLooked = true
        return true
    }

    /// Adds the postboxes stored on this machine.
    mutating func remember(_ postboxes: [Postbox], of owner: String) {
        belong(to: owner)
        for postbox in postboxes where remembered[postbox.id] == nil { remembered[postbox.id] = postbox.sudoId }
    }

    /// The letters with their known personas.
    mutating func assigned(to letters: [PostboxMessage], of owner: String) -> [PostboxMessage] {
        belong(to: owner)
        return letters.map { letter in
            let persona = known[letter.postboxId] ?? remembered[letter.postboxId]
            guard let persona, persona != letter.sudoId else { return letter }
            var letter = letter
            letter.sudoId = persona
            return letter
        }
    }
}
