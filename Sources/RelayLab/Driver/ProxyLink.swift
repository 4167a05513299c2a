import Relay
import RelayFaults

/// A link whose faults a proxy makes.
public struct ProxyLink: LabLink {
    private let proxy: FaultProxy

    /// The link through a proxy.
    public init(_ proxy: FaultProxy) { self.proxy = proxy }

    /// Where clients connect to.
    public var address: ServerAddress { proxy.address }

    /// Sets what goes wrong. Of several conditions that refuse or silence, each does what it does.
    public func set(_ conditions: [LabAct]) async throws { try await proxy.set(conditions.compactMap(\.fault)) }

    /// Cuts connections, or ends a direction of them.
    public func strike(_ act: LabAct) async {
        switch act.name {
        case .cut:
            await proxy.cut(
                afterBytes: act.afterBytes, direction: act.direction.direction,
                how: act.how == .finish ? .finish : .reset)
        case .halfClose: await proxy.halfClose(act.direction.direction)
        default: break
        }
    }

    /// Gives the port back.
    public func close() async { await proxy.close() }
}

extension LabAct {
    /// The proxy's fault for a condition of the link; nil for what is none.
    var fault: FaultProxy.Fault? {
        switch name {
        case .refuse: .refuse
        case .silence: .silent
        case .blackhole: .blackhole(direction.direction)
        case .delay: .delay(by, jitter: jitter, direction.direction)
        case .throttle: .throttle(bytesPerSecond: rate, direction.direction)
        case .split: .split(bytes, direction.direction)
        default: nil
        }
    }
}

extension LabAct.Direction {
    var direction: FaultProxy.Direction {
        switch self {
        case .both: .both
        case .fromClient: .fromClient
        case .fromServer: .fromServer
        }
    }
}
