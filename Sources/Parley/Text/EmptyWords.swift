import Relay

// What has no bytes is shown as such: its row would look like a fault.
extension TopicMessage {
    /// What people read.
    var shownText: String { isEmpty ? "(empty message)" : text }
}

extension PostboxMessage {
    /// What people read.
    var shownText: String { message.isEmpty ? "(empty letter)" : message }
}
