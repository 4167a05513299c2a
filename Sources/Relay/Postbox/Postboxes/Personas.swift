/// To which persona (Sudo) each of the user's postboxes belongs, as the network has said over one connection, as a
/// value. A postbox keeps its persona for as long as it is there.
///
/// The network's host may be slow, or away for a while. Letters wait for it once; after that they have the persona that
/// their postbox had when the host last spoke, until it does again.
struct Personas: Sendable {
    private var owner: String?
    private var known: [String: String] = [:]
    /// As it was over earlier connections, or at an earlier start.
    private var remembered: [String: String] = [:]
    /// Whether this machine's memory was looked through.
    private var hasLooked = false
    /// Whether letters are to wait for the network's answer: it has not failed to come.
    private(set) var isAnswerExpected = true
    private var isAskedAside = false

    /// Another connection begins: what is known is to be confirmed.
    mutating func reconnect() {
        remembered.merge(known) { $1 }
        (known, isAnswerExpected, isAskedAside) = ([:], true, false)
    }

    /// The postboxes of letters of which it is not known yet.
    func unknownPostboxes(of letters: [PostboxMessage]) -> Set<String> {
        Set(letters.lazy.map(\.postboxId).filter { known[$0] == nil })
    }

    /// Takes in what the network says.
    ///
    /// - Parameters:
    ///   - postboxes: all of the user's.
    ///   - asked: those that were asked about. One that is not among the others is gone, and nobody asks for it again.
    ///   - owner: the user, to whom the letters of such a postbox belong.
    mutating func take(_ postboxes: [Postbox], asked: Set<String>, owner: String) {
        belong(to: owner)
        isAnswerExpected = true
        for postbox in postboxes { known[postbox.id] = postbox.sudoId }
        for id in asked where known[id] == nil { known[id] = owner }
    }

    /// Takes in whose postboxes they are: another user's are none of theirs.
    private mutating func belong(to owner: String) {
        guard self.owner != owner else { return }
        if self.owner != nil { (known, remembered, hasLooked) = ([:], [:], false) }
        self.owner = owner
    }

    // MARK: Without an answer

    /// The network has not answered.
    mutating func expectNoAnswer() { isAnswerExpected = false }

    /// Whether the network is to be asked while no letter waits; it is when it is not being asked already.
    mutating func beginAskingAside() -> Bool {
        defer { isAskedAside = true }
        return !isAskedAside
    }

    /// It has answered, or not in time.
    mutating func endAskingAside() { isAskedAside = false }

    /// Whether what this machine keeps of the postboxes would tell more of these letters; it is asked for once.
    mutating func needsMemory(for letters: [PostboxMessage]) -> Bool {
        guard !hasLooked, letters.contains(where: { known[$0.postboxId] == nil && remembered[$0.postboxId] == nil })
        else { return false }
        hasLooked = true
        return true
    }

    /// Takes in what this machine keeps.
    mutating func remember(_ postboxes: [Postbox], of owner: String) {
        belong(to: owner)
        for postbox in postboxes where remembered[postbox.id] == nil { remembered[postbox.id] = postbox.sudoId }
    }

    /// Letters with what is known.
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
