import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Key-value buckets", .realProcesses, .sharedServers)
struct KeyValueTests {
    private func bucket(_ binary: NATSServerBinary) async throws -> KeyValueBucket {
        let jetStream = JetStream(try await SharedServers.connect(binary), timeout: .seconds(120))
        let bucket = try KeyValueBucket(SharedServers.unique(), jetStream)
        try await bucket.create(storage: .memory)
        return bucket
    }

    private func value(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    @Test(
        "a value whose sender wrote a status before it is read, watched and listed",
        arguments: NATSServerProcess.binaries)
    func statusOfASender(binary: NATSServerBinary) async throws {
        let bucket = try await bucket(binary)
        let connection = bucket.jetStream.connection
        let statuses = ["404 No Messages", "408 Request Timeout", "503", "100 Idle Heartbeat"]
        for (number, status) in statuses.enumerated() {
            let headers = ByteBuffer(string: "NATS/1.0 \(status)\r\nX: y\r\n\r\n")
            _ = try connection.core.send {
                ProtocolEncoder.writePublish(
                    ByteBuffer(string: status), headers: headers, subject: "$KV.\(bucket.name).\(number)", reply: nil,
                    into: &$0)
            }
        }
        try await bucket.put(value("last"), for: "4")
        for (number, status) in statuses.enumerated() {
            #expect(try await bucket.get("\(number)").map { String(buffer: $0.value) } == status)
        }
        #expect(try await bucket.keys() == ["0", "1", "2", "3", "4"])
        #expect(try await bucket.history(of: "2").map { String(buffer: $0.value) } == ["503"])
        #expect(try await bucket.get("5") == nil)
        await connection.close()
    }

    @Test("keys and names follow their grammar (ADR-8)")
    func grammar() async throws {
        for key in ["a", "A-Z_0/9=.x", "a.b.c", "_", "=", "/", "-"] { #expect(KeyValueBucket.isKey(key)) }
        for key in ["", ".", "a.", ".a", "a..b", "a b", "a*", "*", ">", "a.>", "ä", "a\n", "a\u{0}", "a:b", "a\\b"] {
            #expect(!KeyValueBucket.isKey(key))
        }
        let connection = try await SharedServers.connect(NATSServerProcess.anyBinary)
        let jetStream = JetStream(connection)
        for name in ["", "a.b", "a b", "*", "ä", "a/b", String(repeating: "a", count: 201)] {
            #expect(throws: NATSError.self) { try KeyValueBucket(name, jetStream) }
        }
        let bucket = try KeyValueBucket("any", jetStream)
        for key in ["a*", "", "a b"] {
            let error = await failure { () async throws(NATSError) in try await bucket.put(ByteBuffer(), for: key) }
            #expect(error.isInvalidArgument, "\(error as Any)")
        }
        #expect(throws: NATSError.invalidSubject("a..b")) { try bucket.watch("a..b") }
        await connection.close()
    }

    @Test("markers of newer servers are removals")
    func markers() {
        func operation(_ headers: NATSHeaders) -> KeyValueEntry.Operation {
            KeyValueEntry(
                StoredMessage(
                    subject: "$KV.b.key", sequence: 1, time: ServerTime(nanoseconds: 0), headers: headers,
                    payload: ByteBuffer())
            ).operation
        }
        #expect(operation([:]) == .put)
        #expect(operation(["KV-Operation": "DEL"]) == .delete)
        #expect(operation(["KV-Operation": "PURGE"]) == .purge)
        #expect(operation(["KV-Operation": "UNKNOWN"]) == .put)
        #expect(operation(["Nats-Marker-Reason": "MaxAge"]) == .purge)
        #expect(operation(["Nats-Marker-Reason": "Purge"]) == .purge)
        #expect(operation(["Nats-Marker-Reason": "Remove"]) == .delete)
    }
}
