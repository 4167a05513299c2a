import Relay

/// One row of the sidebar.
enum SidebarRow: Hashable, Sendable {
    case topicsHeading
    /// A joined topic, by its place in the list.
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
    var sidebarCount: Int { conversations.count + inbox.boxes.count + 2 }

    /// The sidebar's row at `index`; nil outside.
    func sidebarRow(at index: Int) -> SidebarRow? {
        let heading = conversations.count + 1
        if index < 0 || index >= sidebarCount { return nil }
        if index == 0 { return .topicsHeading }
        if index < heading { return .topic(index - 1) }
        return index == heading ? .allLetters : .postbox(index - heading - 1)
    }

    /// The sidebar row of what the main pane shows.
    var sidebarIndexOfView: Int {
        switch view {
        case .welcome:
            return min(1, sidebarCount - 1)
        case .conversation(let name):
            return (conversations.index(of: name) ?? 0) + 1
        case .inbox(let box):
            let heading = conversations.count + 1
            guard let box, let index = inbox.boxes.firstIndex(where: { $0.id == box }) else { return heading }
            return heading + 1 + index
        }
    }

    /// What the main pane shows when the sidebar's row `index` is opened.
    func view(ofSidebarRow index: Int) -> MainView? {
        switch sidebarRow(at: index) {
        case .topic(let place): .conversation(conversations.all[place].name)
        case .allLetters: .inbox(nil)
        case .postbox(let place): .inbox(inbox.boxes[place].id)
        case .topicsHeading, nil: nil
        }
    }
}
