import NIOSSL
import Testing

@testable import NATS

@Suite("Words about certificates")
struct CertificateSummaryTests {
    private let certificate = CertificateSummary(
        validFrom: 1_000_000_000, validUntil: 1_100_000_000,
        names: ["a.example", "*.B.example", "*.com", "*"],
        addresses: [[10, 0, 0, 1], Array(repeating: 0, count: 15) + [1]])

    @Test(
        "are told apart by its days",
        arguments: [
            (1_100_000_001, "expired on 2004-11-09"), (999_999_999, "not valid before 2001-09-09"),
            (1_000_000_000, "no authority"), (1_100_000_000, "no authority"),
        ] as [(Int64, String)])
    func days(now: Int64, words: String) {
        #expect(certificate.refusal(at: now, name: "host").contains(words))
    }

    @Test("name at most three of its names, and nothing that could move a cursor")
    func names() {
        #expect(
            certificate.wrongName("host") == "the certificate is not for host but for a.example, *.B.example, *.com")
        var certificate = CertificateSummary(validFrom: 0, validUntil: 0, names: ["a\u{1B}[2Jb\nc"])
        #expect(certificate.wrongName("h") == "the certificate is not for h but for a\u{FFFD}[2Jb\u{FFFD}c")
        certificate.names = []
        #expect(certificate.wrongName("h") == "the certificate is not for h")
    }

    @Test(
        "a certificate is for its names and addresses alone",
        arguments: [
            ("a.example", true), ("A.EXAMPLE.", true), ("b.a.example", false), ("x.b.example", true),
            ("b.example", false), ("x.y.b.example", false), (".b.example", false), ("example.com", false),
            ("host", false), ("", false), ("10.0.0.1", true), ("10.0.0.2", false), ("::1", true), ("::2", false),
        ])
    func identity(name: String, isFor: Bool) {
        #expect(certificate.isFor(name) == isFor)
    }

    @Test(
        "failures of the handshake have words without the library's own",
        arguments: [
            (
                "X [Error: 1 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at /a/b.cc:3]",
                "no aut"
            ),
            (
                "Error: 268435703 error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at /a/b.cc:3",
                "speak TLS"
            ),
            (
                "error:1:SSL routines:OPENSSL_internal:TLSV1_ALERT_UNKNOWN_CA at /a",
                "trust the authority of this client"
            ),
            (
                "error:1:SSL routines:OPENSSL_internal:SSLV3_ALERT_CERTIFICATE_EXPIRED at /a",
                "client's certificate has exp"
            ),
            ("error:1:SSL routines:OPENSSL_internal:TLSV13_ALERT_CERTIFICATE_REQUIRED at /a", "asks for a certificate"),
            ("error:1:SSL routines:OPENSSL_internal:BAD_DECRYPT at /a/b.cc:3", "the handshake failed (BAD_DECRYPT)"),
            ("something else", "the handshake failed"),
        ])
    func handshake(reason: String, words: String) {
        let text = TLSFailure(name: "host", certificate: certificate, now: 1_050_000_000).words(ofHandshake: reason)
        #expect(text.contains(words) && !text.contains("/"), "\(text)")
    }

    @Test(
        "a server that refuses a certificate asks for one where this client has none",
        arguments: ["TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE"])
    func missingCertificate(code: String) {
        var failure = TLSFailure(name: "host", hasOwnCertificate: false)
        let reason = "error:1:SSL routines:OPENSSL_internal:\(code) at /a"
        #expect(failure.words(ofHandshake: reason) == TLSFailure.missingCertificate)
        failure.hasOwnCertificate = true
        #expect(!failure.words(ofHandshake: reason).contains("none is configured"))
    }

    @Test("other errors are not its business")
    func others() {
        #expect(TLSFailure(name: "host").error(NATSError.closed) == nil)
        #expect(TLSFailure(name: "host").error(NIOSSLError.uncleanShutdown)?.isRetryable == true)
        #expect(
            TLSFailure(name: "host").error(NIOSSLExtraError.failedToValidateHostname)
                == .tls("the certificate is not for host"))
    }
}
