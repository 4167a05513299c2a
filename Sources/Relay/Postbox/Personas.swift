import NIOConcurrencyHelpers

/// To which persona (Sudo) each of the user's postboxes belongs, as the network has said over one connection. A postbox
/// keeps its persona for as long as it is there.
final class Personas: Sendable {
    private let known = NIOLockedValueBox<[String: String]>([:])

    /// The postboxes of letters of which it is not known yet.
    func unknownPostboxes(of letters: [PostboxMessage]) -> Set<String> {
        let known = known.withLockedValue(\.self)
        return Set(letters.lazy.map(\.postboxId).filter { known[$0] == nil })
    }

    /// Takes in what the network says.
    ///
    /// - Parameters:
    ///   - postboxes: all of the user's.
    ///   - asked: those that were asked about. One that is not among the others is gone, and nobody asks for it again.
    ///   - owner: the user, to whom the letters of such a postbox belong.
    func take(_ postboxes: [Postbox], asked: Set<String>, owner: String) {
        known.withLockedValue { known in
            for postbox in postboxes { known[postbox.id] = postbox.sudoId }
            for id in asked where known[id] == nil { known[id] = owner }
        }
    }

    /// Has the network asked again.
    func forget(_ postbox: String) { known.withLockedValue { $0[postbox] = nil } }

    /// Letters with what is known.
    func assigned(to letters: [PostboxMessage]) -> [PostboxMessage] {
        let known = known.withLockedValue(\.self)
        return letters.map { letter in
            guard let persona = known[letter.postboxId], persona != letter.sudoId else { return letter }
            var letter = letter
            letter.sudoId = persona
            return letter
        }
    }
}
