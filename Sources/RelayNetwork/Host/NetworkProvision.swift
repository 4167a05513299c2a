import NATS

/// The stream and the buckets that every network has; making them again changes nothing.
struct NetworkProvision: Sendable {
    let jetStream: JetStream
    let names: NetworkIdentity.Names

    /// The bucket that knows every user's postboxes.
    static let postboxes = "relay_postboxes"

    /// Makes what is missing.
    func run() async throws(NATSError) {
        var stream = StreamConfiguration(name: "\(names.namespace)_stream", subjects: ["\(names.hash).>"])
        stream.allowsDirectAccess = true
        stream.duplicateWindow = 120_000_000_000
        try await makeStream(stream)
        for name in [names.namespace, Self.postboxes] {
            let bucket = try KeyValueBucket(name, jetStream)
            try await tolerant { () throws(NATSError) in try await bucket.create() }
        }
        try await SessionBucket(jetStream: jetStream).provide()
    }

    private func makeStream(_ configuration: StreamConfiguration) async throws(NATSError) {
        try await tolerant { () throws(NATSError) in _ = try await jetStream.createStream(configuration) }
    }

    /// A stream that exists with other settings was set so by its administrator and is left alone.
    private func tolerant(_ create: () async throws(NATSError) -> Void) async throws(NATSError) {
        do throws(NATSError) {
            try await create()
        } catch {
            guard case .jetStream(let failure) = error, failure.errorCode == 10_058 else { throw error }
        }
    }
}
