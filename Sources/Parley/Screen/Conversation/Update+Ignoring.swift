import Relay

// People whose messages the person does not want to see. A name is only what its sender claims, so the name is ignored,
// regardless of case, not the one who uses it.
extension ChatModel {
    static let ignoredLimit = 1_000

    /// Hides someone's messages in topics, now and in later runs; without a name, says who is ignored.
    func ignore(_ name: String) -> ChatEffects {
        guard !name.isEmpty else {
            return tell(
                network.quiet.ignored.isEmpty
                    ? "Nobody is ignored. /ignore NAME hides what somebody writes."
                    : "Ignored: \(network.quiet.ignored.sorted().joined(separator: ", ")). /unignore NAME shows them again."
            )
        }
        let folded = Self.folded(name)
        guard folded != Self.folded(network.identity.user) else { return tell("That is your own name.", .failure) }
        guard !folded.isEmpty, folded.utf8.count <= 256 else { return tell("A name has 1 to 256 bytes.", .failure) }
        guard !network.quiet.ignored.contains(folded) else { return tell("\(name) is ignored already.") }
        guard network.quiet.ignored.count < Self.ignoredLimit else {
            let count = Wording.grouped(Self.ignoredLimit)
            return tell("\(count) names are ignored already. /unignore one first.", .failure)
        }
        network.quiet.ignored.insert(folded)
        hideIgnored()
        say("What \(name) writes is hidden. /unignore \(name) shows it again.")
        return network.keepsDesk ? [.store(.keepIgnored(folded, true))] : []
    }

    func unignore(_ name: String) -> ChatEffects {
        let folded = Self.folded(name)
        guard network.quiet.ignored.remove(folded) != nil else { return tell("\(name) is not ignored.", .failure) }
        hideIgnored()
        say("What \(name) writes is shown again.")
        return network.keepsDesk ? [.store(.keepIgnored(folded, false))] : []
    }

    func hideIgnored() {
        let names = network.quiet.ignored
        network.conversations.updateAll { $0.ignore(names) }
    }

    static func folded(_ name: String) -> String { name.lowercased() }
}
