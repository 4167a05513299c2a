import Relay

// What is waited for where there is no screen: before a line is taken in, and before the end when no more can be read.
extension ChatModel {
    /// Whether a line is meant for something that is still on its way, and has to wait for it.
    func holds(_ line: String) -> Bool {
        // It may answer the question that a command ends in.
        if network.outbox.awaitedAnswers > 0, screen.overlay == nil, Self.isAnswer(line) { return true }
        // What cannot be meant is said at once.
        guard let entry = SlashCommand.entry(of: line), (try? SlashCommand.parse(line)) != nil else { return false }
        return entry.needs.contains { need in
            switch need {
            case .list: awaitsList
            case .connection: isOffline && !isCutOff
            case .answers: network.outbox.awaitedAnswers > 0
            }
        }
    }

    /// Whether a line is what a question is answered with.
    private static func isAnswer(_ line: String) -> Bool {
        ["y", "yes", "n", "no"].contains(line.lowercased().filter { !$0.isWhitespace })
    }

    /// Whether nothing that was asked for is still to be done.
    var isSettled: Bool {
        guard network.opening == nil, network.outbox.messages.isEmpty, network.outbox.awaitedAnswers == 0 else {
            return false
        }
        guard network.inbox.fetch == nil, network.inbox.deletion.isEmpty else { return false }
        if let name = screen.view.topic { return network.conversations.named(name)?.history != .loading }
        return !awaitsList
    }

    /// Takes in that something was asked for that nobody will answer.
    func giveUp(_ effect: CoreEffect) {
        switch effect {
        case .letters(.postboxes), .letters(.listSent), .letters(.save), .lab(.save):
            network.outbox.awaitedAnswers = max(0, network.outbox.awaitedAnswers - 1)
        default: break
        }
    }

    /// What is not done where nothing more is waited for; nil where nothing is lost by that.
    ///
    /// - Parameter keeps: whether what is not sent is kept on this machine.
    func undone(keeps: Bool) -> String? {
        if !network.outbox.messages.isEmpty {
            let count = Wording.count(network.outbox.messages.count, "message")
            return keeps ? "\(count) not sent yet: Parley sends them when it runs again." : "\(count) not sent."
        }
        let letters = network.inbox.deletion.count
        if letters > 0 { return "It is not known whether \(Wording.count(letters, "letter")) left the postbox." }
        return network.outbox.awaitedAnswers > 0 ? "What was asked for last was not answered." : nil
    }
}

extension ChatModel {
    /// Why the chat ends without a connection: the first one was given up after a time limit, and no other attempt was
    /// asked for.
    var connectionGivenUp: CommandFailure? {
        guard network.status.state == .disconnected, let reason = network.status.reason, case .timeLimit = reason else {
            return nil
        }
        return CommandFailure(RelayError.connection(reason))
    }
}
