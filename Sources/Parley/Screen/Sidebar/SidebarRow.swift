import Relay

enum SidebarRow: Hashable, Sendable {
    /// The heading of the topics; beside other networks, that of their network.
    case topicsHeading
    /// A joined topic, by its index in the list, wherever it is shown.
    case topic(Int)
    /// The heading of the postboxes; it opens the letters of all of them.
    case allLetters
    /// One postbox, by its place in the list.
    case postbox(Int)
    /// The heading of another network's chat, by its place in the window.
    case chat(Int)
    /// A topic of another network, by its place there.
    case topicElsewhere(chat: Int, Int)
    /// The letters of another network.
    case lettersElsewhere(chat: Int)

    var isSelectable: Bool { self != .topicsHeading }
}

extension ChatModel {
    var sidebarCount: Int { window.others.reduce(ownSidebarCount) { $0 + $1.chat.rows } }

    private var ownSidebarCount: Int { network.conversations.count + network.inbox.boxes.count + 2 }

    /// The number of rows of networks above this one.
    var sidebarStart: Int { window.chats.prefix(window.place).reduce(0) { $0 + $1.rows } }

    func sidebarHeading(of chat: Int) -> Int {
        window.chats.prefix(chat).enumerated().reduce(0) { rows, next in
            rows + (next.offset == window.place ? ownSidebarCount : next.element.rows)
        }
    }

    func sidebarRow(at index: Int) -> SidebarRow? {
        guard window.chats.count > 1 else { return ownSidebarRow(at: index) }
        var index = index
        guard index >= 0 else { return nil }
        for (place, chat) in window.chats.enumerated() {
            let rows = place == window.place ? ownSidebarCount : chat.rows
            guard index >= rows else {
                if place == window.place { return ownSidebarRow(at: index) }
                if index == 0 { return .chat(place) }
                return index == rows - 1 ? .lettersElsewhere(chat: place) : .topicElsewhere(chat: place, index - 1)
            }
            index -= rows
        }
        return nil
    }

    private func ownSidebarRow(at index: Int) -> SidebarRow? {
        let heading = network.conversations.count + 1
        if index < 0 || index >= ownSidebarCount { return nil }
        if index == 0 { return .topicsHeading }
        if index < heading { return network.conversations.index(at: index - 1).map { .topic($0) } }
        return index == heading ? .allLetters : .postbox(index - heading - 1)
    }

    /// The row of what is shown, or else of what that covers; nil if neither has one.
    var shownSidebarIndex: Int? {
        var view = screen.viewBelowReader
        if view.liesOver, ownSidebarIndex(of: view) == nil, let origin = screen.trail.first { view = origin }
        return ownSidebarIndex(of: view).map { sidebarStart + $0 }
    }

    private func ownSidebarIndex(of view: MainView) -> Int? {
        let heading = network.conversations.count + 1
        switch view.place {
        case .topic(let name): return (network.conversations.place(of: name) ?? 0) + 1
        case .letters(let box):
            return network.inbox.boxes.firstIndex { $0.id == box }.map { heading + 1 + $0 } ?? heading
        case nil: return view.excerpt.flatMap { network.conversations.place(of: $0.conversation.name) }.map { $0 + 1 }
        }
    }

    /// The nearest row in a direction that the cursor can be on; `index` itself if there is none.
    func sidebarRow(from index: Int, by step: Int) -> Int {
        var next = index + step
        while let row = sidebarRow(at: next) {
            if row.isSelectable { return next }
            next += step
        }
        return index
    }
}
