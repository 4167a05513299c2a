extension RelayClient {
    /// Changes what the background does to the connection, from now on; ``RelayConfiguration/lifecycle`` says what it
    /// does at first. In the background, the wait begins anew. What is suspended stays so until the foreground.
    public func setLifecyclePolicy(_ policy: LifecyclePolicy) { handleLifecycle(.policyChanged(policy)) }
}
