import Relay

/// Chooses the proxy to the servers: the flag's, or else the profile's, or else the environment's.
enum ProxySetting {
    /// The proxy; nil to connect directly. `--proxy` may not contain a password. The flag and the profile may be empty
    /// for none; without either, `ALL_PROXY` and `NO_PROXY` apply.
    static func choose(
        flag: String?, profile: String?, servers: [ServerAddress], _ environment: [String: String]
    ) throws(CommandFailure) -> ProxyAddress? {
        if let flag {
            guard !flag.contains("@") else {
                throw CommandFailure(
                    .usage,
                    "--proxy takes no user name and password; write them into the profile or ALL_PROXY.")
            }
            return try read(flag, place: "--proxy", code: .usage)
        }
        if let profile { return try read(profile, place: "proxy", code: .badConfiguration) }
        guard let (name, text) = named("ALL_PROXY", environment) else { return nil }
        let (exempting, list) = named("NO_PROXY", environment) ?? ("NO_PROXY", "")
        let exceptions = try ProxyExceptions(list, name: exempting)
        let direct = servers.filter { ProxyExceptions.isLoopback($0) || exceptions.hold($0) }
        if direct.count == servers.count { return nil }
        guard direct.isEmpty else {
            // Parley must neither bypass the proxy silently nor send it data that is not meant for it.
            throw ConfigurationFile.failure(
                "\(name) is not for \(direct[0]), and is for others of the profile's servers. "
                    + "Name one proxy for all with --proxy or in the profile; empty for none.")
        }
        return try read(text, place: name, code: .badConfiguration)
    }

    private static func read(_ text: String, place: String, code: CommandStatus) throws(CommandFailure) -> ProxyAddress?
    {
        guard !text.isEmpty else { return nil }
        do { return try ProxyAddress(parsing: text) } catch {
            // The parser's message does not repeat the text, which may contain a password.
            throw CommandFailure(code, "\(place): \(error)")
        }
    }

    /// A variable in either case; lower case wins, as with curl.
    private static func named(_ name: String, _ environment: [String: String]) -> (String, String)? {
        let name = environment[name.lowercased()]?.isEmpty == false ? name.lowercased() : name
        guard let text = environment[name], !text.isEmpty else { return nil }
        return (name, text)
    }
}

/// The servers listed in `NO_PROXY`, which are reached without the environment's proxy.
///
/// Entries are separated by commas, semicolons or whitespace. An entry is a host or domain, which includes everything
/// below it (a leading dot is allowed), an address, or a network such as `10.0.0.0/8`, optionally with a port. `*`
/// matches any text, or alone every host; `<local>` matches every host without a dot.
struct ProxyExceptions: Hashable, Sendable {
    private enum Pattern: Hashable {
        case local
        case host(String)
        case address(IPLiteral)
        case network(IPLiteral, prefix: Int)
    }

    private struct Entry: Hashable {
        let pattern: Pattern
        var port: Int?
    }

    private var entries: [Entry] = []

    /// Parses the list; `name` is the variable's. Refuses an invalid entry, since its servers would go through the
    /// proxy.
    init(_ list: String, name: String) throws(CommandFailure) {
        for text in list.split(whereSeparator: { ",;".contains($0) || $0.isWhitespace }) {
            guard let entry = Self.entry(text.lowercased()[...]) else {
                throw ConfigurationFile.failure(
                    "\(name) has “\(text.prefix(64))”, which is no host, domain, address or network such as 10.0.0.0/8."
                )
            }
            entries.append(entry)
        }
    }

    /// Whether this server is reached directly.
    func hold(_ server: ServerAddress) -> Bool {
        let host = Self.bare(server.host.lowercased())
        let address = IPLiteral(host)
        return entries.contains { entry in
            guard entry.port ?? server.port == server.port else { return false }
            switch entry.pattern {
            case .local: return address == nil && !host.contains(".")
            case .address(let listed): return address == listed
            case .network(let network, let prefix): return address?.isIn(network, prefix: prefix) ?? false
            // The end of an address is not a domain.
            case .host(let listed):
                return (address == nil || listed.contains("*")) && Self.matches(listed[...], host[...])
            }
        }
    }

    static func isLoopback(_ server: ServerAddress) -> Bool {
        let host = bare(server.host.lowercased())
        return IPLiteral(host)?.isLoopback ?? (host == "localhost" || host.hasSuffix(".localhost"))
    }

    private static func entry(_ text: Substring) -> Entry? {
        if text == "<local>" { return Entry(pattern: .local) }
        var rest = text
        for scheme in ["nats://", "tls://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let slash = rest.firstIndex(of: "/") {
            guard let network = IPLiteral(bare(String(rest[..<slash]))),
                let prefix = Int(rest[rest.index(after: slash)...]), (0...network.bytes.count * 8).contains(prefix)
            else { return nil }
            return Entry(pattern: .network(network, prefix: prefix))
        }
        var port: Int?
        // An IPv6 address without brackets has no port.
        if let colon = rest.lastIndex(of: ":"), !rest[..<colon].contains(":") || rest[..<colon].hasSuffix("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65_535).contains(number) else { return nil }
            port = number
            rest = rest[..<colon]
        }
        let host = bare(String(rest))
        if let address = IPLiteral(host) { return Entry(pattern: .address(address), port: port) }
        let domain = host.hasPrefix(".") ? host.dropFirst() : host[...]
        guard !domain.isEmpty, domain.allSatisfy({ $0.isLetter || $0.isNumber || "-_.*".contains($0) }) else {
            return nil
        }
        // `*.domain` means the same as the domain.
        return Entry(pattern: .host(domain.hasPrefix("*.") ? String(domain.dropFirst(2)) : String(domain)), port: port)
    }

    /// Whether a host is the listed one, or below it.
    private static func matches(_ listed: Substring, _ host: Substring) -> Bool {
        guard listed.contains("*") else { return host == listed || host.hasSuffix("." + listed) }
        let parts = listed.split(separator: "*", omittingEmptySubsequences: false)
        guard host.hasPrefix(parts[0]) else { return false }
        var rest = host.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }

    /// The host without brackets, zone and trailing dot.
    private static func bare(_ host: String) -> String {
        var host = host[...]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        if host.hasSuffix(".") { host.removeLast() }
        return String(host.prefix { $0 != "%" })
    }
}
