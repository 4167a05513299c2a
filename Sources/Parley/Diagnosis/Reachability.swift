import Platform

/// The steps before a server's greeting: the DNS lookup and the TCP connection. Both block.
enum Reachability {
    struct Endpoint: Hashable, Sendable {
        let family: Int32
        let bytes: [UInt8]
    }

    /// Resolves a host; a failure contains the resolver's own words.
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

    /// Connects to all endpoints at once; returns nil once one is reached, or else the last failure.
    static func connect(_ endpoints: [Endpoint], milliseconds: Int32) -> Failure? {
        var last = Failure(words: "no address")
        var dials: [pollfd] = []
        defer { for dial in dials { close(dial.fd) } }
        for endpoint in endpoints {
            switch dial(endpoint) {
            case .success(let descriptor): dials.append(pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0))
            case .failure(let failure): last = failure
            }
        }
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        while !dials.isEmpty {
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            let count = poll(&dials, nfds_t(dials.count), Int32(max(0, left)))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return Failure(words: "no answer") }
            for (index, dial) in dials.enumerated().reversed() where dial.revents != 0 {
                guard let failure = outcome(of: dial.fd) else { return nil }
                last = failure
                close(dial.fd)
                dials.remove(at: index)
            }
        }
        return last
    }

    struct Failure: Error, Hashable, Sendable {
        let words: String
    }

    /// Begins to connect a socket.
    private static func dial(_ endpoint: Endpoint) -> Result<Int32, Failure> {
        #if canImport(Darwin)
            let descriptor = socket(endpoint.family, SOCK_STREAM, 0)
        #else
            let descriptor = socket(endpoint.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return .failure(Failure(words: FileFindings.reason(errno))) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let result = endpoint.bytes.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { address in
                Platform.connect(descriptor, address.baseAddress, socklen_t(bytes.count))
            }
        }
        guard result != 0, errno != EINPROGRESS else { return .success(descriptor) }
        defer { close(descriptor) }
        return .failure(Failure(words: FileFindings.reason(errno)))
    }

    /// Why a socket could not be connected; nil if it was.
    private static func outcome(of descriptor: Int32) -> Failure? {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0, code != 0 else { return nil }
        return Failure(words: FileFindings.reason(code))
    }
}
