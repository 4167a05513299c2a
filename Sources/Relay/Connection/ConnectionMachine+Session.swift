// The steps that several events share.
extension ConnectionMachine {
    // MARK: Session

    /// Opens a session that has never been connected.
    mutating func begin(at now: ContinuousClock.Instant) {
        hasConnected = false
        isOutageAnnounced = false
        renewals = 0
        refusal = nil
        backoffStep = 0
        connectedAt = nil
        status = ConnectionStatus(state: .connecting, outageBegan: now)
        start(.longOutage, at: now + policy.longOutage)
    }

    /// Ends the session: the one place where DISCONNECTED comes from.
    mutating func end(_ reason: ConnectionReason) {
        abandonSocket()
        cancelTimers(TimerID.Kind.allCases)
        phase = .resting
        status = ConnectionStatus(state: .disconnected, reason: reason, recoveries: status.recoveries)
        publish()
        if reason == .windowExpired { output.append(.event(.reconnectFailed)) }
        output.append(.event(.disconnected))
        completeConnect(.connection(reason))
        output.append(.discardOutbox(reason))
    }

    /// What a failed dial or a lost socket leads to: a renewed token, the end, or another attempt.
    mutating func fail(_ reason: ConnectionReason, at now: ContinuousClock.Instant, retryWithin limit: Duration? = nil)
    {
        // A connection that never lasts must not be retried at the pace of one that does; the same holds for tokens
        // that are refused as soon as they are used.
        if phase == .online, let connectedAt, now - connectedAt >= policy.stableAfter {
            backoffStep = 0
            renewals = 0
        }
        if reason.isRenewable, renewals < policy.tokenRenewals {
            renewals += 1
            refusal = reason
            leaveSocket(reason, at: now)
            phase = .renewing
            output.append(.renewCredentials(generation: generation))
        } else if reason.isFinal {
            end(reason)
        } else {
            leaveSocket(reason, at: now)
            waitForRetry(at: now, within: limit)
        }
    }

    // MARK: Attempts

    /// Dials at once, or waits for the network when there is none.
    mutating func dialOrPause(at now: ContinuousClock.Instant) {
        guard isNetworkAvailable else { return pause() }
        cancelTimers([.retry])
        generation += 1
        phase = .dialing
        (failing, isFollowingComplete, isRecoveryUnannounced) = ([], true, false)
        lastDialAt = now
        status.attempt += 1
        status.nextRetryAt = nil
        if status.reason == .networkUnavailable { status.reason = nil }
        output.append(.dial(generation: generation, attempt: status.attempt))
    }

    /// Waits for the network, without a timer; the attempt count stays as it is.
    mutating func pause() {
        cancelTimers([.retry])
        phase = .waiting
        status.nextRetryAt = nil
        status.reason = .networkUnavailable
    }

    /// Brings the next attempt forward for a person, as far as the policy's spacing of dials allows.
    mutating func hasten(at now: ContinuousClock.Instant) {
        guard isNetworkAvailable else { return }
        let earliest = lastDialAt.map { $0 + policy.nudgeSpacing } ?? now
        if earliest <= now {
            dialOrPause(at: now)
        } else if let running = timers[.retry], running.deadline > earliest {
            start(.retry, at: earliest)
            status.nextRetryAt = earliest
        }
    }

    /// Starts the schedule again, for a return to the foreground or of the network.
    mutating func resetBackoff() {
        backoffStep = 0
        status.attempt = 0
    }

    private mutating func waitForRetry(at now: ContinuousClock.Instant, within limit: Duration?) {
        guard isNetworkAvailable else { return pause() }
        phase = .waiting
        backoffStep += 1
        let delay = policy.delay(attempt: backoffStep, using: &generator)
        let moment = now + min(delay, limit ?? delay)
        start(.retry, at: moment)
        status.nextRetryAt = moment
    }

    /// Lets go of the present dial or socket after a failure, and opens an outage if it was connected.
    private mutating func leaveSocket(_ reason: ConnectionReason, at now: ContinuousClock.Instant) {
        if hasSocket { output.append(.closeSocket(generation: generation)) }
        if phase == .online { openOutage(reason, at: now) }
        status.reason = reason
    }

    private mutating func openOutage(_ reason: ConnectionReason?, at now: ContinuousClock.Instant) {
        status = ConnectionStatus(
            state: hasConnected ? .reconnecting : .connecting,
            reason: reason,
            outageBegan: now,
            recoveries: status.recoveries
        )
        start(.longOutage, at: now + policy.longOutage)
        guard hasConnected else { return }
        if let window = policy.window { start(.window, at: now + window) }
        guard !isOutageAnnounced else { return }
        isOutageAnnounced = true
        publish()
        output.append(.event(.reconnecting))
    }

    // MARK: Background

    mutating func suspend(_ reason: ConnectionReason?) {
        guard phase != .resting, phase != .suspended else { return }
        abandonSocket()
        // A caller of connect still waits, so its limit still runs.
        cancelTimers([.retry, .window, .longOutage])
        phase = .suspended
        status = ConnectionStatus(state: .suspended, reason: reason, recoveries: status.recoveries)
    }

    mutating func resume(at now: ContinuousClock.Instant) {
        switch phase {
        case .suspended:
            backoffStep = 0
            openOutage(nil, at: now)
            dialOrPause(at: now)
        case .waiting:
            resetBackoff()
            dialOrPause(at: now)
        case .dialing, .restoring, .renewing: backoffStep = 0
        case .resting, .online: break
        }
    }

    // MARK: Output

    /// Adds the status to the actions if it is news.
    mutating func publish() {
        guard status != published else { return }
        published = status
        output.append(.publish(status))
    }

    mutating func start(_ kind: TimerID.Kind, at deadline: ContinuousClock.Instant) {
        cancelTimers([kind])
        timerSerial += 1
        let id = TimerID(kind: kind, serial: timerSerial)
        timers[kind] = RunningTimer(id: id, deadline: deadline)
        output.append(.startTimer(id, at: deadline))
    }

    mutating func cancelTimers(_ kinds: [TimerID.Kind]) {
        for kind in kinds {
            guard let running = timers.removeValue(forKey: kind) else { continue }
            output.append(.cancelTimer(running.id))
        }
    }

    mutating func completeConnect(_ error: RelayError?) {
        guard isConnectPending else { return }
        isConnectPending = false
        output.append(.completeConnect(error))
    }

    private mutating func abandonSocket() {
        if phase == .dialing || hasSocket { output.append(.closeSocket(generation: generation)) }
    }
}
