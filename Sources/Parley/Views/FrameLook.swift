import Relay
import Terminal

/// All that the parts of a frame are made of which a key that is typed into the text leaves as they are: the title, the
/// conversation in view, the sidebar and the first steps. Where it is the same, these parts are.
struct FrameLook: Equatable {
    private let layout: ScreenLayout
    private let theme: Theme
    private let keys: KeyMap
    private let zone: DisplayZone
    // The title.
    private let identity: ChatModel.Identity
    private let isAway: Bool
    private let status: StatusText
    private let counts: TitleLine.Counts
    // The conversation.
    private let name: String
    private let heading: String
    private let typists: [String]
    /// The present year; dates of others name theirs.
    private let year: Int
    private let focus: Focus
    private let selection: ChatModel.Selection?
    private let find: ChatModel.Find?
    private let found: FoundMark?
    // The sidebar.
    private let conversations: UInt64
    private let resting: Set<String>
    private let writing: UInt64
    private let sidebar: ChatModel.Sidebar
    private let boxes: [Postbox]
    private let letters: [Int]
    private let tour: Tour?

    /// - Returns: nil where something else than a conversation is in view, which is drawn anew each time.
    init?(_ frame: Frame) {
        guard case .conversation(let name) = frame.model.view, frame.model.logScroll == nil, !frame.layout.isTooSmall,
            let conversation = frame.model.conversations.named(name)
        else { return nil }
        layout = frame.layout
        theme = frame.theme
        keys = frame.model.settings.keys
        zone = frame.model.zone
        identity = frame.model.identity
        isAway = frame.model.people.own != .here
        status = frame.statusText
        counts = frame.counts
        self.name = name
        heading = frame.headingWords(conversation)
        typists = frame.typists(in: conversation)
        year = CivilTime(frame.model.now.wall, zone: frame.model.zone).year
        focus = frame.model.focus
        selection = frame.model.selection
        find = frame.model.find
        found = frame.model.found
        conversations = frame.model.conversations.changes.number
        resting = frame.model.restingTopics
        writing = frame.model.writing.changes.number
        sidebar = frame.model.sidebar
        boxes = frame.model.inbox.boxes
        letters = frame.layout.sidebar.map { frame.model.lettersInSidebar(rows: $0.rows) } ?? []
        tour = frame.model.overlay == nil ? frame.model.tour : nil
    }
}

/// The parts of the frame drawn last that a key mostly leaves as they are, so that the next frame begins with them. It
/// holds nothing that the model does not say: a frame drawn with it is the frame drawn without.
final class LastFrame {
    private var look: FrameLook?
    private var canvas: Canvas?
    /// The text that the frame shows, where there is room behind it in its row; nil otherwise.
    private var text: WrittenText?

    /// The parts as they were drawn for the same look; nil where the last one was another.
    func canvas(for look: FrameLook) -> Canvas? { look == self.look ? canvas : nil }

    /// Keeps the parts for the next frame.
    func keep(_ canvas: Canvas, for look: FrameLook) { (self.look, self.canvas) = (look, canvas) }

    /// Keeps what of the text is shown.
    func keep(_ text: WrittenText?, hasRoom: Bool) { self.text = hasRoom ? text : nil }

    /// Whether the cursor is on the screen where the next character of a text will stand.
    func shows(_ text: WrittenText?) -> Bool { text != nil && text == self.text }
}
