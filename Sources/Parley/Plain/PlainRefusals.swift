import Relay

/// The failures of a session without a screen, for an exit status like that of `parley send`.
///
/// A pure value. A message that is sent again or dropped no longer counts.
struct PlainRefusals {
    private var messages: [String: (number: Int, failure: CommandFailure)] = [:]
    /// The first line that failed, and the number of them.
    private var commands: (first: CommandFailure, count: Int)?
    var input: CommandFailure?
    private var lastNumber = 0

    /// The most refused messages that are recorded.
    private static let limit = 10_000

    mutating func lineDropped(_ words: String) { noteCommand(words) }

    /// Notes an event, its effects, and the failure shown for it, if any.
    mutating func note(_ event: ChatEvent, _ effects: [CoreEffect], failure: String?) {
        switch event {
        case .published(let news): note(news)
        case .line:
            for effect in effects {
                switch effect {
                case .topics(.drop(let ids)): for id in ids { messages[id] = nil }
                case .topics(.sendAgain(let id, _, _)): messages[id] = nil
                default: break
                }
            }
            noteCommand(failure)
        case .postbox, .postboxes: noteCommand(failure)
        default: break
        }
    }

    private mutating func note(_ news: PublishNews) {
        let failure: CommandFailure
        switch news.state {
        case .queued, .sending, .acknowledged, .failed(.cancelled):
            messages[news.id] = nil
            return
        case .failed(let error): failure = CommandFailure(error)
        case .discarded(let reason): failure = CommandFailure(.connection(reason))
        case .uncertain: failure = CommandFailure(.uncertain(news.id))
        }
        guard messages.count < Self.limit else { return }
        lastNumber += 1
        messages[news.id] = (lastNumber, failure)
    }

    private mutating func noteCommand(_ words: String?) {
        guard let words else { return }
        commands = (commands?.first ?? CommandFailure(.badData, words), (commands?.count ?? 0) + 1)
    }

    /// The failure that the session ends with; nil if nothing was refused.
    var failure: CommandFailure? {
        if let input { return input }
        if let first = messages.values.min(by: { $0.number < $1.number })?.failure {
            return CommandFailure(first.code, "\(Wording.count(messages.count, "message")) not sent. \(first.text)")
        }
        guard let (first, count) = commands else { return nil }
        return CommandFailure(first.code, "\(Wording.count(count, "line")) could not be carried out. \(first.text)")
    }
}
