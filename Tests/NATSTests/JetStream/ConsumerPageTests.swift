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
        var list = PagedList<ConsumerInfo>()
        #expect(try !list.take(page.consumers ?? [], of: page.total, named: \.name))
        #expect(list.items.map(\.name) == ["kept"] && list.passed == 3)
    }

    @Test("A stream without consumers has none", arguments: ["", #","consumers":null"#, #","consumers":[]"#])
    func none(_ consumers: String) throws {
        let page = try Self.page(consumers)
        #expect(page.consumers?.isEmpty ?? true)
    }

    @Test("A list ends with what its first page promised, or with a page that brings nothing new")
    func pages() throws {
        var list = PagedList<String>()
        #expect(try list.take(["a", nil], of: 5, named: \.self))
        // One was deleted meanwhile, so that another one comes again; one is new.
        #expect(try list.take(["a", "b"], of: 900, named: \.self))
        #expect(try !list.take(["c", "d"], of: 900, named: \.self))
        #expect(list.items == ["a", "b", "c", "d"])

        var endless = PagedList<String>()
        #expect(try endless.take(["a", "b"], of: 1_000, named: \.self))
        #expect(try !endless.take(["b", "a"], of: 1_000, named: \.self))
        #expect(try !endless.take([], of: 1_000, named: \.self))
        #expect(endless.items == ["a", "b"])

        var absurd = PagedList<String>()
        #expect(throws: NATSError.self) { try absurd.take(["a"], of: .max, named: \.self) }
    }
}
