import NIOConcurrencyHelpers

/// To which persona (Sudo) each of the user's postboxes belongs, as the network has said over one connection. A postbox
/// keeps its persona for as long as it is there.
///
/// The network's host may be slow, or away for a while. Letters wait for it once; after that they have the persona that
/// their postbox had when the host last spoke, until it does again.
final class Personas: Sendable {
    private struct State {
        var owner: String?
        var known: [String: String] = [:]
        /// As it was over earlier connections, or at an earlier start.
        var remembered: [String: String] = [:]
        /// Whether this machine's memory was looked through.
        var hasLooked = false
        var isAnswerExpected = true
        var isAskingAside = false

        /// Takes in whose postboxes they are: another user's are none of theirs.
        mutating func belong(to owner: String) {
            guard self.owner != owner else { return }
            let isFirst = self.owner == nil
            self.owner = owner
            if !isFirst { (known, remembered, hasLooked) = ([:], [:], false) }
        }
    }

    private let state: NIOLockedValueBox<State>

    /// For the first connection, on which nothing is known.
    init() { state = NIOLockedValueBox(State()) }

    /// For the connection behind another one: what is known of that is to be confirmed.
    init(after earlier: Personas) {
        let before = earlier.state.withLockedValue(\.self)
        state = NIOLockedValueBox(
            State(
                owner: before.owner, remembered: before.remembered.merging(before.known) { $1 },
                hasLooked: before.hasLooked))
    }

    /// The postboxes of letters of which it is not known yet.
    func unknownPostboxes(of letters: [PostboxMessage]) -> Set<String> {
        let known = state.withLockedValue(\.known)
        return Set(letters.lazy.map(\.postboxId).filter { known[$0] == nil })
    }

    /// Takes in what the network says.
    ///
    /// - Parameters:
    ///   - postboxes: all of the user's.
    ///   - asked: those that were asked about. One that is not among the others is gone, and nobody asks for it again.
    ///   - owner: the user, to whom the letters of such a postbox belong.
    func take(_ postboxes: [Postbox], asked: Set<String>, owner: String) {
        state.withLockedValue { state in
            state.belong(to: owner)
            state.isAnswerExpected = true
            for postbox in postboxes { state.known[postbox.id] = postbox.sudoId }
            for id in asked where state.known[id] == nil { state.known[id] = owner }
        }
    }

    // MARK: Without an answer

    /// Whether letters are to wait for the network's answer: it has not failed to come.
    var isAnswerExpected: Bool { state.withLockedValue(\.isAnswerExpected) }

    /// The network has not answered.
    func expectNoAnswer() { state.withLockedValue { $0.isAnswerExpected = false } }

    /// Whether the network is to be asked while no letter waits; it is when it is not being asked already.
    func beginAskingAside() -> Bool {
        state.withLockedValue { state in
            defer { state.isAskingAside = true }
            return !state.isAskingAside
        }
    }

    /// It has answered, or not in time.
    func endAskingAside() { state.withLockedValue { $0.isAskingAside = false } }

    /// Whether what this machine keeps of the postboxes would tell more of these letters; it is asked for once.
    func needsMemory(for letters: [PostboxMessage]) -> Bool {
        state.withLockedValue { state in
            let isNeeded = letters.contains {
                state.known[$0.postboxId] == nil && state.remembered[$0.postboxId] == nil
            }
            guard isNeeded, !state.hasLooked else { return false }
            state.hasLooked = true
            return true
        }
    }

    /// Takes in what this machine keeps.
    func remember(_ postboxes: [Postbox], of owner: String) {
        state.withLockedValue { state in
            state.belong(to: owner)
            for postbox in postboxes where state.remembered[postbox.id] == nil {
                state.remembered[postbox.id] = postbox.sudoId
            }
        }
    }

    /// Letters with what is known.
    func assigned(to letters: [PostboxMessage], of owner: String) -> [PostboxMessage] {
        let (known, remembered) = state.withLockedValue { state in
            state.belong(to: owner)
            return (state.known, state.remembered)
        }
        return letters.map { letter in
            let persona = known[letter.postboxId] ?? remembered[letter.postboxId]
            guard let persona, persona != letter.sudoId else { return letter }
            var letter = letter
            letter.sudoId = persona
            return letter
        }
    }
}
