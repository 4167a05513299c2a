import NIOCore

/// Carries the bytes of one direction of one connection as its lane decides. Used only on the proxy's event loop.
final class FaultFlow {
    /// Never `both`.
    let direction: FaultProxy.Direction
    private(set) var lane: FaultLane
    private let loop: any EventLoop
    private let begin: NIODeadline
    /// Ends the connection and counts for the flow.
    weak var link: FaultLink?

    private var source: (any Channel)?
    private var destination: (any Channel)?
    private var alarm: Scheduled<Void>?
    private var isReading = false
    private var isDriving = false
    private var isDrivenAgain = false
    private var isStopped = false

    init(_ direction: FaultProxy.Direction, _ rules: FaultLane.Rules, seed: UInt64, _ core: FaultProxyCore) {
        self.direction = direction
        lane = FaultLane(rules: rules, seed: seed)
        (begin, loop) = (core.begin, core.loop)
    }

    private var now: Duration { .nanoseconds((NIODeadline.now() - begin).nanoseconds) }

    func attach(source: any Channel) {
        self.source = source
        drive()
    }

    func attach(destination: any Channel) {
        self.destination = destination
        // Its end was requested before it joined.
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

    func strike(_ fault: FaultProxy.MessageFault) { lane.strike(fault) }

    func received(_ bytes: ByteBuffer) {
        guard !isStopped else { return }
        let struck = lane.received(bytes, at: now)
        link?.count { $0.messages += struck }
        drive()
    }

    func readCompleted() {
        isReading = false
        readOn()
    }

    func sourceEnded(isLost: Bool) {
        if isLost { source = nil }
        lane.sourceEnded(isLost: isLost, at: now)
        drive()
    }

    func destinationLost() {
        destination = nil
        lane.destinationLost()
        drive()
    }

    /// Stops forwarding: the connection is being ended. The source is still read, or the system would reset it.
    func stop() {
        isStopped = true
        alarm?.cancel()
        alarm = nil
        readOn()
    }

    func drive() {
        guard !isStopped else { return }
        // Writing can call back at once; the outer loop then runs once more.
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
        link?.closeIfOver()
    }

    private func step() {
        var hasWritten = false
        defer { if hasWritten { destination?.flush() } }
        while !isStopped {
            switch lane.next(at: now, canForward: destination?.isWritable ?? false) {
            case .forward(let bytes):
                destination?.write(bytes, promise: nil)
                hasWritten = true
                let path = direction == .fromClient ? \FaultProxy.Statistics.bytesFromClient : \.bytesFromServer
                link?.count { $0[keyPath: path] += bytes.readableBytes }
                if lane.rules.pieceLength != nil {
                    // The next piece waits for another turn of the loop, or the system would join the two.
                    loop.assumeIsolated().execute { self.drive() }
                    return
                }
            case .swallow(let length): link?.count { $0.swallowedBytes += length }
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

    private func setAlarm(_ time: Duration) {
        alarm?.cancel()
        // Rounded up, or the alarm could be a moment early.
        let deadline = begin + TimeAmount(time) + .nanoseconds(1)
        alarm = loop.assumeIsolated().scheduleTask(deadline: deadline) { self.drive() }
    }

    private func readOn() {
        guard !isReading, lane.wantsInput || isStopped, !lane.hasEnded, let source, source.isActive else { return }
        isReading = true
        source.read()
    }
}
