import Relay

enum Place: Hashable, Sendable {
    case topic(String)
    /// The letters of one postbox, by its id, or of all.
    case letters(String?)
}

struct PaletteItem: Hashable, Sendable {
    enum Target: Hashable, Sendable {
        case command(SlashCommand.Entry)
        case everywhere(EverywhereKey)
        case editing(EditingKey)
        /// An action of a pane's table of keys: the table's name, and the action's place there.
        case own(table: String, Int)
        case place(Place)
        /// Where a person was last seen.
        case line(topic: String, RowPosition)
        case person(String)
        case elsewhere(chat: Int, ChatDestination)
    }

    let target: Target
    let title: String
    /// The description; it is searched as well.
    var detail = ""
    /// The note on the right: the keys, or where a person was seen.
    var note = ""
}

extension PaletteItem {
    fileprivate init(_ target: Target, _ entry: KeyMap.Entry, detail: String) {
        self.init(target: target, title: entry.binding.words, detail: detail, note: entry.note)
    }
}

extension KeyMap.Entry {
    fileprivate var note: String { sequences.isEmpty ? "" : label }
}

extension EverywhereKey {
    /// The command that is listed in place of the key. Some keys are listed beside theirs, with their own words.
    fileprivate var listedAs: String? { [Self.openPostbox, .nextUnread, .readWhole].contains(self) ? nil : command }

    static func stand(for entry: SlashCommand.Entry) -> Bool {
        allCases.contains { $0.listedAs == entry.name }
    }
}

extension ChatModel {
    /// Every command and every key's action, from the tables that dispatch them: recent choices, the commands, the keys
    /// that work everywhere, those of the panes shown, and those of others.
    func commandItems() -> [PaletteItem] {
        let keys = settings.keys
        let everywhere = Array(zip(EverywhereKey.allCases, keys[EverywhereKey.self].entries))
        let edit = zip(ComposePane.Action.allCases, keys[ComposePane.Action.self].entries).first { $0.0 == .edit }?.1
        let commands = SlashCommand.entries.map { entry in
            let key = everywhere.first { $0.0.command == entry.name }?.1 ?? (entry.name == "edit" ? edit : nil)
            return PaletteItem(
                target: .command(entry), title: entry.usage, detail: entry.words, note: key?.note ?? "")
        }
        let actions = everywhere.filter { $0.0 != .commands && $0.0.listedAs == nil }.compactMap(item)
        // Outside the lab its many keys do nothing.
        let panes = Panes.all.filter { pane in
            pane != PalettePane.self && (pane != LabPane.self || screen.view == .lab)
        }
        let sorted = panes.filter { isShown($0) } + panes.filter { !isShown($0) }
        func items<P: Pane>(of pane: P.Type) -> [PaletteItem] {
            keys[P.Action.self].entries.enumerated().map { place, entry in
                PaletteItem(.own(table: P.Action.tableName, place), entry, detail: pane.title)
            }
        }
        let editing = zip(EditingKey.allCases, keys[EditingKey.self].entries).map { action, entry in
            PaletteItem(.editing(action), entry, detail: EditingKey.title)
        }
        let all = commands + actions + sorted.flatMap { items(of: $0) } + editing
        let again = screen.choices.compactMap { choice in all.first { $0.target == choice } }
        return again + all.filter { !screen.choices.contains($0.target) }
    }

    /// The item of a key that works everywhere; nil for one that has nothing to go to.
    private func item(_ action: EverywhereKey, _ entry: KeyMap.Entry) -> PaletteItem? {
        guard let number = action.topicNumber else { return PaletteItem(.everywhere(action), entry, detail: "") }
        return network.conversations.shown(at: number - 1).map {
            PaletteItem(.everywhere(action), entry, detail: $0.name)
        }
    }

    /// Whether a pane is shown, so that its keys work.
    private func isShown(_ pane: any Pane.Type) -> Bool {
        pane == ComposePane.self || pane == SidebarPane.self || pane == type(of: screen.view.pane)
    }

    private static let choiceLimit = 5

    func noteChoice(_ target: PaletteItem.Target) {
        screen.choices.removeAll { $0 == target }
        screen.choices.insert(target, at: 0)
        if screen.choices.count > Self.choiceLimit { screen.choices.removeLast() }
    }

    /// Where one can go: places visited, the last one first; then topics with mentions; then others with unread
    /// messages; then the rest; then people.
    func placeItems() -> [PaletteItem] {
        var known: [Place: PaletteItem] = [:]
        var order: [Place] = []
        func add(_ place: Place, _ title: String, _ detail: String = "") {
            known[place] = PaletteItem(target: .place(place), title: title, detail: detail)
            order.append(place)
        }
        let topics = network.conversations.all.indices.compactMap { network.conversations.shown(at: $0) }
        for conversation in topics {
            add(.topic(conversation.name), conversation.name, conversation.isPattern ? "pattern" : "")
        }
        add(.letters(nil), "all letters", "postbox")
        for box in network.inbox.boxes { add(.letters(box.id), String(box.fullName.prefix(256)), "postbox") }
        let unread = (topics.filter { !$0.mentions.isEmpty } + topics.filter { $0.unread > 0 }).map {
            Place.topic($0.name)
        }
        var items: [PaletteItem] = []
        for place in Array(screen.visits.dropFirst()) + unread + order {
            if let item = known.removeValue(forKey: place) { items.append(item) }
        }
        for (place, chat) in window.others {
            func add(_ title: String, _ detail: String, _ destination: ChatDestination) {
                items.append(
                    PaletteItem(target: .elsewhere(chat: place, destination), title: title, detail: detail))
            }
            add(chat.name, "network", .last)
            for topic in chat.topics { add(topic.name, "on \(chat.name)", .place(.topic(topic.name))) }
            add("all letters", "on \(chat.name)", .place(.letters(nil)))
        }
        return items + peopleItems()
    }

