/// What happens to the connection while the application is in the background.
public enum LifecyclePolicy: Hashable, Sendable {
    /// The connection is kept (RelayX; also what Supabase shipped).
    case ignore
    /// The connection is suspended after this long in the background, and returns with the foreground. Values below
    /// ``shortestGrace`` count as that, so that a quick look elsewhere costs nothing.
    case suspend(after: Duration)

    /// The shortest time in the background that has any effect at all.
    public static let shortestGrace = Duration.seconds(1)

    /// RongCloud and Nexconn: two minutes. Also Parley's default.
    public static let rongcloud = LifecyclePolicy.suspend(after: .seconds(120))
    /// What issue 595 of supabase-swift asked for: as soon as possible.
    public static let immediate = LifecyclePolicy.suspend(after: shortestGrace)

    /// The time in the background after which the connection is suspended; nil for never.
    public var grace: Duration? {
        switch self {
        case .ignore: nil
        case .suspend(let after): max(after, LifecyclePolicy.shortestGrace)
        }
    }
}
