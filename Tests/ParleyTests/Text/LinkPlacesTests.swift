import Terminal
import Testing

@testable import Parley

@Suite("Links in a text")
struct LinkPlacesTests {
    private func links(_ text: String) -> [String] { Link.places(in: SafeText(text)).map(\.link.text) }

    @Test(
        "An address ends where the sentence goes on",
        arguments: [
            ("see https://example.org/a.", ["https://example.org/a"]),
            ("http://a.b, http://c.d; HTTPS://E.F!?", ["http://a.b", "http://c.d", "HTTPS://E.F"]),
            ("(see http://a.b/c_(d))", ["http://a.b/c_(d)"]), ("(http://a.b/c).", ["http://a.b/c"]),
            ("[x](http://a.b/c),[y](http://d.e)", ["http://a.b/c", "http://d.e"]),
            (
                "<http://a.b> \"http://c.d\" `http://e.f` **http://g.h**",
                ["http://a.b", "http://c.d", "http://e.f", "http://g.h"]
            ),
            ("http://[::1]:8080/x", ["http://[::1]:8080/x"]), ("http://a.b/?q=1&r=(2)#f", ["http://a.b/?q=1&r=(2)#f"]),
            ("http://localhost:4222/ ok", ["http://localhost:4222/"]), ("见http://a.b/c。然后", ["http://a.b/c"]),
            ("http://a.b/(x", ["http://a.b/(x"]), ("http://a.b/c(", ["http://a.b/c"]),
        ])
    func ends(text: String, shown: [String]) { #expect(links(text) == shown) }

    @Test(
        "What has no host, and what another word goes on with, is no link",
        arguments: [
            "http://", "https:// x", "http://.", "http://?", "http:///x", "xhttp://a.b", "_http://a.b", "ftp://a.b",
            "javascript:alert(1)", "www.example.org", "http:/a.b", "http://)", "http://user@", "http://@",
        ])
    func none(text: String) { #expect(links(text).isEmpty) }

    @Test("A host beyond ASCII is shown as it is, and what would be passed over in silence takes no part")
    func beyondASCII() throws {
        #expect(links("https://例え.jp/ä。") == ["https://例え.jp/ä"])
        // Cyrillic letters that look like Latin ones stay what they are, for the terminal too.
        let link = try #require(Link.places(in: SafeText("https://\u{430}pple.com")).first?.link)
        #expect(link.host == "\u{430}pple.com" && link.target?.address == "https://%D0%B0pple.com")
        // Nobody sees these, so they lead nowhere.
        #expect(links("http://a\u{200B}b.c\u{202E}d") == ["http://ab.cd"])
        #expect(links("http://a.b\u{2028}c http://d.e\tf") == ["http://a.b", "http://d.e"])
        // What looks like a slash is none.
        #expect(links("http://bank.example\u{2215}x.evil.example") == ["http://bank.example"])
        #expect(links("http://bank.example\\@evil.example") == ["http://bank.example"])
    }

    @Test("What stands before the host is not taken for it: such a link is told apart, and no terminal opens it")
    func userInformation() throws {
        let link = try #require(Link.places(in: SafeText("go: https://bank.example:x@evil.example/login")).first?.link)
        #expect(link.text == "https://bank.example:x@evil.example/login")
        #expect(link.host == "evil.example" && link.hidesHost && link.target == nil)
        let plain = try #require(Link.places(in: SafeText("https://example.org/@bob?x=a@b")).first?.link)
        #expect(plain.host == "example.org" && !plain.hidesHost && plain.target != nil)
    }

    @Test("A link of any length costs no more than the text, and one that is too long is text as any other")
    func hostile() {
        let limit = Link.characterLimit
        #expect(links("http://" + String(repeating: "a", count: limit - 7)).first?.count == limit)
        #expect(links("http://" + String(repeating: "a", count: limit - 6)).isEmpty)
        #expect(links("http://" + String(repeating: "a", count: limit) + " http://a.b") == ["http://a.b"])
        for piece in ["http://", "h", "http://a(", "http://a)", "https:/", "http://[", "http://a.", "http://@"] {
            #expect(
                links(String(repeating: piece, count: 16_384 / piece.count)).count <= 16_384 / piece.count, "\(piece)")
        }
        #expect(links(String(repeating: "http://a ", count: 1_800)).count == 1_800)
    }

    @Test(
        "A link to a picture or a file has the name that its path ends with",
        arguments: [
            ("https://a.b/c/cat.png", "image cat.png"), ("https://a.b/Cat.JPEG?size=1#x", "image Cat.JPEG"),
            ("https://a.b/notes.tar.gz", "file notes.tar.gz"), ("https://a.b/a%20b.pdf", "file a%20b.pdf"),
            ("https://a.b", nil), ("https://a.b/", nil), ("https://cat.png", nil), ("https://cat.png/", nil),
            ("https://a.b/page.html", nil), ("https://a.b/Node.js", nil), ("https://a.b/.png", nil),
            ("https://a.b/c?file=cat.png", nil), ("https://a.b/cat.png/", nil), ("https://a.b/catpng", nil),
        ] as [(String, String?)])
    func files(_ text: String, _ words: String?) throws {
        let link = try #require(Link.places(in: SafeText(text)).first?.link)
        #expect(link.file == words)
    }
}
