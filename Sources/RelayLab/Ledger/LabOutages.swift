/// How long a client took to notice faults and to reconnect.
struct LabOutages: Hashable, Sendable {
    private(set) var notice: LabTime?
    private(set) var recovery: LabTime?

    private var wasConnected = false
    private var lasting = 0
    /// The earliest unnoticed fault.
    private var unnoticed: LabTime?
    /// When the newest fault ended.
    private var cleared: LabTime?
    private var noticed: LabTime?

    mutating func take(_ fault: LabFault, at now: LabTime) {
        // A client that copes with a duplicate message has no outage to notice.
        if LabAct.Name(rawValue: fault.name)?.isOfMessage == true { return }
        if fault.phase != .ended, noticed == nil { unnoticed = unnoticed ?? now }
        switch fault.phase {
        case .began: lasting += 1
        case .struck: cleared = now
        case .ended:
            lasting = max(0, lasting - 1)
            cleared = now
            // A fault that ended unnoticed was not an outage.
            if lasting == 0, noticed == nil { unnoticed = nil }
        }
    }

    mutating func take(_ status: LabStatus, at now: LabTime) {
        defer { wasConnected = status.isConnected }
        if status.isConnected {
            guard let noticed else { return }
            // If a fault lasts, the client has found a way around it.
            let free = lasting > 0 ? noticed : cleared ?? noticed
            recovery = max(recovery ?? .zero, now - min(free, now))
            self.noticed = nil
            unnoticed = nil
        } else if wasConnected, status.state != "suspended" {
            noticed = now
            if let unnoticed { notice = max(notice ?? .zero, now - unnoticed) }
            // An earlier fault is unrelated to this outage.
            if unnoticed == nil { cleared = nil }
            unnoticed = nil
        }
    }
}
