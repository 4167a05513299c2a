import Testing

@testable import Relay

/// What is made of the server's answers about letters and postboxes.
@Suite("Letters and postboxes")
struct LettersTests {
    @Test("B50 a bulk deletion tells of each letter in the order of the call, of one that was named twice too")
    func bulkDeletion() {
        let answers: [Result<Void, RelayError>?] = [
            .failure(.notFound("a")), .success(()), .success(()), .failure(.timeout("deleting a letter")), nil,
        ]
        var deletion = BulkDeletion(of: ["a", "b", "a", "c", "d"], answers: answers, unasked: .cancelled)
        #expect(deletion.deleted == ["b", "a"] && deletion.gone == ["b", "a", "a"])
        #expect(deletion.failed.map(\.id) == ["a", "d"])
        #expect(deletion.failed.map(\.error) == [.notFound("a"), .cancelled])
        // Nobody knows what became of a letter whose deletion was not answered.
        #expect(deletion.unknown.map(\.id) == ["c"])
        #expect(deletion.notDeleted.map(\.error) == [.notFound("a"), .cancelled, .timeout("deleting a letter")])
        deletion.failed.removeLast()
        #expect(
            deletion.description == "Deleted 2 of 4 letters. Not deleted: a (a does not exist, or was deleted.) "
                + "Perhaps deleted: c (deleting a letter was not answered in time. It is safe to try again.)")
        #expect(BulkDeletion(of: [], answers: [], unasked: .cancelled) == BulkDeletion())
    }

    @Test("A letter goes to a user's postbox under its own identifier, and to no name that cannot be one")
    func outgoing() throws {
        let letter = try OutboxMessage(letterTo: "bob", postbox: "work", text: "hello", id: "id-1")
        #expect(letter.id == "id-1" && letter.destination == .postbox(user: "bob", postbox: "work"))
        let read = try #require(PostboxLetter(reading: letter.payload))
        #expect(read.id == "id-1" && read.message == "hello")
        #expect(try OutboxMessage(letterTo: "bob", postbox: "work", text: "hello", id: nil).id.utf8.count == 15)
        for (user, postbox) in [("b.b", "work"), ("bob", ""), (">", "work"), ("bob", "a/b")] {
            #expect(throws: RelayError.invalidArgument("Name the postbox as USER/POSTBOX")) {
                try OutboxMessage(letterTo: user, postbox: postbox, text: "hello", id: nil)
            }
        }
    }

    @Test("A letter's subject travels with it, and a letter without one is as it was before there were any")
    func subjects() throws {
        let letter = try OutboxMessage(letterTo: "bob", postbox: "work", subject: "The build", text: "fails", id: "1")
        #expect(PostboxLetter(reading: letter.payload)?.subject == "The build")
        for none in [nil, ""] {
            let plain = try OutboxMessage(letterTo: "bob", postbox: "work", subject: none, text: "hello", id: "2")
            #expect(!String(decoding: plain.payload, as: UTF8.self).contains("subject"))
            #expect(PostboxLetter(reading: plain.payload).map(\.subject) == .some(nil))
        }
        for (subject, words) in [
            ("two\nlines", "A subject is one line"),
            (String(repeating: "é", count: 129), "A subject has 256 bytes at most"),
        ] {
            #expect(throws: RelayError.invalidArgument(words)) {
                try OutboxMessage(letterTo: "bob", postbox: "work", subject: subject, text: "hello", id: nil)
            }
        }
        // What another client puts there makes no letter unreadable.
        for (value, subject) in [("\"s\"", "s"), ("7", nil), ("null", nil), ("{}", nil), ("\"\"", nil)] {
            let json = #"{"id":"1","createdAt":1,"message":"m","subject":\#(value)}"#
            let read = try #require(PostboxLetter(reading: Array(json.utf8)))
            #expect(read.message == "m" && read.subject == subject)
        }
    }

    @Test("The postbox service's answer says which postboxes there are")
    func postboxes() throws {
        let entry = PostboxReply.Entry(id: "work", name: "work", sudoId: "alice", isEnabled: false, createdAt: 42)
        let found = try PostboxServiceClient.postboxes(in: PostboxReply(postboxes: [entry]), about: "work")
        let postbox = Postbox(
            id: "work", name: "work", sudoId: "alice", isEnabled: false, createdAt: Timestamp(milliseconds: 42))
        #expect(found == [postbox] && postbox.title == "work" && !postbox.hasTitle)
        var named = entry
        named.title = "Orders"
        let renamed = try PostboxServiceClient.postboxes(in: PostboxReply(postboxes: [named]), about: "work")
        #expect(renamed.map(\.title) == ["Orders"] && renamed.map(\.name) == ["work"])
        // What is no title, whoever has written it down, is taken for none.
        for (text, title) in [
            ("two\nlines", "two lines"), ("a\u{1B}[2J", "work"), ("\u{200B}", "work"),
            (String(repeating: "x", count: 129), "work"),
        ] {
            named.title = text
            let found = try PostboxServiceClient.postboxes(in: PostboxReply(postboxes: [named]), about: "work")
            #expect(found.map(\.title) == [title])
        }
        #expect(try PostboxServiceClient.postboxes(in: PostboxReply(postboxes: []), about: "work").isEmpty)
    }

    @Test("A title has something to see, and nothing that cannot be seen but the joiners that scripts need")
    func titles() {
        for text in [
            "", " \n", "\u{200B}", "\u{200D}", "\u{3164}", "\u{2800}", "\u{301}", "Sh\u{200B}op", "\u{202E}pohS",
            "a\u{AD}b", "a\u{7}",
        ] {
            #expect(PostboxRequest.title(text) == nil, "\(text.unicodeScalars.map(\.value))")
        }
        for text in ["Orders, old", "می\u{200C}خواهم", "👩\u{200D}💻 work", "❤\u{FE0F}", "Zoe\u{308}", "7"] {
            #expect(PostboxRequest.title(text) == text)
        }
    }

    @Test(
        "The postbox service's refusals say what to do",
        arguments: [
            (
                PostboxReply.Failure.invalidName,
                RelayError.invalidArgument("A postbox's name has 1 to 64 letters, digits, _ and -")
            ),
            (
                PostboxReply.Failure.invalidTitle,
                RelayError.invalidArgument(
                    "A postbox's title is a line of 1 to 128 bytes, without invisible characters")
            ),
            (
                PostboxReply.Failure.titleTaken,
                RelayError.invalidArgument("Another postbox already has that name or title")
            ),
            (
                PostboxReply.Failure.exists,
                RelayError.invalidArgument("There is already a postbox work, or one with that title")
            ),
            (PostboxReply.Failure.notFound, RelayError.notFound("The postbox work")),
            (
                PostboxReply.Failure.limitExceeded,
                RelayError.server(code: 429, "there are as many postboxes as one may have")
            ),
            (
                PostboxReply.Failure.invalidRequest,
                RelayError.server(code: 400, "the postbox service did not understand")
            ),
            (PostboxReply.Failure.unavailable, RelayError.timeout("The postbox service")),
        ])
    func refusals(failure: PostboxReply.Failure, error: RelayError) {
        #expect(throws: error) { try PostboxServiceClient.postboxes(in: PostboxReply(error: failure), about: "work") }
    }
}
