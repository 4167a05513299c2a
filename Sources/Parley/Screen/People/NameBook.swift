import Terminal

/// The names that have written in a conversation: how wide the widest is, and those that a narrow column has to cut.
struct NameBook: Equatable, Sendable {
    private(set) var widest = 0
    /// Names that may have to be cut, in the order in which they came.
    private(set) var long: [SafeText] = []
    private var known: Set<String> = []

    /// Names that are told apart; beyond it they are only measured.
    static let limit = 512
    /// Characters of a name that are looked at; it is remote text.
    static let characterLimit = 64

    mutating func meet(_ name: String) {
        guard !known.contains(name) else { return }
        let text = Self.shown(name)
        widest = max(widest, text.width)
        // An overlong name is not worth keeping: its beginning alone can show.
        guard known.count < Self.limit, name.utf8.count <= 4 * Self.characterLimit else { return }
        known.insert(name)
        if text.width > NameCut.least { long.append(text) }
    }

    /// As much of a name as is looked at. To compare names takes the square of the number of marks on one letter, and
    /// others have chosen how many those are.
    static func cut(_ name: String) -> String {
        // One more than is taken for a name that can be typed.
        let limit = 4 * characterLimit + 1
        guard name.utf8.count > limit else { return name }
        return String(String.UnicodeScalarView(name.unicodeScalars.prefix(limit)))
    }

    /// As much of a name as can show.
    static func shown(_ name: String) -> SafeText { SafeText(name: name, limit: characterLimit) }
}

/// Cuts names for a column in a way that keeps them apart.
struct NameCut {
    let columns: Int
    /// The names beside which one has to be told.
    let others: [SafeText]

    static let least = 4

    /// A name in at most ``columns``. The middle is left out; where that would make it look like another name, what
    /// they have in common is left out instead.
    func text(_ name: SafeText) -> SafeText {
        if name.width <= columns { return name }
        let cut = name.shortened(columns: columns)
        var shared = 0
        for other in others where other.width > columns && other.clusters.first == name.clusters.first && other != name
        {
            if other.shortened(columns: columns) == cut { shared = max(shared, sharedColumns(name, other)) }
        }
        let rest = name.dropFirst(columns: shared)
        guard shared > 0, columns > 2, !rest.isEmpty else { return cut }
        let end = rest.prefix(columns: columns - 2)
        return name.prefix(columns: columns - 1 - end.width) + SafeText("…") + end
    }

    private func sharedColumns(_ left: SafeText, _ right: SafeText) -> Int {
        zip(left.clusters, right.clusters).prefix { $0 == $1 }.reduce(0) { $0 + $1.0.width }
    }
}
