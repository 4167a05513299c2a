import NIOCore

/// Carries the bytes of one direction of one connection as its lane decides. Lives on the proxy's event loop.
final class FaultFlow {
    /// The direction, which is not `both`.
    let direction: FaultProxy.Direction
    private var lane: FaultLane
    private var frames = FaultFrames()
    private let loop: any EventLoop
    private let begin: NIODeadline
    /// What the flow cannot do alone: ending the connection, counting.
    private weak var link: FaultLink?

    private var source: (any Channel)?
    private var destination: (any Channel)?
    private var stored = CircularBuffer<ByteBuffer>()
    private var alarm: Scheduled<Void>?
    private var isReading = false
    private var isDriving = false
    private var isDrivenAgain = false
    private var isStopped = false

    init(_ direction: FaultProxy.Direction, lane: FaultLane, begin: NIODeadline, loop: any EventLoop, link: FaultLink) {
        self.direction = direction
        self.lane = lane
        self.begin = begin
        self.loop = loop
        self.link = link
    }

    var isOver: Bool { lane.isOver }
    var isOutputClosed: Bool { lane.isOutputClosed }
    var hasEnded: Bool { lane.hasEnded }
    var rules: FaultLane.Rules { lane.rules }
    private var now: Duration { .nanoseconds((NIODeadline.now() - begin).nanoseconds) }

    // MARK: Events

    func begins(at source: any Channel) {
        self.source = source
        drive()
    }

    func leads(to destination: any Channel) {
        self.destination = destination
        // It was to end before it had come.
        if lane.isOutputClosed { destination.close(mode: .output, promise: nil) }
        drive()
    }

    func change(_ rules: FaultLane.Rules) {
        lane.change(rules, at: now)
        drive()
    }

    func halfClose() {
        lane.halfClose()
        drive()
    }

    func strike(_ fault: FaultProxy.MessageFault) { frames.strike(fault) }

    func received(_ bytes: ByteBuffer) {
        guard !isStopped else { return }
        let before = frames.struck
        take(frames.pass(bytes))
        link?.struck(frames.struck - before)
        drive()
    }

    private func take(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        stored.append(bytes)
        lane.received(bytes.readableBytes, at: now)
    }

    func readCompleted() {
        isReading = false
        readOn()
    }

    func sourceEnded() {
        take(frames.end())
        lane.sourceEnded(at: now)
        drive()
    }

    func sourceLost() {
        source = nil
        take(frames.end())
        lane.sourceLost(at: now)
        drive()
    }

    func destinationLost() {
        destination = nil
        lane.destinationLost()
        drive()
    }

    /// From now on nothing is forwarded: the connection is being ended. The source is still read when it is to end in
    /// good order, or the system would reset it.
    func stop() {
        isStopped = true
        stored.removeAll()
        alarm?.cancel()
        alarm = nil
        readOn()
    }

    // MARK: Driving

    func drive() {
        guard !isStopped else { return }
        // Writing can call back at once; the outer loop then goes round once more.
        guard !isDriving else {
            isDrivenAgain = true
            return
        }
        isDriving = true
        repeat {
            isDrivenAgain = false
            step()
        } while isDrivenAgain && !isStopped
        isDriving = false
        guard !isStopped else { return }
        readOn()
        link?.looksWhetherOver()
    }

    private func step() {
        var hasWritten = false
        defer { if hasWritten { destination?.flush() } }
        while !isStopped {
            switch lane.next(at: now, canForward: destination?.isWritable ?? false) {
            case .forward(let length):
                write(length)
                hasWritten = true
                if lane.rules.pieceLength != nil {
                    // The next piece in another turn of the loop, or the system would join the two.
                    let bound = NIOLoopBound(self, eventLoop: loop)
                    loop.execute { bound.value.drive() }
                    return
                }
            case .swallow(let length):
                var left = length
                while left > 0 { left -= takePiece(upTo: left).readableBytes }
                link?.swallowed(length)
            case .wait(let time): return setAlarm(time)
            case .finish: destination?.close(mode: .output, promise: nil)
            case .reset:
                link?.end(.reset)
                return
            case .cut(let ending):
                destination?.flush()
                link?.cutAfterWriting(ending, to: destination)
                return
            case .rest: return
            }
        }
    }

    private func write(_ length: Int) {
        guard let destination else { return }
        var left = length
        while left > 0 {
            let piece = takePiece(upTo: left)
            left -= piece.readableBytes
            destination.write(piece, promise: nil)
        }
        link?.forwarded(length, direction)
    }

    /// The first bytes kept, as many of the wanted as are in one buffer.
    private func takePiece(upTo length: Int) -> ByteBuffer {
        guard var first = stored.first else { return ByteBuffer() }
        guard first.readableBytes > length, let piece = first.readSlice(length: length) else {
            return stored.removeFirst()
        }
        stored[stored.startIndex] = first
        return piece
    }

    private func setAlarm(_ time: Duration) {
        alarm?.cancel()
        let bound = NIOLoopBound(self, eventLoop: loop)
        // Rounded up, or the alarm could come a moment before its time.
        let deadline = begin + .nanoseconds(time.wholeNanoseconds + 1)
        alarm = loop.scheduleTask(deadline: deadline) { bound.value.drive() }
    }

    private func readOn() {
        guard !isReading, lane.wantsInput || isStopped, !lane.hasEnded, let source, source.isActive else { return }
        isReading = true
        source.read()
    }
}

extension Duration {
    /// The time in nanoseconds, as far as 64 bits hold it.
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflows ? .max / 2 : min(product, .max / 2) + attoseconds / 1_000_000_000
    }
}
