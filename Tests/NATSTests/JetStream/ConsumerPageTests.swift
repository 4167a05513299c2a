import Foundation
import Testing

@testable import NATS

@Suite("A list of consumers")
struct ConsumerPageTests {
    private static func page(_ consumers: String) throws -> JetStream.ConsumerPage {
        let text = #"{"total":3,"offset":0,"limit":256\#(consumers)}"#
        return try JSONDecoder().decode(JetStream.ConsumerPage.self, from: Data(text.utf8))
    }

    @Test("One that is being deleted leaves an empty place, which the next part begins behind")
    func deleted() throws {
        let consumer = #"{"stream_name":"s","name":"kept","config":{},"num_pending":0}"#
        let page = try Self.page(#","consumers":[null,\#(consumer),null]"#)
        #expect(page.found.map(\.name) == ["kept"])
        #expect(page.count == 3 && page.total == 3)
    }

    @Test("A stream without consumers has none", arguments: ["", #","consumers":null"#, #","consumers":[]"#])
    func none(_ consumers: String) throws {
        let page = try Self.page(consumers)
        #expect(page.found.isEmpty && page.count == 0)
    }
}
