/// A message of the outbox in the local store, with its run and its state, which matter once that run has ended.
package struct KeptPublish: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        case queued
        /// Sent, and not answered yet.
        case sending
        /// Not sent, for this reason; it waits for the person's decision.
        case notSent(String)
    }

    package var message: OutboxMessage
    package var state: State
    /// When the person sent it.
    package var since: Timestamp
    /// The run that owns it, if any.
    package var run: String?

    package init(message: OutboxMessage, state: State = .queued, since: Timestamp, run: String? = nil) {
        self.message = message
        self.state = state
        self.since = since
        self.run = run
    }
}

/// A change of the local store other than new messages of topics.
package enum StoreChange: Hashable, Sendable {
    /// Adds a message of the outbox after the others; an existing one with its identifier keeps its place.
    case outbox(KeptPublish)
    /// Records why a message of the outbox was not sent, and whether the network may have it all the same.
    case outboxNotSent(id: String, String, mayBeStored: Bool)
    /// Deletes a message of the outbox that has ended.
    case outboxEnded(id: String)
    /// Deletes a message of the outbox that the network has; a letter is stored as sent.
    case outboxStored(id: String)
    /// Counts all queued messages of a run as sent: a connection opens over which they leave.
    case outboxLeaves(run: String)
    /// Deletes the oldest unsent messages, keeping ``StoreBounds/notSent``.
    case outboxTrimmed
    /// Stores the draft of a conversation; an empty text deletes it. The newest ``StoreBounds/drafts`` are kept.
    case draft(conversation: String, String)
    /// Adds a line to the person's history. The newest ``StoreBounds/lines`` are kept.
    case line(KeptLine)
    /// Records whether a name is ignored. The newest ``StoreBounds/ignored`` are kept.
    case ignored(String, Bool)
    /// Records whether a topic or pattern is muted. The newest ``StoreBounds/muted`` are kept.
    case muted(String, Bool)
    /// Stores the person's choice about the screen, by a name of the caller's; nil deletes it. The newest
    /// ``StoreBounds/choices`` are kept.
    case choice(String, Bool?)
    /// Stores the person's place on the screen, in the caller's form.
    case place(String)
    /// Adds a joined topic after the others, including those of other processes.
    case join(String)
    /// Reorders the joined topics; those that another process has joined meanwhile follow them. Other topics are
    /// ignored.
    case order([String])
    /// Removes a joined topic.
    case leave(String)
    /// Stores how far a topic or pattern was received.
    case cursor(String, KeptPlace)
    /// Records that all messages of a topic or pattern between two sequences, both included, are stored, as far as the
    /// stream had them. The newest ``StoreBounds/spans`` such parts are kept.
    case received(String, StreamIdentity, ClosedRange<UInt64>)
    /// A stream has lost everything after a sequence and assigns those sequences again: its stored messages after it
    /// now count as another stream's. The named subscription noticed it; if nothing after the sequence is recorded as
    /// received by it, another one has already reported this, and the stored messages are newer.
    case rewound(StreamIdentity, through: UInt64, foundBy: String)
    /// Records where the stream had already lost messages of a topic or pattern.
    case gap(String, StreamIdentity, KeptGap)
    /// Stores how far a conversation was read. Within a stream it only moves forward: another process may have read
    /// further.
    case readMark(String, KeptPlace)
    /// Stores a letter. The newest ``StoreBounds/letters`` are kept.
    case letter(KeptLetter)
    /// Records that a received letter was read. The newest ``StoreBounds/letters`` are kept.
    case letterRead(id: String, postbox: String)
    /// Deletes a letter.
    case letterDeleted(KeptLetter.Direction, id: String)
    /// Stores a list of letters, and deletes those that are no longer on it.
    case lettersListed(KeptLetterPage)
    /// Stores the postboxes reported by the network. The first ``StoreBounds/postboxes`` are kept.
    case postboxesListed(KeptPostboxes)

    /// Whether it concerns messages that a person sent, which even a power cut must not lose.
    package var isPrecious: Bool {
        switch self {
        case .outbox, .outboxNotSent, .outboxEnded, .outboxStored, .outboxLeaves, .outboxTrimmed: true
        default: false
        }
    }

    /// Whether it concerns what a person has read or is typing, which the next batch writes at once.
    package var isPersonal: Bool {
        switch self {
        case .draft, .place, .readMark, .letterRead: true
        default: false
        }
    }

    /// A single change equivalent to this and a later one; nil if both are needed.
    func merged(with later: StoreChange) -> StoreChange? {
        switch (self, later) {
        case (.cursor(let name, _), .cursor(let other, _)) where name == other: later
        case (.draft(let conversation, _), .draft(let other, _)) where conversation == other: later
        case (.readMark(let name, let place), .readMark(let other, let next)) where name == other:
            place.stream == next.stream && place.sequence > next.sequence ? self : later
        case (.received(let name, let stream, let span), .received(let other, let another, let next))
        where name == other && stream == another && span.upperBound < .max && span.upperBound + 1 == next.lowerBound:
            .received(name, stream, span.lowerBound...next.upperBound)
        default: nil
        }
    }
}

/// A line that the person typed.
package struct KeptLine: Hashable, Sendable {
    /// Nil for a line outside any conversation, such as a command.
    package var conversation: String?
    package var text: String

    package init(_ text: String, in conversation: String? = nil) {
        self.conversation = conversation
        self.text = text
    }
}

/// The most that is stored of data without a policy of its own.
package enum StoreBounds {
    package static let drafts = 1_000
    package static let lines = 1_000
    package static let ignored = 1_000
    package static let muted = 1_000
    package static let choices = 100
    package static let notSent = 10_000
    package static let postboxes = 1_000
    /// Received and sent letters together.
    package static let letters = 50_000
    /// The newest holes of each topic or pattern.
    package static let gaps = 100
    /// The newest parts of a stream for each topic or pattern.
    package static let spans = 1_000
    /// The bytes of a line; a longer one is cut.
    package static let textBytes = 64 << 10
    /// The bytes of a draft: more than can be typed, so that a text too long to be sent is not cut.
    package static let draftBytes = 1 << 20
}
