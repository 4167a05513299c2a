import NIOCore
import Platform

/// The system's figures about a socket's bytes.
enum SocketQueues {
    /// Bytes that the peer's system has not acknowledged yet; 0 if the system does not tell.
    static func unacknowledgedBytes(_ channel: any Channel) -> Int {
        ask(channel) { descriptor -> Int? in
            var count: CInt = 0
            #if os(Linux)
                return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? max(0, Int(count)) : nil
            #else
                var size = socklen_t(MemoryLayout<CInt>.size)
                return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? max(0, Int(count)) : nil
            #endif
        } ?? 0
    }

    /// Whether bytes have arrived that were not read yet.
    static func hasUnread(_ channel: any Channel) -> Bool {
        ask(channel) { descriptor -> Bool? in
            var count: CInt = 0
            return ioctl(descriptor, UInt(FIONREAD), &count) == 0 && count > 0
        } ?? false
    }

    /// Bytes that the peer's system has acknowledged since the connection began; nil if the system does not tell.
    static func acknowledgedBytes(_ channel: any Channel) -> Int? {
        #if os(Linux)
            // `tcpi_bytes_acked` of `struct tcp_info`, which only ever grows at its end. Not every C library declares
            // the field.
            let place = 120
            return ask(channel) { descriptor in
                withUnsafeTemporaryAllocation(byteCount: place + 8, alignment: 8) { info -> Int? in
                    var size = socklen_t(info.count)
                    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0,
                        size == info.count
                    else { return nil }
                    return Int(clamping: info.load(fromByteOffset: place, as: UInt64.self))
                }
            }
        #else
            return nil
        #endif
    }

    private static func ask<Answer>(_ channel: any Channel, _ question: (NIOBSDSocket.Handle) -> Answer?) -> Answer? {
        let answer = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self, question)
        return answer.flatMap { $0 }
    }

    /// Has the system drop the connection if the peer acknowledges or reads nothing for this long (RFC 5482).
    static func setTimeout(_ timeout: Duration, _ channel: any Channel) {
        #if os(Linux)
            let option = NIOBSDSocket.Option(rawValue: CInt(TCP_USER_TIMEOUT))
            let value = timeout.nanoseconds / 1_000_000
        #else
            let option = NIOBSDSocket.Option(rawValue: TCP_RXT_CONNDROPTIME)
            let value = timeout.nanoseconds / 1_000_000_000
        #endif
        // On systems without the option, the pings remain.
        try? channel.syncOptions?.setOption(ChannelOptions.tcpOption(option), value: Int(CInt(clamping: max(1, value))))
    }
}
