import Relay

/// What becomes of what is written, as far as that is not simply that it is sent.
enum SendProspect: Hashable, Sendable {
    /// It goes at once, or does something here.
    case goes
    /// It waits until there is a connection.
    case waits
    /// It is kept, and leaves only after a new connection is asked for.
    case needsConnecting
    /// It goes nowhere, and why.
    case goesNowhere(String)
}

extension ChatModel {
    /// What becomes of the text being written, or of one that would be written now.
    var prospect: SendProspect {
        guard compose.isCommand else { return prospectOfLine }
        // A half-written command promises nothing yet.
        guard let command = try? SlashCommand.parse(compose.text), command.isSent else { return .goes }
        if case .say = command { return prospectOfLine }
        return prospectOfMessage
    }

    /// That the credentials may not write to a topic; nil where they may, or the network has not said.
    func readOnlyWords(of topic: String) -> String? {
        guard let rights = network.rights, !rights.mayPublish(to: topic) else { return nil }
        return rights.mayRead(topic) ? "\(topic) is read-only with this key" : "\(topic) is not open to this key"
    }

    private var prospectOfLine: SendProspect {
        if case .nobody(let words, _) = screen.view.pane.addressee(in: self) { return .goesNowhere(words) }
        return prospectOfMessage
    }

    private var prospectOfMessage: SendProspect {
        guard isOffline else { return .goes }
        return network.status.state == .disconnected ? .needsConnecting : .waits
    }
}

extension SlashCommand {
    /// Whether what it says is handed to the outbox, where it waits while there is no connection.
    fileprivate var isSent: Bool {
        switch self {
        case .say, .post: true
        case .keyValue(let request): request.change != nil
        case .join, .leave, .write, .resend, .discard, .unsent, .history, .more, .edit, .search, .find, .open, .read,
            .quote, .details, .links, .link, .who, .ignore, .unignore, .mute, .unmute, .notify, .suspendAfter, .away,
            .back, .inbox, .postbox, .sent, .delete, .save, .topics, .next, .keyResults, .close, .disconnect,
            .reconnect, .openChat, .log, .lab, .errors, .help, .quit:
            false
        }
    }
}
