import Platform

/// Two sockets that are connected with each other. The caller that takes one closes it.
struct SocketPair {
    let client: CInt
    let server: CInt

    /// Makes the two, which no child process inherits.
    ///
    /// - Throws: `TestFailure` when the system has none left.
    init() throws {
        var descriptors: [CInt] = [-1, -1]
        #if canImport(Glibc)
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        #elseif canImport(Musl)
            let kind = CInt(SOCK_STREAM) | CInt(SOCK_CLOEXEC)
        #else
            let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &descriptors) == 0 else {
            throw TestFailure("there is no pair of sockets: errno \(errno)")
        }
        client = descriptors[0]
        server = descriptors[1]
        #if canImport(Darwin)
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            _ = fcntl(server, F_SETFD, FD_CLOEXEC)
        #endif
    }

    /// Closes the client's end, which has not been taken.
    func closeClient() { _ = close(client) }
}
