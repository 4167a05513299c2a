import Platform

extension NetworkPath {
    private static let up: UInt32 = 0x1
    private static let loopback: UInt32 = 0x8
    private static let running: UInt32 = 0x40

    static func current() -> NetworkPath? {
        guard let interfaces = interfaces() else { return nil }
        #if os(Linux)
            // Without IPv6 there is no list for it.
            guard let version4 = text(ofFile: "/proc/net/route") else {
                return NetworkPath(interfaces: interfaces, routes: nil)
            }
            let version6 = text(ofFile: "/proc/net/ipv6_route").map { RouteTable.version6($0) } ?? []
            return NetworkPath(interfaces: interfaces, routes: RouteTable.version4(version4).union(version6))
        #else
            return NetworkPath(interfaces: interfaces, routes: nil)
        #endif
    }

    private static func interfaces() -> [Interface]? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        var found: [String: Interface] = [:]
        var next = first
        while let entry = next {
            next = entry.pointee.ifa_next
            let name = String(cString: entry.pointee.ifa_name)
            let flags = UInt32(entry.pointee.ifa_flags)
            var interface =
                found[name]
                ?? Interface(
                    name: name, isRunning: flags & up != 0 && flags & running != 0, isLoopback: flags & loopback != 0)
            if let address = entry.pointee.ifa_addr.flatMap({ text(of: $0) }) { interface.addresses.insert(address) }
            found[name] = interface
        }
        return Array(found.values)
    }

    private static func text(of address: UnsafePointer<sockaddr>) -> String? {
        let size: Int
        switch Int32(address.pointee.sa_family) {
        case AF_INET: size = MemoryLayout<sockaddr_in>.size
        case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var name = [CChar](repeating: 0, count: 1_025)
        guard getnameinfo(address, socklen_t(size), &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: "%").first.map(String.init)
    }

    #if os(Linux)
        /// Reads a file of `/proc`, whose length is not known in advance; nil if it cannot be read.
        private static func text(ofFile path: String) -> String? {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 16_384)
            // No client needs more routes than this.
            while bytes.count < 4 << 20 {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                bytes += buffer[..<count]
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    #endif
}
