import Platform

/// A message on its way to a postbox: the JSON that is published to `postbox.<user>.<postboxId>`.
///
/// The server's store time is the message's `createdAt` for the reader; the field of the same name here is what the
/// sender's clock said. Who sends it is no field: the server puts the sender's name behind the subject. Nor is the
/// persona (Sudo) that it is for, which is its postbox's.
public struct PostboxLetter: Codable, Hashable, Sendable {
    /// The sender's id of the message, also its `Nats-Msg-Id`, so that a repeated send stores it once.
    public var id: String
    /// When it was written, in milliseconds since 1970 by the sender's clock.
    public var createdAt: Int64
    /// The text.
    public var message: String
    /// What it is about, in a line; nil for a letter that has none, which is then as one from before there were any.
    public var subject: String?

    /// The most bytes of a subject.
    public static let maximumSubjectBytes = 256

    /// Makes a letter.
    public init(id: String, createdAt: Int64, message: String, subject: String? = nil) {
        self.id = id
        self.createdAt = createdAt
        self.message = message
        self.subject = subject
    }

    /// Reads a letter. Whatever else stands where a subject would, is none, and the letter can be read all the same.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        createdAt = try container.decode(Int64.self, forKey: .createdAt)
        message = try container.decode(String.self, forKey: .message)
        let subject = try? container.decode(String.self, forKey: .subject)
        self.subject = subject.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// What a user asks of `relay.postbox.<user>.<list|create|rename|enable|disable|delete>`; `list` may ask with nothing.
public struct PostboxRequest: Codable, Hashable, Sendable {
    /// The postbox that is meant: its name, which is also its id.
    public var name: String?
    /// The identity (Sudo) that a new postbox belongs to, the user's default one when nil; of any other request, whose
    /// postboxes are meant, all of the user's when nil.
    public var sudoId: String?
    /// Of `rename`, what the postbox is to be called; its name removes the title.
    public var title: String?

    /// The most bytes of a title.
    public static let maximumTitleBytes = 128

    /// Makes a request.
    public init(name: String? = nil, sudoId: String? = nil, title: String? = nil) {
        self.name = name
        self.sudoId = sudoId
        self.title = title
    }

    /// A text as a title: its words in one line, with a blank between each.
    ///
    /// - Returns: nil for a text in which there is nothing to see, one of more than ``maximumTitleBytes``, and one with
    ///   control or format characters, but for the joiners that some scripts and pictures need.
    public static func title(_ text: String) -> String? {
        let title = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard (1...maximumTitleBytes).contains(title.utf8.count),
            title.unicodeScalars.allSatisfy(isAllowed), visible(title).unicodeScalars.contains(where: isSeen)
        else { return nil }
        return title
    }

    /// What is seen of a name or title: two of which this is equal look alike.
    package static func visible(_ text: String) -> String {
        let seen = text.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        return String(String.UnicodeScalarView(seen))
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: false
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }

    /// Whether a scalar alone is seen; Braille has a blank of its own.
    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .spaceSeparator, .lineSeparator, .paragraphSeparator,
            .control, .format, .surrogate, .unassigned:
            false
        default: scalar != "\u{2800}"
        }
    }
}

/// The answer to a ``PostboxRequest``: the postboxes, or why not.
public struct PostboxReply: Codable, Hashable, Sendable {
    /// A postbox as the network describes it.
    public struct Entry: Codable, Hashable, Sendable {
        /// One subject token: letters, digits, `_` and `-`.
        public var id: String
        /// Its name, which is also its id.
        public var name: String
        /// What the owner calls it; nil where that is its name, as on networks of earlier versions.
        public var title: String?
        /// The identity (Sudo) that it belongs to.
        public var sudoId: String
        /// Whether it accepts messages.
        public var isEnabled: Bool
        /// When it was made, in milliseconds since 1970.
        public var createdAt: Int64

        /// Describes a postbox.
        public init(
            id: String, name: String, title: String? = nil, sudoId: String, isEnabled: Bool, createdAt: Int64
        ) {
            self.id = id
            self.name = name
            self.title = title
            self.sudoId = sudoId
            self.isEnabled = isEnabled
            self.createdAt = createdAt
        }
    }

