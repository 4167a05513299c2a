/// What a client takes from the world around it: the network, and the time.
package struct Surroundings: Sendable {
    /// Connects to a server and logs in.
    package typealias Dialer =
        @Sendable (ServerAddress, ConnectOptions) async throws(NATSError) -> NATSConnection

    /// How a server is reached.
    package var dial: Dialer
    /// Where the time comes from.
    package var clock: any Timekeeper
    /// How long a question to JetStream waits for its answer.
    package var answerLimit: Duration

    /// The system's own network and time, unless others are given.
    package init(
        dial: @escaping Dialer = { (address, options) async throws(NATSError) in
            try await NATSConnection.connect(to: address, options: options)
        },
        clock: any Timekeeper = SystemTime(), answerLimit: Duration = .seconds(5)
    ) {
        self.dial = dial
        self.clock = clock
        self.answerLimit = answerLimit
    }
}
