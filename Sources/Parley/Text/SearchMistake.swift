import Relay

extension SearchQuery {
    /// What is missing behind a filter's colon, in a sentence; nil where nothing is. A filter without a value counts as
    /// a word, and finding nothing of it would say nothing of the mistake.
    static func missingValue(in text: String) -> String? {
        switch filterWithoutValue(in: text) {
        case "from"?: "from: needs a name right behind it, as in from:bob."
        case "in"?: "in: needs a topic right behind it, as in in:chat.lobby or in:chat.*"
        case let filter?: "\(filter): needs a date right behind it, as in \(filter):2026-11-20."
        case nil: nil
        }
    }
}
