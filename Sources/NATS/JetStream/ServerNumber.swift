/// A sequence, revision or count from a server.
///
/// Numbers above ``limit`` are rejected when they are parsed. No stream has as many messages, and the sum of two such
/// numbers fits into `Int64` and of four into `UInt64`, so that a server cannot cause an overflow.
package struct ServerNumber: Hashable, Sendable {
    package static let limit = UInt64(Int64.max / 2)

    package let value: UInt64

    package init?(_ value: UInt64) {
        guard value <= Self.limit else { return nil }
        self.value = value
    }

    package init?(_ text: some StringProtocol) {
        guard let value = UInt64(text) else { return nil }
        self.init(value)
    }
}

extension ServerNumber: Decodable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer().decode(UInt64.self)
        guard let number = ServerNumber(value) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "a number above \(Self.limit)"))
        }
        self = number
    }
}
