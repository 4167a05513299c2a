import NATS

/// A refusal by JetStream, as the parts of this server throw it among themselves.
struct JetStreamRefusal: Error, Sendable {
    var failure: JetStreamFailure

    init(_ code: Int, _ errorCode: Int, _ text: String) {
        failure = JetStreamFailure(code: code, errorCode: errorCode, text: text)
    }

    static let invalidJSON = JetStreamRefusal(400, 10_025, "invalid JSON")
    static let streamNotFound = JetStreamRefusal(404, JetStreamFailure.streamNotFound, "stream not found")
    static let consumerNotFound = JetStreamRefusal(404, JetStreamFailure.consumerNotFound, "consumer not found")
    static let noMessageFound = JetStreamRefusal(404, JetStreamFailure.noMessageFound, "no message found")
}

extension JetStreamFailure {
    /// As it is written in an answer, in the field `error`.
    var json: JSON {
        .object([
            "code": .integer(Int64(code)), "err_code": .integer(Int64(errorCode)), "description": .string(text),
        ])
    }
}
