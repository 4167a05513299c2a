/// What the proxy can fail with.
public enum FaultError: Error, Hashable, Sendable {
    /// A port of 127.0.0.1 cannot be used; the reason is the system's.
    case port(Int, reason: String)
}

extension FaultError: CustomStringConvertible {
    /// One sentence, with what to do.
    public var description: String {
        switch self {
        case .port(let port, let reason):
            "Port \(port) of 127.0.0.1 cannot be used: \(reason). Choose another one, or 0 for any that is free."
        }
    }
}
