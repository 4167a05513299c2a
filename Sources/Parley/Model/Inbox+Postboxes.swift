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
