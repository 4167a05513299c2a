/// Parses Linux's lists of routes: `/proc/net/route` and `/proc/net/ipv6_route`.
enum RouteTable {
    private static let isUp: UInt32 = 0x1
    private static let isRejecting: UInt32 = 0x200
    private static let isCached: UInt32 = 0x0100_0000

    /// The routes of `/proc/net/route`, without lines that cannot be parsed.
    static func version4(_ text: String) -> Set<NetworkPath.Route> {
        routes(text) { fields in
            // Interface, destination, gateway, flags, …, mask in eighth place; numbers in the machine's byte order.
            guard fields.count >= 8, let destination = UInt32(fields[1], radix: 16),
                let flags = UInt32(fields[3], radix: 16), UInt32(fields[7], radix: 16) != nil
            else { return nil }
            let bytes = withUnsafeBytes(of: destination) { Array($0) }
            let isLinkLocal = bytes[0] == 169 && bytes[1] == 254
            guard flags & isUp != 0, flags & isRejecting == 0, !isLinkLocal, bytes[0] < 224 else { return nil }
            return NetworkPath.Route(interface: fields[0], destination: "\(fields[1])/\(fields[7])", gateway: fields[2])
        }
    }

    /// The routes of `/proc/net/ipv6_route`, without lines that cannot be parsed.
    static func version6(_ text: String) -> Set<NetworkPath.Route> {
        routes(text) { fields in
            // Destination, its prefix, source, its prefix, next hop, metric, references, uses, flags, interface.
            guard fields.count == 10, fields[0].count == 32, let flags = UInt32(fields[8], radix: 16) else {
                return nil
            }
            // Link-local and multicast destinations come with every interface.
            let isBetweenNeighbours = NetworkPath.isLinkLocal(fields[0]) || fields[0].lowercased().hasPrefix("ff")
            guard flags & isUp != 0, flags & (isRejecting | isCached) == 0, !isBetweenNeighbours, fields[9] != "lo"
            else { return nil }
            return NetworkPath.Route(interface: fields[9], destination: "\(fields[0])/\(fields[1])", gateway: fields[4])
        }
    }

    private static func routes(_ text: String, _ route: ([String]) -> NetworkPath.Route?) -> Set<NetworkPath.Route> {
        Set(
            text.split(whereSeparator: \.isNewline).compactMap { line in
                route(line.split { $0 == " " || $0 == "\t" }.map(String.init))
            })
    }
}
