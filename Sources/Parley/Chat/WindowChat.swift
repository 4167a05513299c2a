/// A chat of a window, with what stands behind it. All on the screen's thread.
final class WindowChat {
    /// What its network is called beside others.
    let name: String
    /// The profile that says where it is; nil for one by flags alone.
    let profile: String?
    /// The topics to join, and whether there is a local store, which knows of others.
    let (topics, keeps): ([String], Bool)
    let model: ChatModel
    let queue: EventQueue
    let send: (CoreEffect) -> Bool
    /// Connects once the preparation is done; nil after that.
    var connect: (() throws -> Bool)?
    /// What is asked of the core goes to it when the frame is drawn, so that no key waits until another thread is
    /// awake.
    var requests: [CoreEffect] = []
    /// When the text being written went there last.
    private var lastDraft: ContinuousClock.Instant?
    static let requestLimit = 256
    /// While somebody types, the text goes there this often, since each time wakes other threads and writes to the
    /// disk. No crash takes more than about the last half second.
    static let draftPause = Duration.milliseconds(400)

    /// - Parameters:
    ///   - send: takes what is not for the terminal; false when it cannot.
    ///   - connect: goes to the network, and tells whether it has; asked whenever the screen is woken, until it has.
    init(
        _ name: String, profile: String? = nil, _ model: ChatModel, topics: [String] = [], keeps: Bool = false,
        queue: EventQueue, send: @escaping (CoreEffect) -> Bool, connect: (() throws -> Bool)? = nil
    ) {
        (self.name, self.profile, self.model, self.queue) = (name, profile, model, queue)
        (self.topics, self.keeps) = (topics, keeps)
        (self.send, self.connect) = (send, connect)
    }

    var nextChange: ContinuousClock.Instant? { model.nextChange(after: model.now.instant) }

    func request(_ effect: CoreEffect) {
        // A later text of the same conversation says all that the one before it does.
        if case .store(.keepDraft(let draft)) = effect, case .store(.keepDraft(let earlier))? = requests.last,
            earlier.conversation == draft.conversation
        {
            requests.removeLast()
        }
        requests.append(effect)
    }

    /// Whether what was asked for is handed over now. The text that is being written waits a moment behind the one
    /// before it, unless there is something else as well.
    var isDue: Bool { draftDue.map { $0 <= model.now.instant } ?? true }

    /// When the text being written is handed over that waits alone; nil where it does not.
    var draftDue: ContinuousClock.Instant? {
        guard let lastDraft, !requests.isEmpty, requests.allSatisfy(\.isDraft) else { return nil }
        return lastDraft + Self.draftPause
    }

    /// Hands over what was asked for; counts what could not be taken.
    func handOver() -> Int {
        guard !requests.isEmpty else { return 0 }
        let due = requests
        if due.contains(where: \.isDraft) { lastDraft = model.now.instant }
        requests.removeAll(keepingCapacity: true)
        return due.count { !send($0) }
    }
}

extension CoreEffect {
    /// Whether it keeps a text that is being written.
    fileprivate var isDraft: Bool { if case .store(.keepDraft) = self { true } else { false } }
}
