import Relay

/// One row of the sidebar.
enum SidebarRow: Hashable, Sendable {
    case topicsHeading
    /// A joined topic, by its index in the list, wherever it is shown.
    case topic(Int)
    /// The heading of the postboxes; it opens the letters of all of them.
    case allLetters
    /// One postbox, by its place in the list.
    case postbox(Int)

    /// Whether the cursor can be on it.
    var isSelectable: Bool { self != .topicsHeading }
}

extension ChatModel {
    /// How many rows the sidebar has.
    var sidebarCount: Int { network.conversations.count + network.inbox.boxes.count + 2 }

    /// The sidebar's row at `index`; nil outside.
    func sidebarRow(at index: Int) -> SidebarRow? {
        let heading = network.conversations.count + 1
        if index < 0 || index >= sidebarCount { return nil }
        if index == 0 { return .topicsHeading }
        if index < heading { return network.conversations.index(at: index - 1).map { .topic($0) } }
        return index == heading ? .allLetters : .postbox(index - heading - 1)
    }
}
