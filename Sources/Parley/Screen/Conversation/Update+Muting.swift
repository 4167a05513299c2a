import Relay

// Topics that the person mutes, besides those that the configuration mutes. Their messages are shown as usual, but ring
// no bell, are not counted in the title, and are skipped by the key for unread messages.
extension ChatModel {
    static let muteLimit = 1_000

    /// Mutes a topic or pattern, or the open one, now and in later runs.
    func mute(_ text: String?) -> ChatEffects {
        guard let pattern = patternToMute(text, "/mute") else { return [] }
        let name = pattern.text
        if network.quiet.mutes.contains(where: { $0.text == name }) { return tell("\(name) is muted already.") }
        if let words = muting(name)?.words { return tell("\(name) is muted already, \(words).") }
        guard network.quiet.mutes.count < Self.muteLimit else {
            return tell("\(Wording.grouped(Self.muteLimit)) topics are muted already. /unmute one first.", .failure)
        }
        network.quiet.mutes.append(pattern)
        applyMutes()
        say("\(name) is muted: no bell, no count in the title. /unmute \(name) ends that.")
        return network.keepsDesk ? [.store(.keepMuted(name, true))] : []
    }

    /// Unmutes a topic or pattern that was muted here, or the open one.
    func unmute(_ text: String?) -> ChatEffects {
        guard let name = patternToMute(text, "/unmute")?.text else { return [] }
        guard let index = network.quiet.mutes.firstIndex(where: { $0.text == name }) else {
            let words = muting(name).map { "\(name) is muted \($0.words): \($0.remedy)." }
            return tell(words ?? "\(name) is not muted.", .failure)
        }
        network.quiet.mutes.remove(at: index)
        applyMutes()
        if let other = muting(name) {
            say("\(name) stays muted \(other.words): \(other.remedy).")
        } else {
            say("\(name) rings and counts again.")
        }
        return network.keepsDesk ? [.store(.keepMuted(name, false))] : []
    }

    func bringBack(mutes names: [String]) {
        let known = Set(network.quiet.mutes.map(\.text))
        let kept = names.filter { !known.contains($0) }.compactMap { try? TopicPattern($0) }
        network.quiet.mutes = Array((kept + network.quiet.mutes).suffix(Self.muteLimit))
        applyMutes()
    }

    func applyMutes() { network.conversations.mute(settings.mutes + network.quiet.mutes) }

    /// The topic that is named, or the open one; says why if it is none.
    private func patternToMute(_ text: String?, _ command: String) -> TopicPattern? {
        guard let name = text ?? screen.view.topic else {
            say("Name the topic: \(command) TOPIC", .failure)
            return nil
        }
        do throws(TopicError) { return try TopicPattern(name) } catch {
            say("\(error)", .failure)
            return nil
        }
    }

    /// What mutes a topic, in words, and how to end that; nil if it is not muted.
    private func muting(_ name: String) -> (words: String, remedy: String)? {
        func covers(_ pattern: TopicPattern) -> Bool { pattern.text == name || pattern.matches(name) }
        if let pattern = network.quiet.mutes.first(where: covers) {
            return ("with \(pattern.text)", "/unmute \(pattern.text) ends that")
        }
        return settings.mutes.first(where: covers).map { _ in
            ("by the configuration", "take it out of mutes there")
        }
    }
}
