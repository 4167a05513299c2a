import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the system knows of the bytes that a socket was given.
enum SendQueue {
    /// Bytes that the peer's system has not acknowledged yet; 0 when the system does not tell.
    static func unacknowledgedBytes(_ channel: any Channel) -> Int {
        let bytes = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            descriptor -> Int in
            var count: CInt = 0
            #if os(Linux)
                return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
            #else
                var size = socklen_t(MemoryLayout<CInt>.size)
                return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? Int(count) : 0
            #endif
        }
        return max(0, bytes.flatMap { $0 } ?? 0)
    }

    /// Has the system give up a connection whose peer acknowledges nothing, or takes nothing, for so long (RFC 5482).
    static func setTimeout(_ timeout: Duration, _ channel: any Channel) {
        #if os(Linux)
            let option = NIOBSDSocket.Option(rawValue: CInt(TCP_USER_TIMEOUT))
            let value = timeout.nanoseconds / 1_000_000
        #else
            let option = NIOBSDSocket.Option(rawValue: TCP_RXT_CONNDROPTIME)
            let value = timeout.nanoseconds / 1_000_000_000
        #endif
        // A system that does not know the option has the pings still.
        try? channel.syncOptions?.setOption(
            ChannelOptions.tcpOption(option), value: Int(CInt(clamping: max(1, value))))
    }
}
