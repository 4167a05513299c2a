import Relay

/// What happens to a text once it is entered.
enum SendProspect: Hashable, Sendable {
    /// It is sent at once, or acts here.
    case goes
    /// It waits until there is a connection.
    case waits
    /// It is kept until a new connection is asked for.
    case needsConnecting
    /// It cannot be sent, and why.
    case goesNowhere(String)
}

extension ChatModel {
    /// What would happen to the text being written, or to one written now.
    var prospect: SendProspect {
        guard compose.isCommand else { return prospectOfLine }
        // A half-written command promises nothing yet.
        guard let command = try? SlashCommand.parse(compose.text), command.isSent else { return .goes }
        if case .say = command { return prospectOfLine }
        return prospectOfMessage
    }

    /// Says that the credentials may not write to a topic; nil if they may, or the network has not said.
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
    /// Whether it goes to the outbox, where it waits while there is no connection.
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
