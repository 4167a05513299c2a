import Relay
import Terminal

// Deleting letters: for some seconds it can be undone, then they leave.
extension ChatModel {
    /// Restores what was deleted last, with its marks, unless it has left.
    func undoDeletion() {
        guard let step = network.inbox.deletion.undo() else {
            let isLate = !network.inbox.deletion.isEmpty
            return say(isLate ? "These letters are being deleted already." : "There is nothing to undo.")
        }
        network.inbox.markAgain(step.marks)
        if let first = step.ids.first, let place = network.inbox.letters.firstIndex(where: { $0.id == first }) {
            network.inbox.choose(place)
        }
        say("Restored \(Wording.count(step.ids.count, "letter")).")
    }

    /// Whether a key restores what was deleted, wherever the person has gone meanwhile.
    func undoesDeletion(_ key: Key) -> Bool {
        guard network.inbox.deletion.undoableCount > 0, network.inbox.filter?.isTyped != true else { return false }
        return settings.keys.action(of: key, in: InboxPane.self) == .undo
    }

    /// Asks before the marked letters are deleted, or the selected one if none is marked: how many there are, from
    /// which postboxes, and how many of them are out of view.
    func askToDelete() {
        guard !isStillMarking() else { return }
        guard !network.inbox.marks.isEmpty else { return askToDeleteSelected() }
        let (count, hidden) = (network.inbox.marks.count, network.inbox.marks.count - markedInView)
        let view =
            switch hidden {
            case 0: ""
            case count: count == 1 ? ", which is not in view" : ", none of them in view"
            default: ", \(Wording.grouped(hidden)) of them not in view"
            }
        let ids = network.inbox.lettersToDelete
        ask(.delete(ids), "Delete \(Wording.count(count, "letter"))\(postboxWords(ids))\(view)?")
    }

    func askToDelete(_ number: Int) { if selectLetter(number) { askToDeleteSelected() } }

    private func askToDeleteSelected() {
        guard let letter = network.inbox.selectedLetter, !network.inbox.isBeingDeleted(letter.id) else { return }
        let sender = letter.from.flatMap { $0.isEmpty ? nil : " from \($0.prefix(64))" } ?? ""
        let stamp = CivilTime(letter.createdAt, zone: zone).stamp
        ask(.delete([letter.id]), "Delete the letter\(sender) of \(stamp)?")
    }

    private func postboxWords(_ ids: [String]) -> String {
        let counts = network.inbox.marks(of: ids).values.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        let boxes = counts.map { (title: String(network.inbox.title(ofBox: $0).prefix(64)), count: $1) }
            .sorted { ($1.count, $0.title) < ($0.count, $1.title) }
        guard boxes.count > 1 else { return boxes.first.map { " from \($0.title)" } ?? "" }
        var parts = boxes.prefix(Self.namedPostboxes).map { "\(Wording.grouped($0.count)) from \($0.title)" }
        let others = boxes.dropFirst(Self.namedPostboxes)
        if !others.isEmpty {
            let sum = Wording.grouped(others.reduce(0) { $0 + $1.count })
            parts.append("\(sum) from \(Wording.count(others.count, "other postbox", plural: "other postboxes"))")
        }
        return " (\(parts.joined(separator: ", ")))"
    }

    private static let namedPostboxes = 3

    var hasHiddenMarks: Bool { network.inbox.marks.count != markedInView }

    private var markedInView: Int {
        guard hasScreen else { return network.inbox.markedShown }
        let table = InboxLayout(model: self, area: layout(on: size).main).table
        return network.inbox.letters.dropFirst(network.inbox.firstVisible).prefix(table.rows).count {
            network.inbox.isMarked($0.id)
        }
    }

    /// Stops a deletion after what is with the network; false if none is running.
    func stopDeletion() -> Bool {
        guard network.inbox.deletion.stop() else { return false }
        say("Stopping the deletion.")
        return true
    }
}
