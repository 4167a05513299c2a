import Terminal

extension ChatModel {
    /// Lines that one turn of the wheel scrolls.
    private static let wheelLines = 3

    /// Takes in the mouse. Everything that it can do, keys can.
    mutating func handleMouse(_ mouse: MouseEvent) -> [ChatEffect] {
        let place = Position(row: mouse.row, column: mouse.column)
        let layout = layout(on: size)
        guard !layout.isTooSmall else { return [] }
        switch mouse.kind {
        case .scrollUp: return turnWheel(at: place, layout, up: Self.wheelLines)
        case .scrollDown: return turnWheel(at: place, layout, up: -Self.wheelLines)
        case .press where mouse.button == .left: return click(at: place, layout)
        case .press, .release, .drag: return []
        }
    }

    private mutating func turnWheel(at place: Position, _ layout: ScreenLayout, up lines: Int) -> [ChatEffect] {
        if case .help(let scroll)? = overlay {
            overlay = .help(scroll: min(max(0, scroll - lines), max(0, HelpText.lines.count - 1)))
            return []
        }
        guard overlay == nil || logScroll != nil else { return [] }
        if logScroll != nil, layout.sidebar?.contains(place) != true {
            scrollLog(up: lines)
            return []
        }
        if let area = layout.sidebar, area.contains(place) {
            closeLog()
            pane = .sidebar
            sidebar.cursor = min(max(1, sidebar.cursor - lines), sidebarCount - 1)
            return []
        }
        return scroll(up: lines)
    }

    private mutating func click(at place: Position, _ layout: ScreenLayout) -> [ChatEffect] {
        if case .help? = overlay { overlay = nil }
        if logScroll != nil, layout.main.contains(place) { return [] }
        closeLog()
        guard overlay == nil else { return [] }
        if let area = layout.sidebar, area.contains(place) {
            let row = sidebar.firstVisible + place.row - area.row
            guard let target = sidebarRow(at: row), target.isSelectable else {
                pane = .sidebar
                return []
            }
            sidebar.cursor = row
            return openSidebarRow(row)
        }
        if layout.compose.contains(place) {
            pane = .compose
        } else if layout.main.contains(place) {
            pane = .main
            if case .inbox = view { clickLetter(at: place, layout) }
        }
        return []
    }

    /// A click selects a letter, a second one opens it; one on the mark column marks it.
    private mutating func clickLetter(at place: Position, _ layout: ScreenLayout) {
        let table = InboxLayout(model: self, area: layout.main).table
        let index = inbox.firstVisible + place.row - table.row
        guard table.contains(place), inbox.letters.indices.contains(index) else { return }
        if place.column - table.column < InboxLayout.markColumns {
            let id = inbox.letters[index].id
            if inbox.marked.remove(id) == nil { inbox.marked.insert(id) }
            inbox.selected = index
        } else if inbox.selected == index {
            inbox.openSelected()
        } else {
            inbox.selected = index
            if inbox.open != nil { inbox.openSelected() }
        }
    }
}
