import Testing

@testable import NATS

@Suite("INFO")
struct ServerInfoTests {
    private func info(_ text: String) throws -> ServerInfo { try ServerInfo.decode(Array(text.utf8)) }

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

    @Test("names the cluster's servers, with IPv6 in brackets, and this client as the server sees it")
    func cluster() throws {
        let read = try info(
            """
            {"server_id":"N1","cluster":"C","client_id":7,"client_ip":"2001:db8::9","ldm":true,
            "connect_urls":["10.0.0.1:4111","[2001:db8::1]:4112"]}
            """)
        #expect(read.cluster == "C" && read.clientID == 7 && read.clientAddress == "2001:db8::9")
        #expect(read.connectURLs == ["10.0.0.1:4111", "[2001:db8::1]:4112"] && read.isLameDuck == true)
        let known = ServerAddress(host: "broker.example", usesTLS: true)
        let addresses = (read.connectURLs ?? []).compactMap { ServerAddress(discovered: $0, like: known) }
        #expect(addresses.map(\.description) == ["tls://10.0.0.1:4111", "tls://[2001:db8::1]:4112"])
    }

    @Test(
        "reads the usual form by hand as it reads any form",
        arguments: [
            "{}", " { } ", "{\"port\":0}", "{\"port\":007}", "{\"port\":-1}", "{\"port\":1.5}", "{\"port\":\"x\"}",
            "{\"max_payload\":123456789012345678}", "{\"max_payload\":12345678901234567890}",
            "{\"version\":\"\\u0032\"}",
            "{\"version\":\"ä\"}", "{\"connect_urls\":[]}", "{\"connect_urls\":[\"a\", \"b\" ]}",
            "{\"connect_urls\":[1]}",
            "{\"headers\":true,\"ldm\":false,\"other\":\"x\",\"more\":[\"y\"],\"nested\":{\"a\":1}}",
            "{\n\t\"server_id\" : \"N\" ,\r\"client_id\":7}", "{\"host\":null}", "{\"tls_required\":\"true\"}",
            "{\"server_id\":\"N\",\"server_name\":\"n\",\"cluster\":\"c\",\"domain\":\"d\",\"client_ip\":\"1.2.3.4\"}",
            "{\"jetstream\":true,\"auth_required\":true,\"tls_available\":true,\"remote_account\":\"A\",\"nonce\":\"x\"}",
        ])
    func usualForm(text: String) throws {
        let bytes = Array(text.utf8)
        let any = try? ServerInfo.decodeAnyForm(bytes)
        let usual = InfoReader.read(bytes)
        #expect(usual == nil || usual == any)
        #expect((try? ServerInfo.decode(bytes)) == any)
    }

    @Test("reads by hand what servers send, and leaves the rest to the general decoder")
    func byHand() {
        func isRead(_ text: String) -> Bool { InfoReader.read(Array(text.utf8)) != nil }
        #expect(
            isRead("{\"server_id\":\"N\",\"proto\":1,\"connect_urls\":[\"a:1\"],\"jetstream\":true,\"xkey\":\"X\"} "))
        for text in ["", "{", "{\"a\"}", "{\"a\":1,}", "{\"a\":tru}", "{\"a\":{}}", "{\"a\":1}x", "{\"a\":\"\\n\"}"] {
            #expect(!isRead(text), "\(text)")
        }
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

    @Test("takes a field of another type for absent", arguments: ["{\"max_payload\":\"x\"}", "{\"port\":null}", "{}"])
    func lenient(text: String) throws {
        #expect(try info(text).maximumPayload == 1_048_576)
    }

    @Test("refuses what is no JSON object", arguments: ["", "{", "[]", "4", "{\"a\":}"])
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
        current.update(with: try info("{\"connect_urls\":[],\"ldm\":true}"))
        #expect(current.serverID == "N1" && current.version == "2.9.10" && current.clientID == 5)
        #expect(current.maximumPayload == 2_048)
        #expect(current.supportsHeaders == true && current.hasJetStream == true)
        #expect(current.connectURLs == ["a:1", "b:2"])
        #expect(current.host == "h" && current.port == 4_111)
        #expect(current.isLameDuck == true)
        // An INFO without the list is no news of the cluster.
        current.update(with: try info("{\"cluster\":\"C\"}"))
        #expect(current.connectURLs == ["a:1", "b:2"] && current.cluster == "C")
        current.update(with: try info("{\"max_payload\":16,\"connect_urls\":[\"c:3\"]}"))
        #expect(current.maximumPayload == 16)
        #expect(current.connectURLs == ["c:3"])
    }
}
