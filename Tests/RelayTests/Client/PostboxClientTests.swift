import NATS
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

@Suite("Client: the postbox, over a network in memory", .realProcesses)
struct PostboxClientTests {
    @Test("B45 B50 an id or a token of a postbox that was made anew finds nothing instead of another letter")
    func staleIDs() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for text in ["old", "older"] { try network.postLetter(text) }
        let page = try await client.listMessages()
        let stale = try #require(page.items.first).id
        network.server.deleteStream("PB_alice")
        try network.createPostbox()
        try network.postLetter("new")
        await #expect(throws: RelayError.notFound(stale)) { try await client.deleteMessage(withMessageId: stale) }
        await #expect(throws: RelayError.invalidToken) { try await client.listMessages(nextToken: page.nextToken) }
        #expect(try await client.listMessages().items.map(\.message) == ["new"])
        await client.close()
    }

    @Test("B49 a letter that cannot be read is skipped and reported, and the page and the subscription go on")
    func poison() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        try network.postLetter("before")
        let heard = Collected()
        let token = try await client.subscribeToMessageCreated { status in
            heard.add(status.name)
        } resultHandler: { result in
            switch result {
            case .success(let letter): heard.add(letter.message)
            case .failure(let error): heard.add(error.words)
            }
        }
        try await eventually("the live subscription") { heard.all.last == "connected" }
        try network.server.store("postbox.alice.personal", [0xFF, 0x41])
        try network.server.store("postbox.alice.personal.bob", Array("no JSON".utf8))
        try network.postLetter("after", postbox: "work")
        let page = try await client.listMessages(limit: 10)
        #expect(page.items.map(\.message) == ["before", "no JSON", "after"])
        #expect(page.items.map(\.postboxId) == ["personal", "personal", "work"])
        let unreadable = try #require(page.unreadable.first)
        #expect(page.unreadable.count == 1 && unreadable.postboxId == "personal" && unreadable.bytes == 2)
        let error = RelayError.invalidMessage("the letter \(unreadable.id) is not readable")
        try await eventually("what came") { heard.all.suffix(3) == [error.words, "no JSON", "after"] }
        await #expect(throws: error) { try await client.postboxMessage(withMessageId: unreadable.id) }
        token.cancel()
        #expect(try await client.listMessages(limit: 10, postbox: "personal").unreadable == page.unreadable)
        #expect(try await client.listMessages(limit: 10, postbox: "work").items.map(\.message) == ["after"])
        #expect(try await client.countMessages() == ["personal": 3, "work": 1])
        try await client.deleteMessage(withMessageId: unreadable.id)
        #expect(try await client.listMessages(limit: 10).unreadable.isEmpty)
        await client.close()
    }

    @Test("B50 a bulk deletion returns all identifiers, or throws which letters are gone, which remain, and why")
    func bulkDeletion() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...4 { try network.postLetter("\(number)") }
        let ids = try await client.listMessages(limit: 4).items.map(\.id)
        try #require(ids.count == 4)
        let gone: [String] = try await client.bulkDeleteMessage(withMessageIds: [ids[1], ids[0]])
        #expect(gone == [ids[1], ids[0]])
        #expect(try await client.bulkDeleteMessage(withMessageIds: []) == [])
        let failures = [ids[0], "forged"].map { BulkDeletion.Failure(id: $0, error: .notFound($0)) }
        await #expect(throws: BulkDeletion(deleted: [ids[2]], failed: failures)) {
            try await client.bulkDeleteMessage(withMessageIds: [ids[0], ids[2], "forged"])
        }
        let many = Array(repeating: ids[3], count: 26)
        let reason = RelayError.invalidArgument("At most 25 letters are deleted with one call")
        await #expect(throws: BulkDeletion(none: many, reason)) {
            try await client.bulkDeleteMessage(withMessageIds: many)
        }
        #expect(try await client.listMessages(limit: 4).items.map(\.id) == [ids[3]])
        await client.close()
        await #expect(throws: BulkDeletion(none: [ids[3]], .notConnected)) {
            try await client.bulkDeleteMessage(withMessageIds: [ids[3]])
        }
    }

    @Test("B50 any number of letters is deleted with one question about the stream, and the progress is told")
    func manyDeletions() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        var ids: [String] = []
        for number in 1...600 { try network.postLetter("\(number)") }
        var token: String?
        repeat {
            let page = try await client.listMessages(limit: 100, nextToken: token)
            ids += page.items.map(\.id)
            token = page.nextToken
        } while token != nil
        try #require(ids.count == 600)
        let info = "$JS.API.STREAM.INFO.PB_alice"
        let before = network.server.received.count { $0 == info }
        let steps = NIOLockedValueBox<[Int]>([])
        let deletion = try await client.deleteMessages(withMessageIds: ids + ["forged"]) { ended in
            steps.withLockedValue { $0.append(ended) }
        }
        #expect(deletion.deleted == ids && deletion.failed.map(\.id) == ["forged"] && deletion.unknown.isEmpty)
        #expect(steps.withLockedValue { $0 } == Array(1...601))
        #expect(network.server.received.count { $0 == info } == before + 1)
        #expect(try await client.listMessages().items.isEmpty)
        await client.close()
    }

    @Test("A user's postboxes are the network's to keep: its answer counts, and so does its silence")
    func register() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        await #expect(throws: RelayError.server(code: 503, "no postbox service answers on this network now")) {
            try await client.postboxes()
        }
        let entry = #"{"id":"work","name":"work","sudoId":"alice","isEnabled":true,"createdAt":42}"#
        network.server.service("relay.postbox.alice.create") { request in
            String(decoding: request, as: UTF8.self) == #"{"name":"work"}"#
                ? Array(#"{"postboxes":[\#(entry)]}"#.utf8) : Array(#"{"error":"invalidName"}"#.utf8)
        }
        network.server.service("relay.postbox.alice.disable") { _ in Array(#"{"error":"notFound"}"#.utf8) }
        network.server.service("relay.postbox.alice.delete") { _ in Array("rubbish".utf8) }
        let made = try await client.createPostbox("work")
        #expect(made.id == "work" && made.isEnabled && made.createdAt == Timestamp(milliseconds: 42))
        await #expect(throws: RelayError.notFound("The postbox work")) {
            try await client.updatePostbox("work", isEnabled: false)
        }
        await #expect(throws: RelayError.server(code: 500, "the postbox service's answer is not readable")) {
            try await client.deletePostbox("work")
        }
        await client.close()
    }

    @Test("A postbox gets a title in one line; a network of an earlier version keeps none, and that is said")
    func titles() async throws {
        let network = try MemoryNetwork()
        let questions = Collected()
        let isEarlier = NIOLockedValueBox(false)
        network.server.service("relay.postbox.alice.rename") { request in
            questions.add(String(decoding: request, as: UTF8.self))
            if isEarlier.withLockedValue(\.self) { return Array(#"{"error":"invalidRequest"}"#.utf8) }
            let entry =
                #"{"id":"work","name":"work","title":"Old orders","sudoId":"s","isEnabled":true,"createdAt":42}"#
            return Array(#"{"postboxes":[\#(entry)]}"#.utf8)
        }
        let client = try await network.connected()
        let renamed = try await client.updatePostbox("work", title: "  Old\n orders ")
        #expect(renamed.name == "work" && renamed.title == "Old orders" && renamed.hasTitle)
        #expect(questions.all.count == 1 && questions.all[0].contains(#""title":"Old orders""#))
        let words = "A postbox's title is a line of 1 to 128 bytes, without invisible characters"
        for mistake in ["", " \n", "a\u{1B}b", "\u{200B}", String(repeating: "ü", count: 65)] {
            await #expect(throws: RelayError.invalidArgument(words)) {
                try await client.updatePostbox("work", title: mistake)
            }
        }
        #expect(questions.all.count == 1)
        isEarlier.withLockedValue { $0 = true }
        await #expect(throws: RelayError.server(code: 501, "this network does not support postbox titles")) {
            try await client.updatePostbox("work", title: "Orders")
        }
        await client.close()
    }

    private static func entry(_ id: String, of persona: String) -> String {
        #"{"id":"\#(id)","name":"\#(id)","sudoId":"\#(persona)","isEnabled":true,"createdAt":42}"#
    }

    @Test("B51 a letter belongs to its postbox's persona, in lists as in the subscription, whatever it says of itself")
    func personas() async throws {
        let network = try MemoryNetwork()
        let entries = NIOLockedValueBox([Self.entry("personal", of: "alice-1"), Self.entry("shop", of: "seller")])
        let questions = Collected()
        network.server.service("relay.postbox.alice.list") { _ in
            questions.add("list")
            return Array(#"{"postboxes":[\#(entries.withLockedValue(\.self).joined(separator: ","))]}"#.utf8)
        }
        let client = try await network.connected()
        let heard = Collected()
        let token = try await client.subscribeToMessageCreated { status in
            heard.add(status.name)
        } resultHandler: { result in
            if case .success(let letter) = result { heard.add("\(letter.message) for \(letter.sudoId)") }
        }
        try await eventually("the live subscription") { heard.all.last == "connected" }
        try network.postLetter("one")
        try network.server.store(
            "postbox.alice.shop.bob", Array(#"{"id":"x","createdAt":1,"message":"two","sudoId":"alice-1"}"#.utf8))
        try await eventually("both letters") { heard.all.suffix(2) == ["one for alice-1", "two for seller"] }
        #expect(questions.all.count == 1)

        // Another device makes a postbox, whose first letter has the network asked again; one that is gone is the
        // owner's.
        entries.withLockedValue { $0.append(Self.entry("club", of: "player")) }
        try network.postLetter("three", postbox: "club")
        try network.postLetter("four", postbox: "gone")
        try network.postLetter("five", postbox: "gone")
        try await eventually("the other letters") {
            heard.all.suffix(3) == ["three for player", "four for alice", "five for alice"]
        }
        let listed = try await client.listMessages(limit: 10).items.map(\.sudoId)
        #expect(listed == ["alice-1", "seller", "player", "alice", "alice"])
        #expect(questions.all.count <= 3)
        #expect(try await client.postboxes(sudoId: "seller").map(\.id) == ["shop"])
        withExtendedLifetime(token) {}
        await client.close()
    }

    @Test("B51: on a cluster, a letter waits for its stream's leader however long nobody says why")
    func leaderless() async throws {
        let network = try MemoryNetwork()
        network.server.deleteStream("PB_alice")
        network.server.info.cluster = "three"
        let client = try await network.connected()
        let receipt = Task {
            try await client.post(to: "alice", postbox: "late", text: "hello", timeout: .seconds(600))
        }
        try await network.letAttemptsPass(on: "postbox.alice.", "many attempts") { $0 > 20 }
        try network.server.createStream("PB_alice", subjects: ["postbox.alice.late", "postbox.alice.late.*"])
        try await network.letAttemptsPass(on: "postbox.alice.", "the letter") { _ in
            network.server.messages(in: "PB_alice").count == 1
        }
        #expect(try await receipt.value.sequence == 1)
        await client.close()
    }

    @Test("B42 a subscription to letters that is refused says so, and is connected once it is permitted")
    func refusedSubscription() async throws {
        let network = try MemoryNetwork()
        let create = "$JS.API.CONSUMER.CREATE.PB_alice."
        let refusal = JetStreamFailure(code: 403, errorCode: 10_025, text: "not authorized")
        network.server.fail(subjectPrefix: create, with: .refusal(refusal))
        let client = try await network.connected()
        let statuses = NIOLockedValueBox<[PlatformSubscriptionStatus]>([])
        let letters = Collected()
        let token = try await client.subscribeToMessageCreated { status in
            statuses.withLockedValue { $0.append(status) }
        } resultHandler: { result in
            if case .success(let message) = result { letters.add(message.message) }
        }
        let refused = PlatformSubscriptionStatus.error(.server(code: 10_025, "not authorized"))
        try await eventually("the refusal") {
            statuses.withLockedValue { $0 } == [.initialized, .connecting, refused]
        }
        #expect(client.status.state == .connected && client.status.failingSubscriptions == ["the postbox"])
        network.server.fail(subjectPrefix: create, with: nil)
        try await network.letTimePass("the permitted subscription") {
            statuses.withLockedValue { $0.last } == .connected
        }
        #expect(statuses.withLockedValue { $0.count } == 4)
        #expect(client.status.failingSubscriptions.isEmpty)
        try network.postLetter("permitted")
        try await eventually("the letter") { letters.all == ["permitted"] }
        token.cancel()
        await client.close()
    }

    @Test("B50 a deletion that is cut off says of which letters nothing is known, and sends no more")
    func interruptedDeletion() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        for number in 1...300 { try network.postLetter("\(number)") }
        let page = try await client.listMessages(limit: 100)
        let second = try await client.listMessages(limit: 100, nextToken: page.nextToken)
        let ids = (page.items + second.items).map(\.id)
        try #require(ids.count == 200)
        network.server.fail(subjectPrefix: "$JS.API.STREAM.MSG.DELETE.PB_alice", with: .silence)
        let deletion = Task { try await client.deleteMessages(withMessageIds: ids) }
        let delete = "$JS.API.STREAM.MSG.DELETE.PB_alice"
        try await eventually("a window of deletions") { network.server.received.count { $0 == delete } >= 128 }
        network.server.disconnectAll()
        let result = try await deletion.value
        #expect(result.deleted.isEmpty)
        #expect(result.unknown.count >= 128)
        #expect(result.unknown.map(\.id) + result.failed.map(\.id) == ids)
        #expect(result.failed.allSatisfy { $0.error == .notConnected })
        await client.close()
    }

    @Test("B45 letters that come and go between pages are neither skipped nor repeated")
    func changingPages() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...6 { try network.postLetter("\(number)") }
        let first = try await client.listMessages(limit: 2)
        for letter in first.items { try await client.deleteMessage(withMessageId: letter.id) }
        let second = try await client.listMessages(limit: 2, nextToken: first.nextToken)
        try network.postLetter("7")
        let third = try await client.listMessages(limit: 10, nextToken: second.nextToken)
        #expect((first.items + second.items + third.items).map(\.message) == (1...7).map(String.init))
        await client.close()
    }

    @Test("B45 letters are listed from the end backwards too, of all postboxes and of one")
    func newestFirst() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...9 { try network.postLetter("\(number)", postbox: number % 3 == 0 ? "work" : "personal") }
        let first = try await client.listMessages(limit: 2, postbox: nil, order: .newestFirst)
        #expect(first.items.map(\.message) == ["9", "8"])
        try await client.deleteMessage(withMessageId: first.items[1].id)
        try network.postLetter("10")
        let second = try await client.listMessages(
            limit: 4, nextToken: first.nextToken, postbox: nil, order: .newestFirst)
        #expect(second.items.map(\.message) == ["7", "6", "5", "4"])
        let third = try await client.listMessages(
            limit: 4, nextToken: second.nextToken, postbox: nil, order: .newestFirst)
        #expect(third.items.map(\.message) == ["3", "2", "1"] && third.nextToken == nil)
        let work = try await client.listMessages(limit: 2, postbox: "work", order: .newestFirst)
        #expect(work.items.map(\.message) == ["9", "6"])
        let rest = try await client.listMessages(
            limit: 2, nextToken: work.nextToken, postbox: "work", order: .newestFirst)
        #expect(rest.items.map(\.message) == ["3"] && rest.nextToken == nil)
        await #expect(throws: RelayError.invalidToken) {
            try await client.listMessages(limit: 2, nextToken: first.nextToken)
        }
        // Letters from before senders were known have a subject of their own.
        try network.server.store("postbox.alice.work", Array("old".utf8))
        let all = try await client.listMessages(limit: 2, postbox: "work", order: .newestFirst)
        #expect(all.items.map(\.message) == ["old", "9"])
        await client.close()
    }

    @Test("B45 a server that takes no filter for a disabled postbox has its letters listed all the same")
    func refusedFilter() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...5 { try network.postLetter("\(number)", postbox: number % 2 == 0 ? "work" : "personal") }
        let create = "$JS.API.CONSUMER.CREATE.PB_alice."
        let refusal = JetStreamFailure(
            code: 400, errorCode: 10_093, text: "consumer filter subject is not a valid subset of the interest subjects"
        )
        network.server.fail(subjectPrefix: create, suffix: ".postbox.alice.work.*", with: .refusal(refusal))
        for (order, texts) in [(LetterOrder.oldestFirst, ["2", "4"]), (.newestFirst, ["4", "2"])] {
            let page = try await client.listMessages(limit: 5, postbox: "work", order: order)
            #expect(page.items.map(\.message) == texts)
        }
        await client.close()
    }

    @Test("B45 limits out of range and damaged tokens are refused")
    func refusals() async throws {
        let client = try await MemoryNetwork().connected()
        for limit in [0, -1, 101] {
            await #expect(throws: RelayError.self) { try await client.listMessages(limit: limit) }
        }
        for token in ["", "x", String(repeating: "a", count: 32), PageToken(incarnation: 1, sequence: 1).text] {
            await #expect(throws: RelayError.invalidToken) {
                try await client.listMessages(limit: 1, nextToken: token)
            }
        }
        await client.close()
    }

    @Test("B42 the subscription to new letters tells its status and ends with its token")
    func subscription() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let heard = Collected()
        var token: SubscriptionToken? = try await client.subscribeToMessageCreated { status in
            heard.add(status.name)
        } resultHandler: { result in
            if case .success(let message) = result { heard.add(message.message) }
        }
        try await eventually("the live subscription") { heard.all == ["initialized", "connecting", "connected"] }
        try network.postLetter("one")
        try await eventually("the letter") { heard.all.last == "one" }
        withExtendedLifetime(token) {}
        token = nil
        try await eventually("the end") { heard.all.last == "disconnected" }
        try network.postLetter("unheard")
        _ = try await client.ping()
        #expect(heard.all.last == "disconnected")
        await client.close()
    }

    @Test("B42 unsubscribeAll ends every subscription to letters")
    func unsubscribeAll() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let (first, second) = (Collected(), Collected())
        var tokens: [SubscriptionToken] = []
        for heard in [first, second] {
            let token = try await client.subscribeToMessageCreated { status in
                heard.add(status.name)
            } resultHandler: { _ in
            }
            tokens.append(token)
        }
        for heard in [first, second] {
            try await eventually("the live subscription") { heard.all == ["initialized", "connecting", "connected"] }
        }
        await client.unsubscribeAll()
        for heard in [first, second] {
            try await eventually("the end") { heard.all.last == "disconnected" }
        }
        try await eventually("the last reader is gone") { network.server.consumers(of: "PB_alice").isEmpty }
        withExtendedLifetime(tokens) {}
        await client.close()
    }

    @Test(
        "B45 newer servers give a page of letters in one answer, and older ones by a consumer, with the same letters",
        arguments: ["2.9.25", "2.12.0"])
    func batches(serverVersion: String) async throws {
        let network = try MemoryNetwork()
        network.server.info.version = serverVersion
        var configuration = network.configuration()
        configuration.namespace?.readsBatches = true
        let client = try await network.connected(configuration)
        for number in 1...9 { try network.postLetter("\(number)", postbox: number % 3 == 0 ? "work" : "personal") }
        // Whatever a sender writes where the server writes a letter's place.
        try network.server.store(
            "postbox.alice.personal.mallory", Array("10".utf8),
            headers: ["Nats-Sequence": "1", "Nats-Num-Pending": "0", "Nats-Last-Sequence": "0"])
        var texts: [String] = []
        var token: String?
        repeat {
            let page = try await client.listMessages(limit: 4, nextToken: token)
            texts += page.items.map(\.message)
            token = page.nextToken
        } while token != nil
        #expect(texts == (1...10).map(String.init))
        let work = try await client.listMessages(limit: 9, postbox: "work")
        #expect(work.items.map(\.message) == ["3", "6", "9"])
        let asked = network.server.received
        let (consumers, batches) = (
            asked.count { $0.hasPrefix("$JS.API.CONSUMER.CREATE.PB_alice.") },
            asked.count { $0 == "$JS.API.DIRECT.GET.PB_alice" }
        )
        if serverVersion == "2.12.0" {
            #expect(consumers == 0 && batches == 4)
        } else {
            #expect(consumers == 4 && batches == 0)
        }
        let newest = try await client.listMessages(limit: 2, postbox: nil, order: .newestFirst)
        #expect(newest.items.map(\.message) == ["10", "9"])
        await client.close()
    }

    @Test("A new user's first call finds the postbox that the network makes for it")
    func newUser() async throws {
        let network = try MemoryNetwork()
        network.server.deleteStream("PB_alice")
        let client = try await network.connected()
        await #expect(throws: RelayError.notFound("The postbox")) { try await client.listMessages() }
        let questions = Collected()
        network.server.service("relay.postbox.alice.list") { _ in
            if questions.all.isEmpty {
                try? network.createPostbox()
                _ = try? network.postLetter("welcome")
            }
            questions.add("list")
            return Array(#"{"postboxes":[\#(Self.entry("personal", of: "alice-1"))]}"#.utf8)
        }
        let first = try await client.listMessages()
        #expect(first.items.map(\.message) == ["welcome"] && first.items.map(\.sudoId) == ["alice-1"])
        #expect(try await client.countMessages() == ["personal": 1])
        await client.close()
    }

    /// Servers before 2.10 do not always say that no postbox takes a letter, so the client asks the network as well.
    @Test("B51 a postbox that takes nothing answers its sender", arguments: ["2.9.25", "2.10.0"])
    func disabled(serverVersion: String) async throws {
        let network = try MemoryNetwork()
        network.server.deleteStream("PB_alice")
        try network.server.createStream("PB_alice", subjects: ["postbox.alice.work", "postbox.alice.work.*"])
        network.server.info.version = serverVersion
        let client = try await network.connected()
        let failure = NIOLockedValueBox<RelayError?>(nil)
        Task {
            do throws(RelayError) {
                _ = try await client.post(to: "alice", postbox: "closed", text: "anyone?", timeout: .seconds(60))
            } catch { failure.withLockedValue { $0 = error } }
        }
        // It is tried again for a while: nobody says whether the network's host only starts again.
        try await network.letAttemptsPass(on: "postbox.alice.", "the refusal") { _ in
            failure.withLockedValue { $0 } != nil
        }
        #expect(failure.withLockedValue { $0 } == .postboxNotAccepting("alice/closed"))
        let receipt = try await client.post(to: "alice", postbox: "work", text: "hello", timeout: .seconds(60))
        #expect(receipt.sequence == 1)
        #expect(try await client.listMessages().items.map(\.message) == ["hello"])
        await client.close()
    }
}
