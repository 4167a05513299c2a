/// A scenario shipped with Parley, as a file of the folder `Shipped`.
public struct ShippedScenario: Hashable, Sendable {
    /// Its name for `parley lab run`.
    public let name: String
    /// The scenario's file.
    public let text: String

    private init(_ name: String, _ file: [UInt8]) {
        self.name = name
        text = String(decoding: file, as: UTF8.self)
    }

    /// Parses the scenario. A test makes sure that this does not throw.
    public func scenario() throws(LabScenarioError) -> LabScenario { try LabScenario(parsing: text.utf8) }

    /// The scenario of this name, if there is one.
    public static func named(_ name: String) -> ShippedScenario? { all.first { $0.name == name } }

    /// All of them.
    public static let all = [
        ShippedScenario("relayx-under-two-minutes", PackageResources.relayx_under_two_minutes_json5),
        ShippedScenario("relayx-over-two-minutes", PackageResources.relayx_over_two_minutes_json5),
        ShippedScenario("rongcloud-ladder", PackageResources.rongcloud_ladder_json5),
        ShippedScenario("token-expiry", PackageResources.token_expiry_json5),
        ShippedScenario("kick", PackageResources.kick_json5),
        ShippedScenario("ban", PackageResources.ban_json5),
        ShippedScenario("other-device", PackageResources.other_device_json5),
        ShippedScenario("background-cycles", PackageResources.background_cycles_json5),
        ShippedScenario("flapping-link", PackageResources.flapping_link_json5),
        ShippedScenario("half-open-link", PackageResources.half_open_link_json5),
        ShippedScenario("slow-subscriber", PackageResources.slow_subscriber_json5),
        ShippedScenario("full-disk", PackageResources.full_disk_json5),
        ShippedScenario("server-killed", PackageResources.server_killed_json5),
        ShippedScenario("leader-loss", PackageResources.leader_loss_json5),
    ]
}
