import NIOConcurrencyHelpers
import Platform
import Relay
import Terminal

/// A screen without a terminal, with simulated typing and messages, all on one thread: it measures the loop rather than
/// the kernel.
final class MeasuredScreen: ChatScreen {
    let size: Size
    let hasPendingFrame = false
    var linkUse = LinkUse.auto
    let queue: EventQueue
    /// The seconds from each key's due time until it was on the screen.
    private(set) var delays: [Double] = []
    private(set) var changed = 0
    /// The time spent sending, which is other threads' work in the program.
    private(set) var sending = Duration.zero

    private let flag: NIOLockedValueBox<Bool>
    private let news: [ChatEvent]
    private let rate: Int?
    private let keys: Int
    private let start = ContinuousClock.now
    private var sent = 0
    private var pressed = 0
    private var nextKey: ContinuousClock.Instant
    private var pendingKey: ContinuousClock.Instant?
    private var shown: Canvas
    private var chance: UInt64 = 1

    /// The keys after which the line is cleared.
    private static let line = 60

    /// - Parameters:
    ///   - news: the events to send; with a rate, sending ends with the last key.
    ///   - rate: events per second, evenly spaced; nil for as many as there is room for.
    ///   - keys: the number of keys typed, 5 to 10 ms apart.
    init(size: Size, news: [ChatEvent], rate: Int?, keys: Int) {
        (self.size, self.news, self.rate, self.keys) = (size, news, rate, keys)
        shown = Canvas(size: size)
        let flag = NIOLockedValueBox(false)
        self.flag = flag
        queue = EventQueue { flag.withLockedValue { $0 = true } }
        nextKey = start + .milliseconds(20)
    }

    func wait(until deadline: ContinuousClock.Instant?) -> [TerminalSession.Wake] {
        while true {
            let now = ContinuousClock.now
            send(now)
            var wakes: [TerminalSession.Wake] = []
            if let key = key(now) { wakes.append(.input([.key(key)])) }
            if flag.withLockedValue({ exchange(&$0, with: false) }) { wakes.append(.woken) }
            if !wakes.isEmpty { return wakes }
            if isOver { return [.hangUp] }
            if let deadline, deadline <= now { return [.timedOut] }
            sleep(until: [deadline, pressed < keys ? nextKey : nil, nextNewsTime].compactMap(\.self).min())
        }
    }

    func present(_ canvas: Canvas) {
        changed += CanvasDifference(from: shown, to: canvas).cells
        shown = canvas
        guard let key = pendingKey else { return }
        pendingKey = nil
        delays.append(key.duration(to: .now) / .seconds(1))
    }

    func redraw() {}
    func bell() {}
    func notify(_ notification: TerminalNotification, by use: NotificationUse) -> [NotificationMethod] { [] }
    func setTitle(_ title: String) {}
    func copy(_ text: String) {}
    func edit(_ text: String) -> TextEditor.Outcome { .written(text) }
    func suspend() -> Bool { false }

    // MARK: The network

    private var isOver: Bool {
        guard pressed == keys, pendingKey == nil else { return false }
        return rate != nil || sent == news.count && queue.waitingMessages == 0
    }

    private func send(_ now: ContinuousClock.Instant) {
        while sent < news.count, rate.map({ time(of: sent, $0) <= now }) ?? true, queue.offer(news[sent]) { sent += 1 }
        if rate == nil { sending += now.duration(to: .now) }
    }

    private func time(of index: Int, _ rate: Int) -> ContinuousClock.Instant {
        start + .nanoseconds(index * (1_000_000_000 / max(1, rate)))
    }

    /// When the next message wakes the loop; nil while one is waiting, since it takes later ones along.
    private var nextNewsTime: ContinuousClock.Instant? {
        guard let rate, sent < news.count, queue.waitingMessages == 0 else { return nil }
        return time(of: sent, rate)
    }

    // MARK: The user

    private func key(_ now: ContinuousClock.Instant) -> Key? {
        guard pressed < keys, nextKey <= now else { return nil }
        // Knuth's MMIX generator: the same pauses in every run.
        chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let due = nextKey
        nextKey = now + .microseconds(5_000 + Int(chance >> 33) % 5_000)
        pressed += 1
        if pressed % Self.line == 0 { return Key.control("u") }
        pendingKey = due
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        return Key(.character(letters[pressed % letters.count]))
    }

    private func sleep(until instant: ContinuousClock.Instant?) {
        guard let instant else { return }
        let left = ContinuousClock.now.duration(to: instant)
        // Blocks the thread, as a terminal's poll does. The last part is spent spinning, since sleeping is inexact.
        guard left > .milliseconds(1) else { return }
        usleep(UInt32((left - .microseconds(500)) / .microseconds(1)))
    }
}
