import Relay

// An empty text is shown as such: an empty row would look like a fault.
extension TopicMessage {
    /// The text as it is shown.
    var shownText: String { isEmpty ? "(empty message)" : text }
}

extension PostboxMessage {
    /// The text as it is shown.
    var shownText: String { message.isEmpty ? "(empty letter)" : message }
}
