/// What happens to the connection while the application is in the background. A process that is about to be stopped
/// always closes it.
public enum LifecyclePolicy: Hashable, Sendable {
    /// The connection is kept.
    case ignore
    /// The connection is suspended after this long in the background, and returns with the foreground. Shorter times
    /// than ``shortestGrace`` are raised to it, so that a quick look elsewhere costs nothing.
    case suspend(after: Duration)

    /// The shortest time in the background that has any effect.
    public static let shortestGrace = Duration.seconds(1)

    /// RelayX, whose client ignores the background.
    public static let relayx = LifecyclePolicy.ignore
    /// RongCloud: two minutes. Also the default of the chat.
    public static let rongcloud = LifecyclePolicy.suspend(after: .seconds(120))
    /// Nexconn: two minutes, like RongCloud.
    public static let nexconn = LifecyclePolicy.rongcloud
    /// Sudo, whose subscriptions are active only while the application is.
    public static let sudo = LifecyclePolicy.immediate
    /// Supabase, as issue 595 of supabase-swift proposes: as soon as possible.
    public static let supabase = LifecyclePolicy.immediate
    /// As soon as possible. The default of ``RelayConfiguration``.
    public static let immediate = LifecyclePolicy.suspend(after: shortestGrace)

    /// The time in the background after which the connection is suspended; nil means never.
    public var grace: Duration? {
        switch self {
        case .ignore: nil
        case .suspend(let after): max(after, LifecyclePolicy.shortestGrace)
        }
    }
}
