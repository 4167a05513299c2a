import Relay

/// Tells a user the names of the streams that it may read, in the form of JetStream's own call: a client that
/// subscribes to a subject asks for the stream that holds it. JetStream's call would tell the names of all users'
/// streams.
struct StreamNamesService: Sendable {
    let names: NetworkIdentity.Names

    private struct Request: Decodable { var subject: String? }

    private struct Reply: Encodable {
        var type = "io.nats.jetstream.api.v1.stream_names_response"
        var total: Int
        var offset = 0
        var limit = 1_024
        var streams: [String]
    }

    /// JetStream's own words where it answers nothing for now.
    static let refusal = Array(
        (#"{"type":"io.nats.jetstream.api.v1.stream_names_response","error":{"code":503,"err_code":10008,"#
            + #""description":"JetStream system temporarily unavailable"}}"#).utf8)

    /// The answer to a user.
    ///
    /// - Parameter payload: what is asked; nothing, or what cannot be read, asks for all.
    func reply(to payload: [UInt8], of user: UserName) -> [UInt8] {
        let asked = Wire.value(Request.self, from: payload)?.subject
        let streams = [
            (names.hash + ".", NetworkNames.topicStream(of: names.namespace)),
            (NetworkNames.letters(to: user.text, ""), user.postboxStream),
            (NetworkNames.key("", in: names.namespace), NetworkNames.stream(ofBucket: names.namespace)),
        ].filter { stem, _ in asked.map { $0.isEmpty || $0 == ">" || $0.hasPrefix(stem) } ?? true }.map(\.1)
        return Wire.json(Reply(total: streams.count, streams: streams))
    }
}
