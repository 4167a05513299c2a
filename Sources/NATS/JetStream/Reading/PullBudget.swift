/// How much the pulls of one reader may bring, in messages and in bytes: a pure value.
///
/// The server ends a pull before a message that does not fit into what is left of its bytes. Where the pull has brought
/// nothing until then, the message is larger than all of it, and the next pull asks for twice as much; after such
/// messages pulls ask for the usual again. A pull whose bytes are used up to the last one ends without a word.
struct PullBudget {
    struct Pull {
        let source: UInt64
        let bytes: Int
        /// Whether the server knows of that bound.
        let isBounded: Bool
        var messagesLeft: Int
        var bytesLeft: Int
        /// The size of the largest message that it has brought; 0 for none.
        var largest = 0
    }

    /// What a pull asks for where no message is larger: so much that the next one arrives while it is being served.
    static let usualBytes = 4 << 20

    private let asked: Int
    private let usual: Int
    /// Whether each pull asks for a single message, so that there are many at a time, each for few bytes.
    var isSingle = false { didSet { next = least } }
    /// The most that one pull may ask for, so that any message fits that a server takes by its standard settings.
    let largest: Int
    private(set) var pulls: [Pull] = []
    /// Messages that all of them together still allow.
    private(set) var messages = 0
    /// Bytes that all of them together still allow.
    private(set) var bytes = 0
    private(set) var next: Int

    /// What a pull asks for that asks for a single message, where none is larger.
    private static let singleBytes = 16 << 10
    /// So many pulls for a single message may be under way: a server lets 512 requests of a consumer wait.
    static let singles = 384
    private var least: Int { isSingle ? min(Self.singleBytes, usual) : usual }

    /// Creates a budget without pulls. The largest payload is what the server takes now; the stream may hold larger
    /// ones. A pull asks for `asked` bytes where no message is larger, or for `most`; all together ask for twice as
    /// many, unless a single one has to ask for more.
    init(maximumPayload: Int, asked: Int = PullBudget.usualBytes, most: Int = .max) {
        largest = max(64 << 20, min(maximumPayload, Int(Int32.max))) + 64 << 10
        self.asked = asked
        usual = min(max(1, min(asked, most)), largest)
        next = self.usual
    }

    /// What the server counts of a message.
    @inline(__always)
    static func size(of message: NATSMessage) -> Int {
        message.content.readableBytes + message.subject.utf8.count + (message.reply?.utf8.count ?? 0)
    }

    /// A buffer that holds whatever the pulls bring, and what the server says of them.
    func bufferLimits(messages: Int) -> BufferLimits {
        BufferLimits(messages: messages, bytes: largest + 1 << 20, overflow: .dropNewest)
    }

    /// Whether it is time for another pull of so many messages: when half of what one brings is left, so that the
    /// server does not wait for this side, and only within the total.
    @inline(__always)
    func wantsPull(of count: Int) -> Bool {
        guard messages <= count / 2 || bytes <= next / 2 else { return false }
        return pulls.isEmpty || (bytes + next <= 2 * asked && messages <= 2 * count)
    }

    /// Whether another pull for a single message is to be sent, where so many may be under way.
    func wantsSingle(of count: Int) -> Bool {
        pulls.isEmpty || messages < count && bytes + next <= 2 * asked
    }

    /// A pull was sent; one that does not name its bytes is expected to bring these.
    mutating func began(_ source: UInt64, messages: Int, bytes: Int, isBounded: Bool = true) {
        pulls.append(
            Pull(source: source, bytes: bytes, isBounded: isBounded, messagesLeft: messages, bytesLeft: bytes))
        self.messages += messages
        self.bytes += bytes
    }

    /// A pull has brought a message; returns whether it has ended with that one.
    mutating func received(_ size: Int, at index: Int) -> Bool {
        let pull = pulls[index]
        // Only with exactly as many bytes as were left the server ends it; what it counts otherwise it says.
        let isUsedUp = pull.isBounded && size == pull.bytesLeft
        let spent = pull.isBounded ? min(size, pull.bytesLeft) : 0
        pulls[index].messagesLeft -= 1
        pulls[index].bytesLeft -= spent
        pulls[index].largest = max(pull.largest, size)
        messages -= 1
        bytes -= spent
        guard isUsedUp || pull.messagesLeft <= 1 else { return false }
        remove(index)
        return true
    }

    /// The server said that a pull has ended; `isTooSmall` if the next message does not fit into what was left of its
    /// bytes. Throws `jetStream` for a message that no pull can bring.
    mutating func ended(at index: Int, isTooSmall: Bool) throws(NATSError) {
        let pull = pulls[index]
        remove(index)
        guard isTooSmall, pull.largest == 0 else { return }
        guard pull.bytes < largest else {
            throw .jetStream(
                JetStreamFailure(code: 413, errorCode: 0, text: "a message has more than \(largest) bytes"))
        }
        next = max(next, min(largest, max(2 * pull.bytes, asked)))
    }

    private mutating func remove(_ index: Int) {
        let pull = pulls.remove(at: index)
        messages -= pull.messagesLeft
        bytes -= pull.bytesLeft
        // Large messages seldom come alone, but the server is to have no more than one of them ready.
        if pull.largest > 0 { next = min(largest, max(least, pull.largest / 4 * 5)) }
    }
}
