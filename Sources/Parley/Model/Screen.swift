import Terminal

struct Screen: Equatable, Sendable {
    var view = MainView.welcome
    /// The views that Escape returns to, last one first.
    var trail: [MainView] = []
    var focus = Focus.compose
    var chord: [Key] = []
    /// Whether ^C was just pressed on an empty compose pane.
    var quitIsArmed = false
    var marks = Marks()
    var sidebar = Sidebar()
    var overlay: Overlay?
    /// The tour; nil if it is done, or not the user's first run.
    var tour: Tour?
    var visits: [Place] = []
    /// The jump between unread topics, until the user goes elsewhere.
    var jump: Jump?
    var choices: [PaletteItem.Target] = []
    var title = ""
    var titleWords: ChatModel.TitleWords?
    /// Whether news arrives faster than the screen can take it.
    var isBehind = false

    /// The view, or the one below the reader if that is open.
    var viewBelowReader: MainView { view.reader == nil ? view : trail.last { $0.reader == nil } ?? view }

    struct Marks: Equatable, Sendable {
        var selection: ChatModel.Selection?
        /// The selection when the text was begun, for a command that refers to it.
        var selectionBeforeText: ChatModel.Selection?
        /// The message that a jump led to, where the keys begin until one is selected.
        var landing: ChatModel.Selection?
        var find: ChatModel.Find?
        /// The find when the text was begun, for a command that continues it.
        var findBeforeText: ChatModel.Find?
        var found: FoundMark?
    }
}

/// The sidebar's cursor and scroll, in rows of `sidebarRow(at:)`.
struct Sidebar: Hashable, Sendable {
    var cursor = 0
    var firstVisible = 0
    /// Whether the user has folded or unfolded it; nil for the configuration's setting. Folded, it gives its space to
    /// the main pane until it has the focus.
    var foldChoice: Bool?
}

/// A series of jumps between unread topics.
struct Jump: Hashable, Sendable {
    /// Where it began, and finally returns to.
    let origin: Place
    let present: Place
}

/// What covers the panes. It is read often in each event and frame, so large payloads are indirect.
enum Overlay: Equatable, Sendable {
    case help(scroll: Int)
    /// The members of the topic in view.
    case people(scroll: Int)
    indirect case listing(Listing)
    case log(LogScroll)
    indirect case palette(Palette)
    indirect case question(Question)

    /// Whether it stays open when a key that works everywhere is pressed.
    func survives(_ key: EverywhereKey) -> Bool {
        switch self {
        case .log:
            [.pageUp, .pageDown, .connectionLog, .redraw, .suspend, .quit, .interrupt, .help].contains(key)
        case .palette: [.commands, .quickSwitch, .redraw, .suspend].contains(key)
        // They take every key themselves.
        case .help, .people, .listing, .question: true
        }
    }
}
