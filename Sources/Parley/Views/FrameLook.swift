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
        let model = frame.model
        guard case .conversation(let name) = model.view, model.logScroll == nil, !frame.layout.isTooSmall,
            let conversation = model.conversations.named(name)
        else { return nil }
        layout = frame.layout
        theme = frame.theme
        keys = model.settings.keys
        zone = model.zone
        identity = model.identity
        isAway = model.people.own != .here
        status = StatusText(model.status, attemptBegan: model.attemptBegan, now: frame.now)
        counts = frame.counts
        self.name = name
        heading = frame.headingWords(conversation)
        typists = frame.typists(in: conversation)
        year = CivilTime(model.now.wall, zone: model.zone).year
        focus = model.focus
        selection = model.selection
        find = model.find
        found = model.found
        conversations = model.conversations.changes.number
        resting = model.restingTopics
        writing = model.writing.changes.number
        sidebar = model.sidebar
        boxes = model.inbox.boxes
        letters = frame.layout.sidebar.map { model.lettersInSidebar(rows: $0.rows) } ?? []
        tour = model.overlay == nil ? model.tour : nil
    }
}

/// The parts of the frame drawn last that a key mostly leaves as they are, so that the next frame begins with them. It holds
/// nothing that the model does not say: a frame drawn with it is the frame drawn without.
final class LastFrame {
    private var look: FrameLook?
    private var canvas: Canvas?

    /// The parts as they were drawn for the same look; nil where the last one was another.
    func canvas(for look: FrameLook) -> Canvas? { look == self.look ? canvas : nil }

    /// Keeps the parts for the next frame.
    func keep(_ canvas: Canvas, for look: FrameLook) { (self.look, self.canvas) = (look, canvas) }
}
