import NIOCore

/// The server's frames: messages, INFO, pings and errors.
extension ConnectionHandler: ProtocolSink {
    @inline(__always)
    func received(
        sid: UInt64, subject: UnsafeRawBufferPointer, reply: UnsafeRawBufferPointer?, headerLength: Int,
        content: ByteBuffer
    ) {
        if sid == ConnectionCore.inboxSID {
            return core.requests.resolve(subject) { wantsSubject in
                NATSMessage(
                    subject: wantsSubject ? String(decoding: subject, as: UTF8.self) : "",
                    reply: reply.map { String(decoding: $0, as: UTF8.self) }, content: content,
                    headerLength: headerLength)
            }
        }
        let source = UInt32(truncatingIfNeeded: sid)
        if staged.last?.source != source {
            guard let found = core.buffer(of: sid) else { return }
            if found !== reader { deliverStaged() }
            reader = found
        }
        staged.append(
            NATSMessage(
                subject: text(ofSubject: subject), reply: reply.map { String(decoding: $0, as: UTF8.self) },
                content: content, headerLength: headerLength, source: source))
    }

    /// Consecutive messages of one read on the same subject share its string.
    @inline(__always)
    private func text(ofSubject bytes: UnsafeRawBufferPointer) -> String {
        if let last = staged.last?.subject,
            last.utf8.withContiguousStorageIfAvailable({ bytes.elementsEqual(UnsafeRawBufferPointer($0)) }) == true
        {
            return last
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func receivedInfo(_ json: [UInt8], hasTrailingBytes: Bool) {
        guard isAlive else { return }
        do throws(NATSError) {
            try allowance.informed(bytes: json.count, now: KeepAlive.now)
            let info = try ServerInfo.decode(json, after: core.info)
            core.informed(info)
            if case .open = phase {
                core.emit(.infoChanged(info))
                if info.isLameDuck == true { core.emit(.lameDuck) }
            } else {
                step { $0.infoReceived(info, hasTrailingBytes: hasTrailingBytes) }
            }
        } catch { fail(error) }
    }

    func receivedPing() {
        guard isAlive else { return }
        do throws(NATSError) { try pongs.pinged() } catch { fail(error) }
    }

    /// Answers from the loop, ahead of the outbound buffer; the pings of one read are answered in one write.
    func answerPings() {
        guard isAlive, let context else { return }
        let count = pongs.nextBatch()
        guard count > 0 else { return }
        var buffer = context.channel.allocator.buffer(capacity: count * 6)
        for _ in 0..<count { buffer.writeStaticString("PONG\r\n") }
        context.writeAndFlush(wrapOutboundOut(buffer)).assumeIsolated().whenComplete { _ in
            self.pongs.taken()
            self.answerPings()
        }
    }

    func receivedPong() {
        // A caller that waits for a PONG expects everything before it to have been delivered.
        deliverStaged()
        guard case .open(let keepAlive, let refused) = phase else { return step { $0.pongReceived() } }
        guard let waiter = core.pongReceived() else { return }
        refused.answered(waiter)
        keepAlive.answered(waiter)
    }

    func receivedError(_ text: String) {
        guard isAlive else { return }
        deliverStaged()
        // A long piece counts as written once all of it is, but the server may refuse its beginning before that.
        let (written, unwritten) = core.outbound.progress
        do throws(NATSError) { try allowance.refused(afterSending: written + unwritten) } catch { return fail(error) }
        switch ServerErrorText(text) {
        case .fatal(let error): fail(error)
        case .publishRefused(let subject):
            let error = NATSError.publishNotPermitted(subject: subject)
            core.requests.fail(subject: subject, with: error)
            core.emit(.notice(error))
        case .subscriptionRefused(let subject, let queue, let sid):
            let error = NATSError.subscribeNotPermitted(subject: subject)
            let standing = core.failSubscriptions(to: subject, queue: queue, sid: sid, with: error)
            if case .open(_, let refused) = phase { standing.forEach(refused.askLater) }
            core.emit(.notice(error))
        case .notice(let error): core.emit(.notice(error))
        }
    }
}
