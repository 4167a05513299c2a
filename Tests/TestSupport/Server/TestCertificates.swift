import Testing

/// An authority with certificates for server and client, and some that are not to be trusted, made with OpenSSL for
/// all suites that run at the same time.
public struct TestCertificates: SuiteTrait, TestScoping {
    @TaskLocal private static var made: TemporaryDirectory?
    private static let shared = SharedFixture(make: make) { $0.remove() }

    /// Runs the suite with the files.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Self.shared.use { directory in
            try await Self.$made.withValue(directory) { try await function() }
        }
    }

    @Sendable private static func make() async throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory("tls")
        try directory.write("basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n", to: "authority.ext")
        try directory.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n", to: "server.ext")
        try directory.write("subjectAltName=DNS:elsewhere.example\n", to: "other.ext")
        try directory.write("subjectAltName=IP:127.0.0.1\n", to: "address.ext")
        try directory.write("subjectAltName=DNS:client.example\nextendedKeyUsage=clientAuth\n", to: "client.ext")
        for authority in ["authority", "stranger"] {
            try await openSSL(
                directory,
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    "30",
                    "-subj", "/CN=\(authority)", "-keyout", "\(authority).key", "-out", "\(authority).pem",
                ])
        }
        for name in ["server", "other", "address", "client", "expired"] {
            try await openSSL(
                directory,
                [
                    "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=\(name)",
                    "-keyout", "\(name).key", "-out", "\(name).csr",
                ])
            var arguments = [
                "x509", "-req", "-in", "\(name).csr", "-CA", "authority.pem", "-CAkey", "authority.key",
                "-CAcreateserial", "-extfile", name == "expired" ? "server.ext" : "\(name).ext", "-out", "\(name).pem",
            ]
            arguments += name == "expired" ? ["-days", "-1"] : ["-days", "30"]
            try await openSSL(directory, arguments)
        }
        try await makeFuture(directory)
        return directory
    }

    /// A certificate whose time has not come: only the `ca` command takes a first day.
    private static func makeFuture(_ directory: TemporaryDirectory) async throws {
        let configuration = """
            [ca]
            default_ca = future
            [future]
            database = future.database
            serial = future.serial
            new_certs_dir = .
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        try directory.write(configuration + "\n", to: "future.conf")
        try directory.write("", to: "future.database")
        try directory.write("1000\n", to: "future.serial")
        try await openSSL(
            directory,
            [
                "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=future",
                "-keyout", "future.key", "-out", "future.csr",
            ])
        try await openSSL(
            directory,
            [
                "ca", "-batch", "-config", "future.conf", "-in", "future.csr", "-cert", "authority.pem", "-keyfile",
                "authority.key", "-extfile", "server.ext", "-startdate", "20450607000000Z", "-enddate",
                "20460607000000Z", "-notext", "-out", "future.pem",
            ])
    }

    private static func openSSL(_ directory: TemporaryDirectory, _ arguments: [String]) async throws {
        let result = try await ChildProcess.run("openssl", arguments, workingDirectory: directory.url)
        guard result.status.isSuccess else { throw TestFailure("openssl \(arguments): \(result)") }
    }

    /// The path of one of the files.
    public static func path(_ name: String) throws -> String {
        guard let made else { throw TestFailure("the suite has no certificates") }
        return made.path(name)
    }

    /// The server's `tls` block.
    public static func configuration(_ name: String = "server", more: String = "") throws -> String {
        """
        tls {
          cert_file: "\(try path(name + ".pem"))"
          key_file: "\(try path(name + ".key"))"
          ca_file: "\(try path("authority.pem"))"
          timeout: 30
          \(more)
        }

        """
    }
}

extension Trait where Self == TestCertificates {
    /// An authority with certificates for the tests of the suite.
    public static var certificates: Self { TestCertificates() }
}