    /// Why a request was refused.
    public enum Failure: String, Codable, Hashable, Sendable {
        /// The name is not 1 to 64 letters, digits, `_` and `-`, or it is missing.
        case invalidName
        /// The title is not a line of 1 to 128 bytes without invisible characters, or it is missing.
        case invalidTitle
        /// Another postbox of the user has that name or title.
        case titleTaken
        /// There is a postbox of that name, or with that title.
        case exists
        /// There is no postbox of that name.
        case notFound
        /// The user has as many postboxes as one may have.
        case limitExceeded
        /// The request could not be read, or no such request is known.
        case invalidRequest
        /// The network could not do it now; try again.
        case unavailable
    }

    /// All postboxes (`list`), or the one that was meant, as it is now; for `delete`, as it was.
    public var postboxes: [Entry]?
    /// Why not.
    public var error: Failure?

    /// An answer with postboxes.
    public init(postboxes: [Entry]) { self.postboxes = postboxes }
    /// A refusal.
    public init(error: Failure) { self.error = error }
}

/// The answer of `relay.recipient.<user>.<postbox>` to the question whether a letter can be sent there.
public struct RecipientReply: Codable, Hashable, Sendable {
    /// Whether a postbox takes letters.
    public enum State: String, Codable, Hashable, Sendable {
        /// It takes letters.
        case accepting
        /// Its owner has disabled it.
        case disabled
        /// The user has no such postbox.
        case unknownPostbox
        /// There is no such user.
        case unknownUser
        /// It has as many letters, or bytes, as it may have.
        case full
    }

    /// Its state; nil when the network could not find out now.
    public var state: State?

    /// Makes an answer.
    public init(state: State?) { self.state = state }
}

extension Timestamp {
    /// This machine's clock.
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }
}

extension PostboxLetter {
    /// The bytes to publish.
    func encoded() -> [UInt8] {
        // Plain text and numbers always encode; the fallback keeps the text should that ever change.
        (try? JSONEncoder().encode(self)).map(Array.init) ?? Array(message.utf8)
    }

    /// Reads what anybody may have published: a letter, or a text as it is; nil for bytes that are neither.
    init?(reading payload: [UInt8]) {
        if let letter = try? JSONDecoder().decode(PostboxLetter.self, from: Data(payload)) {
            self = letter
        } else if let text = String(validating: payload, as: UTF8.self) {
            self.init(id: "", createdAt: 0, message: text)
        } else {
            return nil
        }
    }
}

extension OutboxMessage {
    /// A letter on its way to somebody's postbox.
    ///
    /// - Parameters:
    ///   - recipient: whose postbox it is.
    ///   - postbox: the postbox's identifier.
    ///   - subject: what it is about, in a line; nil or empty for none.
    ///   - text: the letter.
    ///   - id: the letter's identifier; a new one when nil.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for names that no user and no postbox can have, and for a subject
    ///   of several lines or more than ``PostboxLetter/maximumSubjectBytes``.
    convenience init(
        letterTo recipient: String, postbox: String, subject: String? = nil, text: String, id: String?
    ) throws(RelayError) {
        guard recipient.isSubjectToken, postbox.isSubjectToken else {
            throw .invalidArgument("Name the postbox as USER/POSTBOX")
        }
        let subject = subject.flatMap { $0.isEmpty ? nil : $0 }
        if let subject {
            let breaks = "\n\r\u{2028}\u{2029}".unicodeScalars
            guard !subject.unicodeScalars.contains(where: breaks.contains) else {
                throw .invalidArgument("A subject is one line")
            }
            guard subject.utf8.count <= PostboxLetter.maximumSubjectBytes else {
                throw .invalidArgument("A subject has \(PostboxLetter.maximumSubjectBytes) bytes at most")
            }
        }
        let id = id ?? RandomText.identifier()
        let letter = PostboxLetter(id: id, createdAt: Timestamp.now.milliseconds, message: text, subject: subject)
        self.init(id: id, destination: .postbox(user: recipient, postbox: postbox), payload: letter.encoded())
    }
}
