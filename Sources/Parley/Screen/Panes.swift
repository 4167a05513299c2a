enum Panes {
    /// All panes, in the order of the help.
    static let all: [any Pane.Type] = [
        ComposePane.self, SidebarPane.self, ConversationPane.self, InboxPane.self, SearchPane.self,
        ExcerptPane.self, ReaderPane.self, LogPane.self, LabPane.self, PalettePane.self,
    ]
}

/// What the main pane shows, with the state of that pane. Every event and every frame read it often, so that what is
/// large is indirect.
enum MainView: Equatable, Sendable {
    case welcome
    case conversation(String)
    /// The letters of one postbox, by its id, or of all.
    case inbox(String?)
    indirect case search(Search)
    indirect case excerpt(Excerpt)
    /// A message in full, over what `trail` leads back to.
    indirect case reader(Reader)
    /// The lab, whose state is in the model: it goes on while it is out of view.
    case lab

    var pane: any Pane {
        switch self {
        case .welcome: ConversationPane(name: nil)
        case .conversation(let name): ConversationPane(name: name)
        case .inbox(let box): InboxPane(box: box)
        case .search(let search): SearchPane(search: search)
        case .excerpt(let excerpt): ExcerptPane(excerpt: excerpt)
        case .reader(let reader): ReaderPane(reader: reader)
        case .lab: LabPane()
        }
    }

    /// Whether it covers what the trail leads back to, and is no place of its own.
    var liesOver: Bool {
        switch self {
        case .search, .excerpt, .reader, .lab: true
        case .welcome, .conversation, .inbox: false
        }
    }

    /// The place that it shows; nil for what covers one, and for the welcome.
    var place: Place? {
        switch self {
        case .conversation(let name): .topic(name)
        case .inbox(let box): .letters(box)
        case .welcome, .search, .excerpt, .reader, .lab: nil
        }
    }

    var topic: String? { if case .conversation(let name) = self { name } else { nil } }

    var isInbox: Bool { if case .inbox = self { true } else { false } }

    /// The search results, if it shows these.
    var search: Search? {
        get { if case .search(let search) = self { search } else { nil } }
        set { if let newValue { self = .search(newValue) } }
    }

    /// The excerpt around a message that was found, if it shows one.
    var excerpt: Excerpt? {
        get { if case .excerpt(let excerpt) = self { excerpt } else { nil } }
        set { if let newValue { self = .excerpt(newValue) } }
    }

    var reader: Reader? {
        get { if case .reader(let reader) = self { reader } else { nil } }
        set { if let newValue { self = .reader(newValue) } }
    }

    /// The conversation that it shows, all of it or an excerpt.
    var conversation: String? { topic ?? excerpt?.conversation.name }

    /// Whether it shows a conversation or, if `isInExcerpt`, an excerpt of it.
    func isPart(of conversation: String, inExcerpt isInExcerpt: Bool) -> Bool {
        self.conversation == conversation && (excerpt != nil) == isInExcerpt
    }
}

/// The part of the screen that takes keys, whether or not the terminal has the focus.
enum Focus: Hashable, Sendable, CaseIterable {
    case compose, sidebar, main

    /// The part that Tab goes to.
    var next: Focus {
        switch self {
        case .compose: .sidebar
        case .sidebar: .main
        case .main: .compose
        }
    }

    /// The part that Shift-Tab goes to.
    var previous: Focus { next.next }
}

extension ChatModel {
    /// The pane in the main part of the screen. The connection log covers any other.
    var mainPane: any Pane {
        if let logScroll { return LogPane(edge: logScroll) }
        return screen.view.pane
    }

    /// The pane that takes keys. While the connection log is open it also takes those of the text.
    var pane: any Pane {
        if let palette { return PalettePane(palette: palette) }
        if logScroll != nil { return mainPane }
        switch screen.focus {
        case .compose: return ComposePane()
        case .sidebar: return SidebarPane()
        case .main: return mainPane
        }
    }
}
