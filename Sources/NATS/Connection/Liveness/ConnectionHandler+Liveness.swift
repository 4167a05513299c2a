import NIOCore

/// What happens at its time: pings that find out whether the connection still lives, and requests that wait too long.
extension ConnectionHandler {
    func startPings(_ context: ChannelHandlerContext) {
        let interval = core.options.pingInterval
        if interval > .zero { SendQueue.setTimeout(interval + core.options.pongTimeout, context.channel) }
        // Without an interval a ping leaves only when it is asked for.
        let machine = LivenessMachine(
            interval: interval > .zero ? interval.nanoseconds : .max, limit: core.options.pongTimeout.nanoseconds,
            now: Self.now)
        liveness = machine
        askLiveness(at: machine.nextPing, context)
    }

    static var now: Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

    func probe(limit: Duration) {
        guard let context, core.isOpen, liveness?.hasten(now: Self.now, limit: limit.nanoseconds) == true else {
            return
        }
        livenessAlarm?.cancel()
        askLiveness(at: Self.now, context)
    }

    /// - Parameter isAgain: whether the loop came to it late before, so that it is judged however late this is.
    private func askLiveness(at moment: Int64, _ context: ChannelHandlerContext, isAgain: Bool = false) {
        guard moment < .max else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        livenessAlarm = context.eventLoop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(clamping: moment))) {
            guard !isAgain, Self.hasOverslept(.uptimeNanoseconds(UInt64(clamping: moment))) else {
                return bound.value.livenessMoment()
            }
            guard let context = bound.value.context else { return }
            bound.value.askLiveness(at: Self.now + Self.tick.nanoseconds, context, isAgain: true)
        }
    }

    private static let tick = TimeAmount.milliseconds(50)

    /// Whether the loop comes so late to a moment that it has not read for a while: the process was stopped, or
    /// something held the loop up. What has arrived meanwhile is read before anything is given up, and that is one
    /// round of the loop away.
    private static func hasOverslept(_ due: NIODeadline) -> Bool { NIODeadline.now() - due > .milliseconds(500) }

    private func livenessMoment() {
        guard let context, core.isOpen else { return }
        let action = liveness?.momentCame(now: Self.now, outbound: core.outboundProgress)
        switch action {
        case .stale: fail(.staleConnection)
        case .wait(let moment): askLiveness(at: moment, context)
        case .ping(let moment):
            ping = (try? core.sendPing()).map { ($0, .now()) }
            if ping == nil { liveness?.pingFailed() }
            askLiveness(at: moment, context)
            if core.claimClock() { startClock() }
        case nil: break
        }
    }

    /// What the server refuses although it is to stand as long as the connection.
    struct Refusal {
        var count = 0
        var alarm: Scheduled<Void>?
        /// The ping after the newest attempt: its answer says that the server did not refuse.
        var ping: Completion<Result<Void, NATSError>>?
    }

    /// The server refused a standing subscription. It may permit it later on the same connection, so it is asked again
    /// after 1, 2, 4 s and so on, and then every 30; for the inbox, without which nothing can be asked, every five.
    func askLater(for sid: UInt64) {
        var refusal = refusals[sid] ?? Refusal()
        refusal.ping = nil
        if let context, core.isOpen, refusal.alarm == nil {
            let pause = min(sid == ConnectionCore.inboxSID ? 5 : 30, 1 << min(refusal.count, 5))
            refusal.count += 1
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            refusal.alarm = context.eventLoop.scheduleTask(in: .seconds(Int64(pause))) {
                bound.value.askAgain(for: sid)
            }
        }
        refusals[sid] = refusal
    }

    private func askAgain(for sid: UInt64) {
        refusals[sid]?.alarm = nil
        do throws(NATSError) {
            guard try core.subscribeAgain(sid) else { return refusals[sid] = nil }
            refusals[sid]?.ping = try core.sendPing()
        } catch {
            askLater(for: sid)
        }
    }

    func answered(_ waiter: Completion<Result<Void, NATSError>>?) {
        if let waiter, let sid = refusals.first(where: { $0.value.ping === waiter })?.key {
            refusals[sid] = nil
            if sid == ConnectionCore.inboxSID { core.requests.permit() }
        }
        guard let ping, ping.waiter === waiter else { return }
        self.ping = nil
        liveness?.answered()
        // That the answer is here was to be looked at later: there is nothing more to find out before the next ping.
        livenessAlarm?.cancel()
        livenessMoment()
        core.emit(.roundTrip(.nanoseconds((NIODeadline.now() - ping.sent).nanoseconds)))
    }

    private func expireRequests() {
        let late = core.requests.expire(at: .now())
        guard !late.isEmpty else { return }
        // A dead link is found by the liveness; a slow one has brought the requests when it has brought a ping behind
        // them.
        probe(limit: core.options.pongTimeout)
        guard let waiter = try? core.sendPing() else { return core.requests.arrived(late, at: .now()) }
        Task { [core] in
            do throws(NATSError) { try await waiter.result() } catch { return }
            core.requests.arrived(late, at: .now())
        }
    }

    /// Says so where nothing arrives although an answer is awaited.
    private func judgeSilence() {
        switch silence.waits(now: Self.now, outbound: { core.outboundProgress }) {
        case .ask: probe(limit: core.options.pongTimeout)
        case .silent(let since): core.emit(.silent(for: .nanoseconds(Self.now - since)))
        case nil: break
        }
    }

    /// Runs only while requests or pings wait; they are late by at most one tick when they time out.
    ///
    /// - Parameter isAgain: as of the liveness.
    func startClock(isAgain: Bool = false) {
        guard clock == nil, let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let due = NIODeadline.now() + Self.tick
        clock = context.eventLoop.scheduleTask(in: Self.tick) {
            bound.value.clock = nil
            guard isAgain || !Self.hasOverslept(due) else {
                bound.value.silence.excuse()
                return bound.value.startClock(isAgain: true)
            }
            bound.value.expireRequests()
            bound.value.core.expirePings(at: .now())
            guard bound.value.core.clockTicked() else { return bound.value.silence.excuse() }
            bound.value.judgeSilence()
            bound.value.startClock()
        }
    }
}
