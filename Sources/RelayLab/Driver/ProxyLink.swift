import Relay
import RelayFaults

/// A link whose faults a proxy makes.
public struct ProxyLink: LabLink {
    private let proxy: FaultProxy

    /// The link through a proxy.
    public init(_ proxy: FaultProxy) { self.proxy = proxy }

    /// Sets what goes wrong. Of several conditions that refuse or silence, each does what it does.
    public func set(_ conditions: [LabAct]) async throws {
        try await proxy.set(
            conditions.compactMap { act in
                if case .condition(let fault) = act.name.row.deed { fault(act) } else { nil }
            })
    }

    /// Does something to the connections that are there, or to their next message.
    ///
    /// - Throws: `LabActError.encrypted` where no message can be told.
    public func strike(_ act: LabAct) async throws {
        switch act.name.row.deed {
        case .strike(let body): await body(proxy, act)
        case .message(let fault):
            guard !proxy.target.usesTLS else { throw LabActError.encrypted(act.name) }
            await proxy.strike(fault, act.direction)
        case .condition, .restore, .server, .leader, .administrator, .client: throw LabActError.notHere(act.name)
        }
    }
}
