// What the system says about its networks.
extension RelayClient {
    /// Has the system's networks pause and hasten the attempts, from the first connect on.
    func followNetwork(_ configuration: RelayConfiguration) {
        guard configuration.followsNetwork, networkWatcher == nil else { return }
    }
}
