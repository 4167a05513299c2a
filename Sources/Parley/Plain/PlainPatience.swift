import Relay

// Waiting in a session without a screen: before a line is handled, and at the end of the input.
extension ChatModel {
    /// Whether a line has to wait for something still on its way that it refers to.
    func holds(_ line: String) -> Bool {
        // An earlier command may still ask a question that the line answers.
        if network.outbox.awaitedAnswers > 0, screen.overlay == nil, Self.isAnswer(line) { return true }
        // Errors are reported at once.
        guard let entry = SlashCommand.entry(of: line), (try? SlashCommand.parse(line)) != nil else { return false }
        return entry.needs.contains { need in
            switch need {
            case .list: awaitsList
            case .connection: isOffline && !isCutOff
            case .answers: network.outbox.awaitedAnswers > 0
            }
        }
    }

    private static func isAnswer(_ line: String) -> Bool {
        ["y", "yes", "n", "no"].contains(line.lowercased().filter { !$0.isWhitespace })
    }

    var isSettled: Bool {
        guard network.opening == nil, network.outbox.messages.isEmpty, network.outbox.awaitedAnswers == 0 else {
            return false
        }
        guard network.inbox.fetch == nil, network.inbox.deletion.isEmpty else { return false }
        if let name = screen.view.topic { return network.conversations.named(name)?.history != .loading }
        return !awaitsList
    }

    /// Notes that a request could not be handed over and will not be answered.
    func giveUp(_ effect: CoreEffect) {
        switch effect {
        case .letters(.postboxes), .letters(.listSent), .letters(.save), .lab(.save):
            network.outbox.awaitedAnswers = max(0, network.outbox.awaitedAnswers - 1)
        default: break
        }
    }

    /// What remains undone if the session ends now; nil if nothing does.
    ///
    /// - Parameter keeps: whether unsent messages are kept on this machine.
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
    /// The failure if connecting was given up after a time limit, and not tried again.
    var connectionGivenUp: CommandFailure? {
        guard network.status.state == .disconnected, let reason = network.status.reason, case .timeLimit = reason else {
            return nil
        }
        return CommandFailure(RelayError.connection(reason))
    }
}
