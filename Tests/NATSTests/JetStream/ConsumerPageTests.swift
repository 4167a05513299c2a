import Foundation
import Testing

@testable import NATS

@Suite("A list of consumers")
struct ConsumerPageTests {
    private static func page(_ consumers: String) throws -> JetStream.ConsumerPage {
        let text = #"{"total":3,"offset":0,"limit":256\#(consumers)}"#
        return try JSONDecoder().decode(JetStream.ConsumerPage.self, from: Data(text.utf8))
    }

    @Test("One that is being deleted leaves an empty place, and the list ends all the same")
    func deleted() throws {
        let consumer = #"{"stream_name":"s","name":"kept","config":{},"num_pending":0}"#
        let page = try Self.page(#","consumers":[null,\#(consumer),null]"#)
        var list = PagedList<ConsumerInfo>()
        #expect(try !list.take(page.consumers ?? [], of: page.total, named: \.name))
        #expect(list.items.map(\.name) == ["kept"])
    }

    @Test("A stream without consumers has none", arguments: ["", #","consumers":null"#, #","consumers":[]"#])
    func none(_ consumers: String) throws {
        let page = try Self.page(consumers)
        #expect(page.consumers?.isEmpty ?? true)
    }

    @Test("A list ends with a page that brings nothing new, and does not grow far beyond what its first page promised")
    func pages() throws {
        var list = PagedList<String>()
        #expect(try list.take(["a", nil], of: 5, named: \.self))
        #expect(try list.take(["a", "b"], of: 900, named: \.self) && list.offset == 1)
        #expect(try list.take(["b", "c", "d"], of: 5, named: \.self) && list.offset == 3)
        #expect(try !list.take(["d", "e"], of: 5, named: \.self))
        #expect(list.items == ["a", "b", "c", "d", "e"])

        var endless = PagedList<String>()
        #expect(try endless.take(["a", "b"], of: 1_000, named: \.self))
        #expect(try !endless.take(["b", "a"], of: 1_000, named: \.self))
        #expect(try !endless.take([], of: 1_000, named: \.self))
        #expect(endless.items == ["a", "b"])

        var moving = PagedList<String>()
        // As of a server that has something else each time.
        var asked = 0
        while try moving.take(["\(asked)"], of: 1_000, named: \.self) { asked += 1 }
        #expect(asked < 4_000)

        var absurd = PagedList<String>()
        #expect(throws: NATSError.self) { try absurd.take(["a"], of: .max, named: \.self) }
    }

    @Test("A list misses nothing that is there all the time, however much is deleted while it is read")
    func deletedMeanwhile() throws {
        for deleted in [1, 20, 255, 256, 257, 600, 700] {
            // Sorted, as a server has them.
            var names = (1_000..<2_000).map(String.init)
            var list = PagedList<String>()
            var pages = 0
            while true {
                let page = names.dropFirst(list.offset).prefix(256)
                pages += 1
                guard try list.take(Array(page), of: names.count, named: \.self) else { break }
                // Those that came first go behind the second page.
                if pages == 2 { names.removeFirst(deleted) }
            }
            #expect(Set(names).subtracting(list.items).isEmpty, "after \(deleted) deletions")
            #expect(Set(list.items).count == list.items.count && pages < 12, "\(pages) pages")
        }
    }
}
