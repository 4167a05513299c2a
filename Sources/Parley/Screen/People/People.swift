import Relay

/// The people in the topic in view, and where others see this person.
struct People: Equatable, Sendable {
    /// The most topics in which others see this person: those looked at last.
    static let placeLimit = 32

    /// This person's presence, as others see it.
    var own = Presence.here
    /// The topic whose people are known, or were asked for.
    private(set) var topic: String?
    private(set) var roster = PresenceRoster.unknown
    private(set) var here = 0
    private(set) var away = 0
    /// The names of those typing there, at most `typistLimit`: no one reads more.
    private(set) var typists: [String] = []
    static let typistLimit = 100
    private var recent: [String] = []
    /// The topics in which others see this person, as the core was told.
    private(set) var places: Set<String> = []
    /// What the above was computed from.
    private var shown: String?
    private var joined = 0

    func isStale(_ shown: String?, joined: Int) -> Bool { shown != self.shown || joined != self.joined }

    /// Notes the topic in view, nil for a pattern and for other views, and the joined topics without the patterns.
    /// `shown` and `joined` later tell whether that is stale.
    mutating func look(at place: String?, shown: String?, joined: Int, _ topics: [String]) -> ChatEffects {
        (self.shown, self.joined) = (shown, joined)
        var effects: ChatEffects = []
        let known = Set(topics)
        recent.removeAll { $0 == place || !known.contains($0) }
        if let place { recent = Array(([place] + recent).prefix(Self.placeLimit)) }
        // A topic out of view may come back; only another one takes its place.
        let next = place ?? topic.flatMap { known.contains($0) ? $0 : nil }
        if next != topic {
            topic = next
            take(.unknown)
            effects.core.append(.people(.watch(topic: next)))
        }
        var places = recent
        var seen = Set(recent)
        for name in topics where places.count < Self.placeLimit && seen.insert(name).inserted { places.append(name) }
        if Set(places) != self.places {
            self.places = Set(places)
            effects.core.append(.people(.appear(in: places)))
        }
        return effects
    }

    mutating func take(_ roster: PresenceRoster, of topic: String) {
        if topic == self.topic { take(roster) }
    }

    private mutating func take(_ roster: PresenceRoster) {
        self.roster = roster
        here = roster.users.reduce(0) { $1.presence == .here ? $0 + 1 : $0 }
        away = roster.users.count - here
        typists = Array(roster.users.lazy.filter(\.isTyping).map(\.name).prefix(Self.typistLimit))
    }

    /// The number of people in a topic, for its heading; nil if unknown.
    func words(of topic: String) -> String? {
        guard topic == self.topic, roster.isKnown, !roster.users.isEmpty else { return nil }
        let here = Wording.grouped(here) + (roster.isTruncated ? "+" : "") + " here"
        return away > 0 ? here + ", \(Wording.grouped(away)) away" : here
    }

    /// The people, one a line, for the list over the panes.
    func lines(for user: String) -> [HelpText.Line] {
        var lines = roster.users.map { one -> HelpText.Line in
            let name = one.name == user ? "\(one.name) (you)" : one.name
            switch one.presence {
            case .here: return .entry(name, "here")
            case .away(""): return .entry(name, "away")
            case .away(let text): return .entry(name, "away: \(text)")
            }
        }
        if roster.isTruncated { lines.append(.entry("…", "and others")) }
        return lines.isEmpty ? [.entry("", "Nobody is known to be here now.")] : lines
    }
}
