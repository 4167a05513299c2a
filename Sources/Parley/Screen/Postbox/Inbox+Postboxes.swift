import Relay

// What the person's postboxes are called.
extension Inbox {
    /// What the postbox is called, for its id; the id itself where that is not known.
    func title(ofBox id: String) -> String {
        boxes.first { $0.id == id }?.title ?? id
    }

    /// What the postbox is called, with its name where that is something else; the id itself where neither is known.
    func fullName(ofBox id: String) -> String {
        boxes.first { $0.id == id }?.fullName ?? id
    }

    /// The most postboxes that are shown.
    static let boxLimit = 1_000

    /// The postboxes after one was changed, where the network has not said which there are then.
    func boxes(after act: PostboxAct, _ changed: Postbox) -> [Postbox] {
        let others = boxes.filter { $0.id != changed.id }
        if case .delete = act { return others }
        guard let place = boxes.firstIndex(where: { $0.id == changed.id }) else { return others + [changed] }
        var after = boxes
        after[place] = changed
        return after
    }

    /// Whether the postboxes belong to more than one persona.
    var hasPersonas: Bool {
        guard let first = boxes.first?.sudoId else { return false }
        return boxes.contains { $0.sudoId != first }
    }
}

extension Postbox {
    /// What it is called, and its name where that is something else.
    var fullName: String { hasTitle ? "\(title) (\(name))" : name }
}
