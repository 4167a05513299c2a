import Testing

@testable import NATS

@Suite("INFO")
struct ServerInfoTests {
    private func info(_ text: String, after known: ServerInfo = ServerInfo()) throws -> ServerInfo {
        try ServerInfo.decode(Array(text.utf8), after: known)
    }

    @Test("reads the fields of old and new servers, and no others")
    func fields() throws {
        let read = try info(
            """
            {"server_id":"N1","server_name":"n","version":"2.9.10","proto":1,"go":"go1.19","host":"0.0.0.0","port":4111,
            "headers":true,"max_payload":2048,"jetstream":true,"client_id":5,"client_ip":"127.0.0.1","nonce":"abc",
            "connect_urls":["10.0.0.1:4111"],"ldm":true,"api_lvl":5,"remote_account":"A1","xkey":"X"} 
            """)
        #expect(read.serverID == "N1" && read.version == "2.9.10" && read.maximumPayload == 2_048)
        #expect(read.nonce == "abc" && read.connectURLs == ["10.0.0.1:4111"] && read.isLameDuck == true)
        #expect(read.account == "A1" && read.clientID == 5 && read.hasJetStream == true)
    }

    @Test(
        "takes a number for the port that is one, and passes over what has another form",
        arguments: [
            ("{}", nil), (" { } ", nil), ("{\"port\":0}", 0), ("{\"port\":-1}", -1), ("{\"port\":1.5}", nil),
            ("{\"port\":\"x\"}", nil), ("{\"port\":12345678901234567890}", nil),
            ("{\"port\":null,\"headers\":true}", nil),
            ("{\"nested\":{\"port\":1,\"list\":[{},[2,\"x\"]]},\"port\":7}", 7),
            ("{\n\t\"port\" : 7 ,\r\"ldm\":false}", 7),
        ] as [(String, Int?)])
    func forms(text: String, port: Int?) throws { #expect(try info(text).port == port) }

    @Test("reads escapes and letters beyond ASCII, and leaves out of a list what is no text")
    func texts() throws {
        let read = try info(
            "{\"version\":\"\\u0032\\\\\",\"server_name\":\"ä\\\"\",\"connect_urls\":[1,\"a\", \"b\" ]}")
        #expect(read.version == "2\\" && read.serverName == "ä\"" && read.connectURLs == ["a", "b"])
    }

    @Test("knows from the newest INFO alone whether a certificate is asked for")
    func certificate() throws {
        let read = try info("{\"tls_required\":true,\"tls_verify\":true}")
        #expect(read.requiresTLS == true && read.asksForCertificate == true)
        #expect(try info("{}", after: read).asksForCertificate == nil)
    }

    @Test("takes in no more servers than a client ever tries, and no text that is too long to be a name")
    func bounds() throws {
        let servers = (0..<1_000).map { "\"h\($0):4222\"" }.joined(separator: ",")
        let long = String(repeating: "x", count: ServerInfo.maximumText + 1)
        let read = try info(
            "{\"server_id\":\"\(long)\",\"nonce\":\"\(long)\",\"version\":\"2.9\",\"connect_urls\":[\"\(long)\",\(servers)]}"
        )
        #expect(read.serverID.isEmpty && read.nonce == nil && read.version == "2.9")
        #expect(read.connectURLs == (0..<ServerInfo.maximumConnectURLs).map { "h\($0):4222" })
    }

    @Test("takes a server without a limit for messages for one that takes the largest there are")
    func noLimit() throws {
        let read = try info("{\"max_payload\":-1}")
        #expect(read.maximumPayload == 64 << 20)
        #expect(try info("{\"max_payload\":0}", after: read).maximumPayload == 0)
    }

    @Test("takes a field of another type for absent", arguments: ["{\"max_payload\":\"x\"}", "{\"port\":null}", "{}"])
    func lenient(text: String) throws {
        #expect(try info(text).maximumPayload == 1_048_576)
    }

    @Test(
        "refuses what is no JSON object",
        arguments: [
            "", "{", "[]", "4", "{\"a\":}", "{\"a\"}", "{\"a\":1,}", "{\"a\":tru}", "{\"a\":1}x", "{\"a\":\"\n\"}",
            "{\"port\":007}", "{\"a\":\"x", "{\"a\":\"\\", "{\"a\":" + String(repeating: "[", count: 100_000),
        ])
    func unreadable(text: String) {
        #expect(throws: NATSError.protocolViolation("its INFO is not readable")) { try info(text) }
    }

    @Test("a later INFO changes what it says and leaves the rest")
    func update() throws {
        var current = try info(
            """
            {"server_id":"N1","version":"2.9.10","max_payload":2048,"headers":true,"client_id":5,"jetstream":true,
            "connect_urls":["a:1","b:2"],"host":"h","port":4111}
            """)
        current = try info("{\"connect_urls\":[],\"ldm\":true}", after: current)
        #expect(current.serverID == "N1" && current.version == "2.9.10" && current.clientID == 5)
        #expect(current.maximumPayload == 2_048)
        #expect(current.supportsHeaders == true && current.hasJetStream == true)
        #expect(current.connectURLs == ["a:1", "b:2"])
        #expect(current.host == "h" && current.port == 4_111)
        #expect(current.isLameDuck == true)
        // An INFO without the list is no news of the cluster.
        current = try info("{\"cluster\":\"C\"}", after: current)
        #expect(current.connectURLs == ["a:1", "b:2"] && current.cluster == "C")
        current = try info("{\"max_payload\":16,\"connect_urls\":[\"c:3\"]}", after: current)
        #expect(current.maximumPayload == 16)
        #expect(current.connectURLs == ["c:3"])
    }
}
