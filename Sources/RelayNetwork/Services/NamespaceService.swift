import NATS

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells a client that shows its token the names that the network's subjects are made of, as RelayX does.
struct NamespaceService: Sendable {
    static let subject = "accounts.user.get_namespace"

    let identity: NetworkIdentity

    private struct Request: Decodable {
        var apiKey: String

        enum CodingKeys: String, CodingKey { case apiKey = "api_key" }
    }

    private struct Reply: Encodable {
        var status: String
        var data: NetworkIdentity.Names?
    }

    /// The answer to a request's payload.
    func reply(to payload: [UInt8], at now: Int64 = Int64(Date().timeIntervalSince1970)) -> [UInt8] {
        let request = try? JSONDecoder().decode(Request.self, from: Data(payload))
        let isKnown = request.flatMap { identity.verifiedUser($0.apiKey, at: now) } != nil
        return Wire.json(
            isKnown
                ? Reply(status: "NAMESPACE_RETRIEVE_SUCCESS", data: identity.names)
                : Reply(status: "NAMESPACE_RETRIEVE_FAILURE", data: nil))
    }
}

/// JSON of the services.
enum Wire {
    /// A value as JSON, the same bytes for the same value. The service's own values always encode.
    static func json(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
    }
}
