import Foundation
import RelayNetwork
import TestSupport
import Testing

@testable import Parley

@Suite("What the doctor asks the server program", .realProcesses)
struct ServerProgramTests {
    @Test(
        "The server program tells its version, and one that says nothing is not waited for",
        arguments: NATSServerProcess.binaries)
    func program(binary: NATSServerBinary) async throws {
        #expect(try ServerExecutable.find(in: ["PARLEY_NATS_SERVER": binary.path]) == binary.path)
        let version = try #require(try await ServerProgram.version(of: binary.path, within: .seconds(30)))
        #expect(version.split(separator: ".").count >= 3 && version.first?.isNumber == true)
        for path in ["/bin/false", "/nonexistent/program"] {
            let none = try? await ServerProgram.version(of: path, within: .seconds(30))
            #expect(none == nil, "\(path)")
        }
        #expect(throws: NetworkError.serverNotExecutable(path: "/nonexistent")) {
            try ServerExecutable.find(in: ["PARLEY_NATS_SERVER": "/nonexistent"])
        }
        let folder = try TemporaryDirectory("doctor")
        try folder.write("#!/bin/sh\nexec sleep 1000\n", to: "nats-server")
        chmod(folder.path("nats-server"), 0o700)
        #expect(try ServerExecutable.find(in: ["PATH": folder.path("")]) == folder.path("") + "/nats-server")
        let silent = try? await ServerProgram.version(of: folder.path("nats-server"), within: .seconds(1))
        #expect(silent == nil)
    }
}
