import Terminal

/// The names that have written in a conversation: the width of the widest, and those that a narrow column has to cut.
struct NameBook: Equatable, Sendable {
    private(set) var widest = 0
    /// Names that may have to be cut, in order of arrival.
    private(set) var long: [SafeText] = []
    private var known: Set<String> = []

    /// The most names that are told apart; others are only measured.
    static let limit = 512
    /// The most characters of a name that are read; it is remote text.
    static let characterLimit = 64

    mutating func meet(_ name: String) {
        guard !known.contains(name) else { return }
        let text = Self.shown(name)
        widest = max(widest, text.width)
        // An overlong name is not worth keeping: only its beginning can show.
        guard known.count < Self.limit, name.utf8.count <= 4 * Self.characterLimit else { return }
        known.insert(name)
        if text.width > NameCut.least { long.append(text) }
    }

    /// The part of a name that is compared. Comparing takes time in the square of the number of combining marks on one
    /// letter, and others choose how many there are.
    static func cut(_ name: String) -> String {
        // One more than a name that can be typed may have.
        let limit = 4 * characterLimit + 1
        guard name.utf8.count > limit else { return name }
        return String(String.UnicodeScalarView(name.unicodeScalars.prefix(limit)))
    }

    /// The part of a name that can show.
    static func shown(_ name: String) -> SafeText { SafeText(name: name, limit: characterLimit) }
}

/// Cuts names to a column's width so that they stay distinct.
struct NameCut {
    let columns: Int
    /// The names that it must not be mistaken for.
    let others: [SafeText]

    static let least = 4

    /// A name in at most ``columns``. Its middle is left out; if that would make it look like another name, their
    /// common beginning is left out instead.
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
