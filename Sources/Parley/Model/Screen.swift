import Terminal

/// What is in front of the person, and where they are in it.
struct Screen: Equatable, Sendable {
    var view = MainView.welcome
    /// What Escape leads back to, the last one first to come.
    var trail: [MainView] = []
    var focus = Focus.compose
    /// The keys of a chord that were pressed; more have to follow.
    var chord: [Key] = []
    /// Whether ^C was pressed just now on an empty compose pane.
    var quitIsArmed = false
    var marks = Marks()
    var sidebar = Sidebar()
    /// What lies over the panes.
    var overlay: Overlay?
    /// The first steps; nil where they are done, or the person was here before.
    var tour: Tour?
    var visits: [Place] = []
    /// The jump from one unread topic to the next, while the person is where it has led.
    var jump: Jump?
    /// What was chosen last in the palette, the newest first.
    var choices: [PaletteItem.Target] = []
    /// The last title given to the terminal.
    var title = ""
    /// What that was made of.
    var titleWords: ChatModel.TitleWords?
    /// Whether more comes than the screen can take.
    var isBehind = false

    /// What is shown; while something is read whole, what that lies over.
    var viewBelowReader: MainView { view.reader == nil ? view : trail.last { $0.reader == nil } ?? view }

    struct Marks: Equatable, Sendable {
        var selection: ChatModel.Selection?
        /// The one that was selected when the text was begun, for a command that is meant for it.
        var selectionBeforeText: ChatModel.Selection?
        /// The one that a jump has led to: the keys begin there, until one is selected.
        var landing: ChatModel.Selection?
        var find: ChatModel.Find?
        /// What was looked for when the text was begun, for a command that goes on with it.
        var findBeforeText: ChatModel.Find?
        var found: FoundMark?
    }
}

/// The sidebar's cursor and scroll, in rows of `sidebarRow(at:)`.
struct Sidebar: Hashable, Sendable {
    var cursor = 0
    var firstVisible = 0
    /// Whether the person has folded it away, so that the main pane has its place until it has the keys, or has had
    /// it shown; nil for what the configuration says.
    var foldChoice: Bool?
}

/// A way from one unread topic to the next.
struct Jump: Hashable, Sendable {
    /// Where it began; it ends there.
    let origin: Place
    /// Where it has led so far.
    let present: Place
}

/// What lies over the panes. Every event and every frame ask for it often, so that what is large stands elsewhere.
enum Overlay: Equatable, Sendable {
    case help(scroll: Int)
    /// Who is in the topic in view.
    case people(scroll: Int)
    indirect case listing(Listing)
    case log(LogScroll)
    indirect case palette(Palette)
    indirect case question(Question)

    /// Whether it is still open when a key of everywhere does its work.
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
