import NIOCore

/// Messages on their way to their readers: what one read brings for one reader is handed over together.
extension ConnectionHandler {
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
        if stagedSID != sid {
            guard let buffer = core.buffer(of: sid) else { return }
            if buffer !== stagedBuffer { deliverStaged() }
            (stagedSID, stagedBuffer) = (sid, buffer)
        }
        staged.append(
            NATSMessage(
                subject: text(ofSubject: subject), reply: reply.map { String(decoding: $0, as: UTF8.self) },
                content: content, headerLength: headerLength, source: UInt32(truncatingIfNeeded: sid)))
        stagedBytes += NATSMessage.size(content: content, texts: subject.count + (reply?.count ?? 0))
    }

    private func text(ofSubject bytes: UnsafeRawBufferPointer) -> String {
        let isSame = lastSubjectBytes.withUnsafeBytes { last in
            last.count == bytes.count && last.elementsEqual(bytes)
        }
        if !isSame {
            lastSubject = String(decoding: bytes, as: UTF8.self)
            lastSubjectBytes = Array(bytes)
        }
        return lastSubject
    }

    func deliverStaged() {
        guard let buffer = stagedBuffer, !staged.isEmpty else { return }
        let bytes = stagedBytes
        stagedBytes = 0
        switch buffer.deliver(&staged, bytes: bytes, of: chunk) {
        case .accepted: break
        case .dropped(let total): core.emit(.slowConsumer(subject: buffer.subject, dropped: total))
        }
    }
}
