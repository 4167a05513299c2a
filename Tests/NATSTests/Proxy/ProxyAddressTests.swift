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
            (" SOCKS5://proxy/\n", ProxyAddress(.socks5, host: "proxy", port: 1_080)),
            ("proxy:80", ProxyAddress(.http, host: "proxy", port: 80)),
            ("127.1:80", ProxyAddress(.http, host: "127.0.0.1", port: 80)),
            ("//proxy:80", ProxyAddress(.http, host: "proxy", port: 80)),
            ("http:80", ProxyAddress(.http, host: "http", port: 80)),
            ("[0::1]:80", ProxyAddress(.http, host: "::1", port: 80)),
        ])
    func parsed(text: String, address: ProxyAddress) throws {
        #expect(try ProxyAddress(parsing: text) == address)
        #expect(try ProxyAddress(parsing: "\(address)") == address)
        #expect(address.authorization == nil)
    }

    @Test(
        "are refused with words that name what is wrong",
        arguments: [
            ("", "no host"), ("https://proxy:443", "over TLS"),
            ("nats://proxy:80", "begins with http:// or socks5://"),
            ("http://proxy", "has no port"), ("proxy", "has no port"), ("nonsense", "has no port"),
            ("http://:80", "no host"),
            ("http://proxy:", "has no port"), ("http://proxy:0", "1 to 65535"), ("http://proxy:x", "1 to 65535"),
            ("http://proxy:80/path", "from / on"), ("socks5://user:hunter2@proxy:1080", "no user name and password"),
            ("socks4://proxy:1080", "version 5"), ("socks4a://proxy", "version 5"), ("socks://proxy:1080", "version 5"),
            ("http://hunter2@:80", "no host"), ("http://::1:80", "needs brackets"), ("http://pro xy:80", "a blank"),
            ("http://*:80", "“*”"),
            ("http:proxy:80", "two slashes follow http, as in http://host:port"), ("http:/proxy:80", "two slashes"),
            ("HTTP//proxy:80", "two slashes follow http"), ("http:hunter2@proxy:80", "two slashes"),
            ("socks5h:proxy", "two slashes follow socks5h, as in socks5h://host:port"),
            ("socks5:proxy:1080", "two slashes"),
            ("https:proxy:443", "over TLS"), ("nats:proxy:80", "begins with http:// or socks5://"),
            ("http:///proxy:80", "no host"), ("/proxy:80", "no host"), ("proxy:80:80", "has one port"),
            ("127.0.0.1:80:80", "has one port"),
        ])
    func refused(text: String, reason: String) {
        #expect {
            try ProxyAddress(parsing: text)
        } throws: { error in
            guard case NATSError.invalidArgument(let words) = error else { return false }
            return words.contains(reason) && !words.contains("hunter2")
        }
    }

    @Test("A failure behind a proxy names it, once, and one of the proxy's own stays as it is")
    func named() {
        let proxy = ProxyAddress(.http, host: "proxy.example", port: 3_128)
        let way = "(through the proxy http://proxy.example:3128)"
        #expect(NATSError.timeout("x").through(proxy) == .timeout("x \(way)"))
        #expect(NATSError.tls("x").through(proxy) == .tls("x \(way)"))
        #expect(NATSError.tls("x; do y").through(proxy) == .tls("x \(way); do y"))
        #expect("\(NATSError.closedByServer(nil).through(proxy))".contains(way))
        let own = NATSError.unreachable("\(proxy) has no way to h")
        #expect(own.through(proxy) == own && own.through(proxy).through(proxy) == own)
        #expect(NATSError.authorization(.violation).through(proxy) == .authorization(.violation))
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
}
