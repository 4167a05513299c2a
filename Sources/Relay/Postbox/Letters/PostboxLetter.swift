import Platform

/// A message on its way to a postbox: the JSON published to `postbox.<user>.<postboxId>`.
///
/// The reader's `createdAt` is when the server stored it; the field of the same name here is by the sender's clock. The
/// sender is no field: the server appends the name to the subject. Nor is the recipient's persona (Sudo), which is that
/// of the postbox.
public struct PostboxLetter: Codable, Hashable, Sendable {
    /// The sender's id of the message, also its `Nats-Msg-Id`, so that a repeated send stores it once.
    public var id: String
    /// When it was written, in milliseconds since 1970 by the sender's clock.
    public var createdAt: Int64
    /// The text.
    public var message: String
    /// The subject line, or nil if none was given.
    public var subject: String?

    /// The most bytes of a subject.
    public static let maximumSubjectBytes = 256

    /// Creates a letter.
    public init(id: String, createdAt: Int64, message: String, subject: String? = nil) {
        self.id = id
        self.createdAt = createdAt
        self.message = message
        self.subject = subject
    }

    /// Decodes a letter. A subject of another type is ignored.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        createdAt = try container.decode(Int64.self, forKey: .createdAt)
        message = try container.decode(String.self, forKey: .message)
        let subject = try? container.decode(String.self, forKey: .subject)
        self.subject = subject.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A request to `relay.postbox.<user>.<list|create|rename|enable|disable|delete>`; a `list` may be empty.
public struct PostboxRequest: Codable, Hashable, Sendable {
    /// The name of the postbox, which is also its id.
    public var name: String?
    /// The identity (Sudo) of a new postbox, by default the user's first; in any other request, limits it to this
    /// identity's postboxes.
    public var sudoId: String?
    /// The new title, for `rename`; the postbox's name removes the title.
    public var title: String?

    /// The most bytes of a title.
    public static let maximumTitleBytes = 128

    /// Creates a request.
    public init(name: String? = nil, sudoId: String? = nil, title: String? = nil) {
        self.name = name
        self.sudoId = sudoId
        self.title = title
    }

    /// Normalizes a title: its words in one line, separated by single spaces.
    ///
    /// - Returns: Nil for a text without visible characters, one of more than ``maximumTitleBytes``, and one with
    ///   control or format characters other than the joiners that some scripts and emoji need.
    public static func title(_ text: String) -> String? {
        let title = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard (1...maximumTitleBytes).contains(title.utf8.count),
            title.unicodeScalars.allSatisfy(isAllowed), visible(title).unicodeScalars.contains(where: isSeen)
        else { return nil }
        return title
    }

    /// The visible part of a name or title: two that agree in it look alike.
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

    /// Whether a scalar is visible by itself; Braille has a blank of its own.
    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .spaceSeparator, .lineSeparator, .paragraphSeparator,
            .control, .format, .surrogate, .unassigned:
            false
        default: scalar != "\u{2800}"
        }
    }
}

/// The answer to a ``PostboxRequest``: the postboxes, or an error.
public struct PostboxReply: Codable, Hashable, Sendable {
    /// The network's description of a postbox.
    public struct Entry: Codable, Hashable, Sendable {
        /// One subject token: letters, digits, `_` and `-`.
        public var id: String
        /// Its name, which is also its id.
        public var name: String
        /// The owner's title for it; nil without one, as on networks of earlier versions.
        public var title: String?
        /// The identity (Sudo) that it belongs to.
        public var sudoId: String
        /// Whether it accepts messages.
        public var isEnabled: Bool
        /// When it was created, in milliseconds since 1970.
        public var createdAt: Int64

        /// Describes a postbox.
        public init(id: String, name: String, title: String? = nil, sudoId: String, isEnabled: Bool, createdAt: Int64) {
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
        /// The name is missing, or is not 1 to 64 letters, digits, `_` and `-`.
        case invalidName
        /// The title is missing, or is not a line of 1 to 128 bytes without invisible characters.
        case invalidTitle
        /// Another postbox of the user has this name or title.
        case titleTaken
        /// A postbox with this name, or with this title, exists.
        case exists
        /// There is no postbox with this name.
        case notFound
        /// The user has the maximum number of postboxes.
        case limitExceeded
        /// The request is malformed or unknown.
        case invalidRequest
        /// The network could not do it now; try again.
        case unavailable
    }

    /// All postboxes (`list`), or the one concerned as it is now; for `delete`, as it was.
    public var postboxes: [Entry]?
    /// The error, if any.
    public var error: Failure?

    /// An answer with postboxes.
    public init(postboxes: [Entry]) { self.postboxes = postboxes }
    /// An answer with an error.
    public init(error: Failure) { self.error = error }
}

/// The answer of `relay.recipient.<user>.<postbox>` on whether a letter can be sent there.
public struct RecipientReply: Codable, Hashable, Sendable {
    /// Whether a postbox accepts letters.
    public enum State: String, Codable, Hashable, Sendable {
        /// It accepts letters.
        case accepting
        /// Its owner has disabled it.
        case disabled
        /// The user has no such postbox.
        case unknownPostbox
        /// There is no such user.
        case unknownUser
        /// It has reached its limit of letters or bytes.
        case full
    }

    /// Its state; nil if the network could not find out now.
    public var state: State?

    /// Creates an answer.
    public init(state: State?) { self.state = state }
}

extension Timestamp {
    /// The present moment by this machine's clock.
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }
}

extension PostboxLetter {
    func encoded() -> [UInt8] {
        // Plain text and numbers always encode; the fallback preserves the text in case that ever changes.
        (try? JSONEncoder().encode(self)).map(Array.init) ?? Array(message.utf8)
    }

    /// Decodes a payload that anyone may have published: a letter, or plain text; nil for anything else.
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
    /// A letter to a user's postbox.
    ///
    /// - Parameters:
    ///   - recipient: The postbox's owner.
    ///   - postbox: The postbox's identifier.
    ///   - subject: The subject line; nil or empty for none.
    ///   - text: The text.
    ///   - id: The letter's identifier; a new one if nil.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for an invalid user or postbox name, and for a subject of several
    ///   lines or more than ``PostboxLetter/maximumSubjectBytes``.
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
