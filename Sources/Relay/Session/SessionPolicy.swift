/// Whether one user may be connected from several devices at the same time.
public enum SessionPolicy: Hashable, Sendable {
    /// Any number of connections, side by side.
    case shared
    /// One connection; the policy says which of two stays. Both clients must keep to it.
    case exclusive(KickPolicy)
}

/// Which of two devices of one user stays connected (RongCloud's and Nexconn's reconnect kick).
public enum KickPolicy: String, Hashable, Sendable, CaseIterable {
    /// The device that connects takes the session over; the other one learns by whom and stays out.
    case takeOver = "take-over"
    /// The device that connects, for the first time or again, stays out while another one holds the session.
    case yield
}
