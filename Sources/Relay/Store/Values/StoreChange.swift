/// A message of the outbox as the local store keeps it: with the run that sends it and how far it had come, which
/// nobody has to know while the message's own run lives.
package struct KeptPublish: Hashable, Sendable {
    /// How far it has come.
    package enum State: Hashable, Sendable {
        /// It waits.
        case queued
        /// It was sent, and its answer is not there yet.
        case sending
        /// It was not sent, for this reason, and waits for the person.
        case notSent(String)
    }

    /// The message.
    package var message: OutboxMessage
    /// How far it has come.
    package var state: State
    /// When the person sent it.
    package var since: Timestamp
    /// The run of a program whose it is; nil where no run has it.
    package var run: String?

    /// Describes one.
    package init(message: OutboxMessage, state: State = .queued, since: Timestamp, run: String? = nil) {
        self.message = message
        self.state = state
        self.since = since
        self.run = run
    }
}

/// Something that the local store is to keep or to forget, other than messages of topics.
package enum StoreChange: Hashable, Sendable {
    /// Keeps a message of the outbox, behind those that are there; one that is there under its identifier keeps its
    /// place.
    case outbox(KeptPublish)
    /// Keeps why a message of the outbox was not sent, and whether the network may have it all the same.
    case outboxNotSent(id: String, String, mayBeStored: Bool)
    /// Forgets a message of the outbox, which has ended.
    case outboxEnded(id: String)
    /// Forgets a message of the outbox that the network has; a letter is kept as one that was sent.
    case outboxStored(id: String)
    /// Counts all messages of a run that wait as sent: a connection opens, over which they leave.
    case outboxLeaves(run: String)
    /// Forgets the oldest messages that were not sent; the newest ``StoreBounds/notSent`` are kept.
    case outboxTrimmed
    /// Keeps what the person has typed and not sent in a conversation; an empty text forgets it. The newest
    /// ``StoreBounds/drafts`` are kept.
    case draft(conversation: String, String)
    /// Adds a line to what the person has typed. The newest ``StoreBounds/lines`` are kept.
    case line(KeptLine)
    /// Keeps that a name is ignored, or is no more. The newest ``StoreBounds/ignored`` are kept.
    case ignored(String, Bool)
    /// Keeps that a topic or pattern is muted, or is no more. The newest ``StoreBounds/muted`` are kept.
    case muted(String, Bool)
    /// Keeps what the person has chosen about something of the screen, by a name of the caller's; nil forgets it. The
    /// newest ``StoreBounds/choices`` are kept.
    case choice(String, Bool?)
    /// Keeps what the person looks at, in the caller's words.
    case place(String)
    /// Keeps that a topic is joined, behind those that are, whatever another process has joined meanwhile.
    case join(String)
    /// Keeps an order of topics, which come before those that another process has joined meanwhile. One that is not
    /// joined stays so.
    case order([String])
    /// Keeps that a topic is joined no more.
    case leave(String)
    /// Keeps how far a topic or pattern has been received.
    case cursor(String, KeptPlace)
    /// Keeps that all messages of a topic or pattern between two sequences, both included, are here, as far as the
    /// stream had them. The newest ``StoreBounds/spans`` of such parts are kept.
    case received(String, StreamIdentity, ClosedRange<UInt64>)
    /// A stream has lost all behind a sequence, and gives those sequences again: what is here of it counts as another
    /// stream's from then on. It was found out by the subscription to a topic or pattern: where that has received
    /// nothing behind the sequence as far as is kept, another one's word has been heard, and what is here came since.
    case rewound(StreamIdentity, through: UInt64, foundBy: String)
    /// Keeps where the stream no longer had what belongs to a topic or pattern.
    case gap(String, StreamIdentity, KeptGap)
    /// Keeps how far a conversation has been read. In one stream it only goes forward: another process may have seen
    /// more.
    case readMark(String, KeptPlace)
    /// Keeps a letter. The newest ``StoreBounds/letters`` are kept.
    case letter(KeptLetter)
    /// Keeps that a letter that came to a postbox was read. The newest ``StoreBounds/letters`` are kept.
    case letterRead(id: String, postbox: String)
    /// Forgets a letter.
    case letterDeleted(KeptLetter.Direction, id: String)
    /// Keeps what a list of letters had, and forgets what it did not have any more.
    case lettersListed(KeptLetterPage)
    /// Keeps which postboxes the network has said there are. The first ``StoreBounds/postboxes`` are kept.
    case postboxesListed(KeptPostboxes)

    /// Whether it is what a person typed and sent, which not even a power cut may lose.
    package var isPrecious: Bool {
        switch self {
        case .outbox, .outboxNotSent, .outboxEnded, .outboxStored, .outboxLeaves, .outboxTrimmed: true
        default: false
        }
    }

    /// Whether it is what a person has read or is typing, for which the next batch is written at once.
    package var isPersonal: Bool {
        switch self {
        case .draft, .place, .readMark, .letterRead: true
        default: false
        }
    }

    /// What stands for this and a later change together; nil where both are needed.
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
    /// Where it was typed; nil where it belongs to no conversation, as a command does.
    package var conversation: String?
    /// The line.
    package var text: String

    /// Describes a line.
    package init(_ text: String, in conversation: String? = nil) {
        self.conversation = conversation
        self.text = text
    }
}

/// How much of what has no policy of its own is kept.
package enum StoreBounds {
    /// Drafts of so many conversations.
    package static let drafts = 1_000
    /// So many lines that the person typed.
    package static let lines = 1_000
    /// So many names that are ignored.
    package static let ignored = 1_000
    /// So many topics and patterns that are muted.
    package static let muted = 1_000
    /// So many choices about the screen.
    package static let choices = 100
    /// So many messages that were not sent.
    package static let notSent = 10_000
    /// So many postboxes.
    package static let postboxes = 1_000
    /// So many letters, those received and those sent together.
    package static let letters = 50_000
    /// So many holes of each topic or pattern, the newest.
    package static let gaps = 100
    /// So many parts of a stream for each topic or pattern, the newest.
    package static let spans = 1_000
    /// So many bytes of a line; what is longer is cut.
    package static let textBytes = 64 << 10
    /// So many bytes of a draft: more than can be typed, so that a text that is too long to be sent is not cut.
    package static let draftBytes = 1 << 20
}
