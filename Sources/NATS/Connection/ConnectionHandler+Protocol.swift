import NIOCore

/// The rest of what a server says: how it is set up, pings, and errors.
extension ConnectionHandler: ProtocolSink {
    func receivedInfo(_ json: [UInt8], hasTrailingBytes: Bool) {
        guard ending == nil else { return }
        do throws(NATSError) {
            try allowance.informed(bytes: json.count, now: Self.now)
            let info = try ServerInfo.decode(json)
            let isReady = machine.state == .ready
            let action = machine.infoReceived(info, hasTrailingBytes: hasTrailingBytes)
            core.info = machine.info
            run(action)
            if isReady {
                core.emit(.infoChanged(machine.info))
                if info.isLameDuck == true { core.emit(.lameDuck) }
            }
        } catch { fail(error) }
    }

    func receivedPing() {
        guard ending == nil else { return }
        do throws(NATSError) { try pongs.pinged() } catch { fail(error) }
    }

    /// Answers from the loop, before anything that waits in the outbound buffer; what came in one read in one write.
    func answerPings() {
        // A write that is taken at once comes back here while it is being made.
        guard !isAnsweringPings else { return }
        isAnsweringPings = true
        defer { isAnsweringPings = false }
        while let context, ending == nil {
            let count = pongs.nextBatch()
            guard count > 0 else { return }
            var buffer = context.channel.allocator.buffer(capacity: count * 6)
            for _ in 0..<count { buffer.writeStaticString("PONG\r\n") }
            context.writeAndFlush(wrapOutboundOut(buffer)).assumeIsolated().whenComplete { _ in
                self.pongs.taken()
                self.answerPings()
            }
        }
    }

    func receivedPong() {
        // A caller that waits for a PONG expects everything that came before it to have been delivered.
        deliverStaged()
        switch machine.pongReceived() {
        case .succeed:
            if let context { succeed(context) }
        case .wait, .startTLS, .login, .fail:
            answered(core.pongReceived())
        }
    }

    func receivedError(_ text: String) {
        guard ending == nil else { return }
        deliverStaged()
        do throws(NATSError) {
            try allowance.refused(afterSending: core.outbound.progress.written)
        } catch { return fail(error) }
        switch ServerErrorText(text) {
        case .fatal(let error): fail(error)
        case .publishRefused(let subject):
            let error = NATSError.publishNotPermitted(subject: subject)
            core.requests.fail(subject: subject, with: error)
            core.emit(.notice(error))
        case .subscriptionRefused(let subject, let queue, let sid):
            let error = NATSError.subscribeNotPermitted(subject: subject)
            core.failSubscriptions(to: subject, queue: queue, sid: sid, with: error).forEach(askLater)
            core.emit(.notice(error))
        case .notice(let error): core.emit(.notice(error))
        }
    }
}
