import Relay

extension SearchQuery {
    /// Says which value is missing after a filter's colon; nil if none is. A filter without a value counts as a word,
    /// and finding nothing for it would not reveal the mistake.
    static func missingValue(in text: String) -> String? {
        switch filterWithoutValue(in: text) {
        case "from"?: "from: needs a name right behind it, as in from:bob."
        case "in"?: "in: needs a topic right behind it, as in in:chat.lobby or in:chat.*"
        case let filter?: "\(filter): needs a date right behind it, as in \(filter):2026-11-20."
        case nil: nil
        }
    }
}