    /// The most people offered, and the most lines searched for them.
    private static let peopleLimit = 500
    private static let peopleLines = 20_000

    /// People who wrote recently, the latest first. Names are what the senders claim.
    ///
    /// Each is offered twice: to write to, and where the name was last seen. Then come those who have not written here
    /// but are present or have sent a letter.
    private func peopleItems() -> [PaletteItem] {
        let share = max(10, Self.peopleLines / max(1, network.conversations.count))
        var last: [String: (line: StoredLine, conversation: String)] = [:]
        for conversation in network.conversations.all {
            for case .message(let line) in conversation.rows.suffix(share) where !line.isOwn && !line.name.isEmpty {
                if let known = last[line.name], known.line.time > line.time { continue }
                last[line.name] = (line, conversation.name)
            }
        }
        let sorted = last.values.sorted { ($1.line.time, $0.line.name) < ($0.line.time, $1.line.name) }
        let seen = sorted.prefix(Self.peopleLimit).flatMap { seen in
            let clock = CivilTime(seen.line.time, zone: zone).stamp
            let place = PaletteItem(
                target: .line(topic: seen.conversation, .message(seen.line.sequence)),
                title: String(seen.line.name.prefix(64)), detail: "where last seen",
                note: "\(seen.conversation) \(clock)")
            return [writingItem(seen.line.name), place].compactMap(\.self)
        }
        let others = namesToComplete.filter { last[$0] == nil }
        return seen + others.prefix(Self.peopleLimit).compactMap(writingItem)
    }

    /// Writes a letter to a person or, while a text is being written, puts the name into it. Nil for a name that cannot
    /// be written to.
    private func writingItem(_ name: String) -> PaletteItem? {
        guard SlashCommand.isName(name), name != network.identity.user else { return nil }
        let detail =
            compose.hasContent
            ? "put @\(name) into the text" : "write a letter to \(name)/\(SlashCommand.firstPostbox)"
        return PaletteItem(target: .person(name), title: name, detail: detail)
    }

    func go(to place: Place) -> ChatEffects {
        switch place {
        case .topic(let name):
            guard network.conversations.index(of: name) != nil else { return tell("\(name) is not joined any more.") }
            show(.conversation(name))
            screen.focus = .compose
            return []
        case .letters(let box):
            screen.focus = .main
            let isThere = network.inbox.boxes.contains { $0.id == box }
            return openInbox(isThere ? box : nil)
        }
    }

    /// Begins a letter to a person; while a text is being written, puts their name into it.
    func writeTo(_ name: String) {
        guard compose.hasContent else { return write(to: "\(name)/\(SlashCommand.firstPostbox)") }
        screen.focus = .compose
        let before = compose.editor.textBeforeCursor.last
        compose.editor.insert((before.map { $0.isWhitespace } ?? true ? "" : " ") + "@\(name) ")
    }

    func goToTopic(named text: String) -> ChatEffects {
        if let number = Int(text), number > 0 { return goToTopic(number) }
        let name = SlashCommand.topic(fromChannel: text)
        guard network.conversations.index(of: name) != nil else {
            return tell("\(name.prefix(64)) is not joined. /join TOPIC joins a topic, /topics lists yours.", .failure)
        }
        return go(to: .topic(name))
    }

    func goToTopic(_ number: Int) -> ChatEffects {
        guard let topic = network.conversations.shown(at: number - 1) else {
            return tell(network.conversations.isEmpty ? "No topic is joined." : "There is no topic \(number) here.")
        }
        return go(to: .topic(topic.name))
    }

    func goToLine(_ position: RowPosition, in name: String) -> ChatEffects {
        guard let conversation = network.conversations.named(name) else { return go(to: .topic(name)) }
        let back = screen.trail + [screen.view]
        show(.conversation(name))
        scroll(to: layout(of: conversation).showing(position))
        land(at: position, in: name)
        if back != [screen.view] { screen.trail = back }
        screen.focus = .main
        return []
    }

    func goToPreviousPlace() -> ChatEffects {
        let previous = screen.visits.dropFirst().first { place in
            if case .topic(let name) = place { network.conversations.index(of: name) != nil } else { true }
        }
        return previous.map { go(to: $0) } ?? tell("There is nowhere to go back to.")
    }

    private static let visitLimit = 50

    func noteVisit() {
        guard let place = screen.view.place, screen.visits.first != place else { return }
        screen.visits.removeAll { $0 == place }
        screen.visits.insert(place, at: 0)
        if screen.visits.count > Self.visitLimit { screen.visits.removeLast() }
    }
}
