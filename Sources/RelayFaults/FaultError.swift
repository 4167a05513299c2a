/// What the proxy can fail with.
public enum FaultError: Error, Hashable, Sendable {
    /// A port of this machine's address cannot be used; the reason is the system's.
    case port(Int, host: String = FaultProxy.loopback, reason: String)
}

extension FaultError: CustomStringConvertible {
    /// One sentence, with what to do.
    public var description: String {
        switch self {
        case .port(let port, let host, let reason):
            "Port \(port) of \(host) cannot be used: \(reason). Choose another one, or 0 for any that is free."
        }
    }
}
