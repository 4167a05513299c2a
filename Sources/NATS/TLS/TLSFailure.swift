import NIOCore
import NIOSSL
import Platform

/// Explains why a secure connection failed. The TLS library only reports that a certificate was refused, so the reason
/// is found in the certificate itself.
struct TLSFailure {
    var name: String
    var certificate: CertificateSummary?
    /// Whether this client has a certificate to present.
    var hasOwnCertificate = true
    /// Seconds since 1970.
    var now = Int64(Date().timeIntervalSince1970)

    /// Describes an error of the TLS library; nil for any other error.
    func error(_ error: any Error) -> NATSError? {
        switch error {
        case NIOSSLError.uncleanShutdown: return .connectionLost("the peer ended the secure connection without notice")
        case NIOSSLError.handshakeFailed(let reason): return .tls(words(ofHandshake: "\(reason)"))
        case NIOSSLError.unableToValidateCertificate: return .tls(refusal)
        case let error as NIOSSLError: return .tls("\(error)")
        case let error as BoringSSLError: return .tls(words(ofHandshake: "\(error)"))
        case let error as NIOSSLExtraError:
            guard error == .failedToValidateHostname else { return .tls(error.description) }
            return .tls(wrongName)
        default: return nil
        }
    }

    static let ended = "ended the connection during the handshake"

    static let missingCertificate =
        "the server asks for a certificate of this client, and none is configured; "
        + "set tlsCertificate and tlsKey in the profile"

    /// Whether the peer sent plain text where its part of the handshake was expected.
    static func meansPlainText(_ error: any Error) -> Bool {
        guard case NIOSSLError.handshakeFailed(let reason) = error else { return false }
        return "\(reason)".contains("WRONG_VERSION_NUMBER")
    }

    var wrongName: String { certificate?.wrongName(name) ?? "the certificate is not for \(name)" }

    private var refusal: String {
        certificate?.refusal(at: now, name: name) ?? "the certificate of \(name) is not trusted"
    }

    /// The library's text has a distinct word for each kind; the alerts are the peer's (RFC 8446, 6.2).
    func words(ofHandshake reason: String) -> String {
        if !hasOwnCertificate, reason.contains("CERTIFICATE_REQUIRED") || reason.contains("ALERT_BAD_CERTIFICATE") {
            return Self.missingCertificate
        }
        let sentences: [(String, String)] = [
            ("CERTIFICATE_VERIFY_FAILED", refusal),
            ("WRONG_VERSION_NUMBER", "\(name) does not speak TLS at this port"),
            ("HTTP_REQUEST", "\(name) does not speak TLS at this port"),
            ("CERTIFICATE_REQUIRED", "\(name) asks for a certificate of this client; name its file"),
            ("ALERT_UNKNOWN_CA", "\(name) does not trust the authority of this client's certificate"),
            ("ALERT_CERTIFICATE_EXPIRED", "\(name) says that this client's certificate has expired"),
            ("ALERT_CERTIFICATE", "\(name) refuses this client's certificate"),
            ("ALERT_BAD_CERTIFICATE", "\(name) refuses this client's certificate"),
            ("ALERT_PROTOCOL_VERSION", "\(name) speaks no version of TLS from 1.2 on"),
            ("UNSUPPORTED_PROTOCOL", "\(name) speaks no version of TLS from 1.2 on"),
            ("ALERT_HANDSHAKE_FAILURE", "\(name) and this client have no cipher in common"),
            ("EOF during handshake", "\(name) \(Self.ended)"),
        ]
        return sentences.first { reason.contains($0.0) }?.1 ?? "the handshake failed\(Self.code(in: reason))"
    }

    /// The library's name for the failure, without the source locations that it adds.
    private static func code(in reason: String) -> String {
        let words = reason.split { !($0.isUppercase || $0 == "_" || $0.isNumber) }
        guard let code = words.first(where: { $0.contains("_") && $0.first != "_" && $0.last != "_" }) else {
            return ""
        }
        return " (\(code))"
    }
}
