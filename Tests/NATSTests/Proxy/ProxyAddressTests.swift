import Testing

@testable import NATS

@Suite("Addresses of proxies")
struct ProxyAddressTests {
    @Test(
        "are read from URLs",
        arguments: [
            ("http://proxy.example:3128", ProxyAddress(.http, host: "proxy.example", port: 3_128)),
            ("HTTP://10.0.0.1:80/", ProxyAddress(.http, host: "10.0.0.1", port: 80)),
            ("socks5://[::1]:1080", ProxyAddress(.socks5, host: "::1", port: 1_080)),
            ("socks5h://proxy:1080", ProxyAddress(.socks5, host: "proxy", port: 1_080)),
        ])
    func parsed(text: String, address: ProxyAddress) throws {
        #expect(try ProxyAddress(parsing: text) == address)
        #expect(try ProxyAddress(parsing: "\(address)") == address)
        #expect(address.authorization == nil)
    }

    @Test(
        "are refused with words on what to write instead",
        arguments: [
            "", "proxy:80", "https://proxy:443", "nats://proxy:80", "http://proxy", "http://:80", "http://proxy:0",
            "http://proxy:x", "http://proxy:80/path", "socks5://user:hunter2@proxy:1080", "socks4://proxy:1080",
            "http://hunter2@:80", "http://::1:80", "http://pro xy:80",
        ])
    func refused(text: String) {
        #expect {
            try ProxyAddress(parsing: text)
        } throws: { error in
            guard case NATSError.invalidArgument(let words) = error else { return false }
            return !words.isEmpty && !words.contains("hunter2")
        }
    }

    @Test("carry user and password for HTTP, with the escapes of a URL, and never show them")
    func authorization() throws {
        let address = try ProxyAddress(parsing: "http://Aladdin:open%20sesame@proxy:80")
        // The example of RFC 7617.
        #expect(address.authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(try ProxyAddress(parsing: "http://alone@proxy:80").authorization == "Basic YWxvbmU6")
        #expect(try ProxyAddress(parsing: "http://@proxy:80").authorization == nil)
        var dumped = ""
        dump(address, to: &dumped)
        for shown in ["\(address)", String(reflecting: address), dumped, "\(ConnectOptions(proxy: address))"] {
            #expect(!shown.contains("sesame") && !shown.contains("Aladdin"))
        }
    }

    @Test("the end of an answer's head is found wherever a read ends")
    func headEnd() {
        let head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
        let bytes = Array((head + "INFO {}\r\n\r\n").utf8)
        for cut in 0..<bytes.count {
            var end = HeadEnd()
            let first = end.advance(over: bytes[..<cut])
            let rest = cut < head.utf8.count ? end.advance(over: bytes[cut...]) : 0
            #expect(first + rest == head.utf8.count, "\(cut)")
        }
        var end = HeadEnd()
        #expect(end.advance(over: Array("a\n\nb".utf8)) == 3)
        #expect(end.advance(over: Array("b".utf8)) == 1)
    }
}
