/// How much the pulls of one reader may deliver, in messages and bytes, as a pure value.
///
/// The server ends a pull before a message that does not fit into the rest of its bytes. If the pull has delivered
/// nothing, that message is larger than the pull, and the next pull requests twice as much; after such messages pulls
/// return to the usual size. A pull that uses its bytes up exactly ends without a status.
struct PullBudget {
    struct Pull {
        let source: UInt64
        let bytes: Int
        /// Whether the server knows that limit.
        let isBounded: Bool
        var messagesLeft: Int
        var bytesLeft: Int
        /// The size of the largest message delivered; 0 for none.
        var largest = 0
    }

    /// The bytes that a pull requests if no message is larger: enough for the next request to arrive in time.
    static let usualBytes = 4 << 20

    private let asked: Int
    private let usual: Int
    /// Whether each pull requests a single message, so that there are many pulls of few bytes each.
    var isSingle = false { didSet { next = least } }
    /// The most that one pull may request: enough for any message that a server accepts by default.
    let largest: Int
    private(set) var pulls: [Pull] = []
    /// The messages that all of them together still allow.
    private(set) var messages = 0
    /// The bytes that all of them together still allow.
    private(set) var bytes = 0
    private(set) var next: Int

    /// The bytes that a pull for a single message requests if none is larger.
    private static let singleBytes = 16 << 10
    /// The most pulls for a single message at a time: a server lets 512 requests of a consumer wait.
    static let singles = 384
    private var least: Int { isSingle ? min(Self.singleBytes, usual) : usual }

    /// Creates a budget without pulls. The largest payload is the server's present limit; the stream may hold larger
    /// messages. A pull requests `asked` bytes, at most `most`, unless a message is larger; all together request at
    /// most twice `asked`, unless a single one needs more.
    init(maximumPayload: Int, asked: Int = PullBudget.usualBytes, most: Int = .max) {
        largest = max(64 << 20, min(maximumPayload, Int(Int32.max))) + 64 << 10
        self.asked = asked
        usual = min(max(1, min(asked, most)), largest)
        next = self.usual
    }

    @inline(__always)
    /// The size of a message as the server counts it.
    static func size(of message: NATSMessage) -> Int {
        message.content.readableBytes + message.subject.utf8.count + (message.reply?.utf8.count ?? 0)
    }

    /// The limits of a buffer that holds everything the pulls may deliver, and their statuses.
    func bufferLimits(messages: Int) -> BufferLimits {
        BufferLimits(messages: messages, bytes: largest + 1 << 20, overflow: .dropNewest)
    }

    /// Whether it is time for another pull of `count` messages: when half of one is left, so that the server does not
    /// wait for this side, and only within the total.
    @inline(__always)
    func wantsPull(of count: Int) -> Bool {
        guard messages <= count / 2 || bytes <= next / 2 else { return false }
        return pulls.isEmpty || (bytes + next <= 2 * asked && messages <= 2 * count)
    }

    /// Whether to send another pull for a single message, with at most `count` of them open.
    func wantsSingle(of count: Int) -> Bool { pulls.isEmpty || messages < count && bytes + next <= 2 * asked }

    /// A pull was sent; without a limit of its own it is expected to deliver at most these bytes.
    mutating func began(_ source: UInt64, messages: Int, bytes: Int, isBounded: Bool = true) {
        pulls.append(Pull(source: source, bytes: bytes, isBounded: isBounded, messagesLeft: messages, bytesLeft: bytes))
        self.messages += messages
        self.bytes += bytes
    }

    /// A pull has delivered a message; returns whether the pull has ended with it.
    mutating func received(_ size: Int, at index: Int) -> Bool {
        let pull = pulls[index]
        // The server ends a pull without a status only if its bytes are used up exactly.
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

    /// The server has ended a pull; `isTooSmall` if the next message does not fit into the rest of its bytes. Throws
    /// `jetStream` for a message that no pull can deliver.
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
        // Large messages are seldom alone, but the server should have no more than one of them ready.
        if pull.largest > 0 { next = min(largest, max(least, pull.largest / 4 * 5)) }
    }
}
