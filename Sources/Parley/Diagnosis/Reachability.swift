#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The two steps that come before a server's first word: its name's look-up and the TCP connection. Both block.
enum Reachability {
    /// One address of a host, as the system's calls take it.
    struct Endpoint: Hashable, Sendable {
        let family: Int32
        let bytes: [UInt8]
    }

    /// The addresses of a host; the failure is the resolver's own words.
    static func resolve(_ host: String, port: Int) -> Result<[Endpoint], Failure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, "\(port)", &hints, &list)
        guard code == 0 else {
            return .failure(Failure(words: gai_strerror(code).map { String(cString: $0) } ?? "error \(code)"))
        }
        defer { freeaddrinfo(list) }
        var found: [Endpoint] = []
        var next = list
        while let entry = next?.pointee, found.count < 16 {
            if let address = entry.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))
                found.append(Endpoint(family: entry.ai_family, bytes: Array(bytes)))
            }
            next = entry.ai_next
        }
        return found.isEmpty ? .failure(Failure(words: "no address")) : .success(found)
    }

    /// Connects to the first endpoint that answers, and closes again; nil on success, else the last one's failure.
    static func connect(_ endpoints: [Endpoint], milliseconds: Int32) -> Failure? {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        var last = Failure(words: "no address")
        for endpoint in endpoints {
            guard let failure = connect(endpoint, until: end) else { return nil }
            last = failure
        }
        return last
    }

    /// Why a step failed, in the system's words.
    struct Failure: Error, Hashable, Sendable {
        let words: String
    }

    private static func connect(_ endpoint: Endpoint, until end: ContinuousClock.Instant) -> Failure? {
        #if canImport(Darwin)
            let descriptor = socket(endpoint.family, SOCK_STREAM, 0)
        #else
            let descriptor = socket(endpoint.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return Failure(words: FileFindings.reason(errno)) }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let result = endpoint.bytes.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { address in
                systemConnect(descriptor, address.baseAddress, socklen_t(bytes.count))
            }
        }
        if result == 0 { return nil }
        guard errno == EINPROGRESS else { return Failure(words: FileFindings.reason(errno)) }
        let left = ContinuousClock.now.duration(to: end).components
        let wait = max(0, left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000)
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&ready, 1, Int32(wait)) > 0 else { return Failure(words: "no answer") }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0, code != 0 else { return nil }
        return Failure(words: FileFindings.reason(code))
    }
}

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}
