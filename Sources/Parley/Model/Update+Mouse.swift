import Terminal

extension ChatModel {
    private static let wheelLines = 3

    /// Handles the mouse, which can do nothing that keys cannot.
    func handleMouse(_ mouse: MouseEvent) -> ChatEffects {
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

    private func turnWheel(at place: Position, _ layout: ScreenLayout, up lines: Int) -> ChatEffects {
        func scrolled(_ scroll: Int, in list: HelpLayout) -> Int {
            min(max(0, min(scroll, list.lastScroll) - lines), list.lastScroll)
        }
        switch screen.overlay {
        case .help(let scroll):
            screen.overlay = .help(scroll: scrolled(scroll, in: HelpLayout(size: size, keys: settings.keys)))
        case .people(let scroll):
            let list = HelpLayout(size: size, lines: network.people.lines(for: network.identity.user))
            screen.overlay = .people(scroll: scrolled(scroll, in: list))
        case .listing(var listing):
            listing.scroll = scrolled(listing.scroll, in: HelpLayout(size: size, lines: listing.lines))
            screen.overlay = .listing(listing)
        case .palette: return pane.scroll(up: lines, on: self)
        case .log, .question, nil: break
        }
        guard screen.overlay == nil || logScroll != nil else { return [] }
        guard layout.sidebar?.contains(place) == true else { return mainPane.scroll(up: lines, on: self) }
        closeLog()
        screen.focus = .sidebar
        return SidebarPane().scroll(up: lines, on: self)
    }

    private func click(at place: Position, _ layout: ScreenLayout) -> ChatEffects {
        switch screen.overlay {
        case .help, .people, .listing: screen.overlay = nil
        case .palette: return pane.click(at: place, layout, on: self)
        case .log, .question, nil: break
        }
        if logScroll != nil, layout.main.contains(place) { return [] }
        closeLog()
        guard screen.overlay == nil else { return [] }
        if layout.sidebar?.contains(place) == true {
            screen.focus = .sidebar
            return SidebarPane().click(at: place, layout, on: self)
        }
        if layout.compose.contains(place) {
            screen.focus = .compose
        } else if layout.main.contains(place) {
            screen.focus = .main
            return screen.view.pane.click(at: place, layout, on: self)
        }
        return []
    }
}
