import Relay

/// Which proxy a plan's servers are reached through: the flag's, else the profile's, else the environment's.
enum ProxySetting {
    /// The proxy; nil to dial the servers directly.
    ///
    /// - Parameters:
    ///   - flag: `--proxy`, which carries no password; empty for none.
    ///   - profile: the profile's; empty for none.
    ///   - environment: asked for `ALL_PROXY` and `NO_PROXY` when neither says anything.
    static func choose(
        flag: String?, profile: String?, servers: [ServerAddress], _ environment: [String: String]
    ) throws(CommandFailure) -> ProxyAddress? {
        if let flag {
            guard !flag.contains("@") else {
                throw CommandFailure(
                    CommandFailure.usage,
                    "--proxy takes no user name and password; write them into the profile or ALL_PROXY.")
            }
            return try read(flag, place: "--proxy", code: CommandFailure.usage)
        }
        if let profile { return try read(profile, place: "proxy", code: CommandFailure.badConfiguration) }
        let exceptions = ProxyExceptions(value("NO_PROXY", environment) ?? "")
        guard let (name, text) = named("ALL_PROXY", environment) else { return nil }
        let direct = servers.filter(exceptions.hold)
        if direct.count == servers.count { return nil }
        guard direct.isEmpty else {
            // Parley must neither dial past the proxy silently nor hand it data that is not meant for it.
            throw CommandFailure(
                CommandFailure.badConfiguration,
                "\(name) is not for \(direct[0]), and is for others of the profile's servers. "
                    + "Name one proxy for all with --proxy or in the profile; empty for none.")
        }
        return try read(text, place: name, code: CommandFailure.badConfiguration)
    }

    private static func read(
        _ text: String, place: String, code: Int32
    ) throws(CommandFailure) -> ProxyAddress? {
        guard !text.isEmpty else { return nil }
        do { return try ProxyAddress(parsing: text) } catch {
            // The parser's words do not repeat the text, which may hold a password.
            throw CommandFailure(code, "\(place): \(error)")
        }
    }

    private static func named(_ name: String, _ environment: [String: String]) -> (String, String)? {
        for name in [name, name.lowercased()] {
            if let text = environment[name], !text.isEmpty { return (name, text) }
        }
        return nil
    }

    private static func value(_ name: String, _ environment: [String: String]) -> String? {
        named(name, environment)?.1
    }
}

/// The servers that the environment's proxy is not for: loopback, and what `NO_PROXY` lists.
///
/// An entry is a host, or a domain with everything below it (a leading dot or `*.` says the same), perhaps with a port;
/// `*` is everything.
struct ProxyExceptions: Hashable, Sendable {
    private var entries: [String]

    init(_ list: String) {
        entries = list.split { $0 == "," || $0.isWhitespace }.map { $0.lowercased() }
    }

    /// Whether this server is dialled directly.
    func hold(_ server: ServerAddress) -> Bool {
        let host = Self.bare(server.host.lowercased())
        return Self.isLoopback(host) || entries.contains { Self.matches($0, host, server.port) }
    }

    private static func matches(_ entry: String, _ host: String, _ port: Int) -> Bool {
        if entry == "*" { return true }
        var name = entry[...]
        if let end = portColon(name) {
            guard Int(name[name.index(after: end)...]) == port else { return false }
            name = name[..<end]
        }
        var domain = bare(String(name))
        if domain.hasPrefix("*.") { domain.removeFirst() }
        if domain.hasPrefix(".") { domain.removeFirst() }
        return !domain.isEmpty && (host == domain || host.hasSuffix("." + domain))
    }

    /// The colon before a port: an IPv6 address without brackets has none.
    private static func portColon(_ text: Substring) -> Substring.Index? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let before = text[..<colon]
        return !before.contains(":") || before.hasSuffix("]") ? colon : nil
    }

    /// Without brackets and the root's dot.
    private static func bare(_ host: String) -> String {
        var host = host[...]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        if host.hasSuffix(".") { host.removeLast() }
        return String(host)
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
