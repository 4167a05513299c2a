import NIOCore
import NIOSSL

/// A server's certificate, read from its PEM file: for programs that serve with it or tell others whom to trust.
public struct ServerCertificate: Sendable, Hashable {
    /// The host names that it is for; one may begin with `*.`.
    public let names: [String]
    /// The IP addresses that it is for.
    public let addresses: [String]
    /// The last second of its validity, since 1970.
    public let validUntil: Int64
    /// Whether it is self-signed, so that clients must trust the certificate itself.
    public let isSelfSigned: Bool
    private let summary: CertificateSummary

    /// Reads the first certificate of a PEM file; authorities may follow it. Throws if there is none.
    public init(pemFile path: String) throws(NATSError) {
        let certificate = try PEMFile(path, role: "the certificate").certificates()[0]
        guard let bytes = try? certificate.toDERBytes() else {
            throw .invalidArgument("\(path) holds no certificate that can be read.")
        }
        summary = CertificateSummary(certificate)
        names = summary.names
        addresses = summary.addresses.compactMap { packed in
            (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: packed), port: 0))?.ipAddress
        }
        validUntil = summary.validUntil
        isSelfSigned = Self.isSelfSigned(bytes)
    }

    /// Whether it is for a host name or an IP address.
    public func isFor(_ host: String) -> Bool { summary.isFor(host) }

    /// Checks the files of a certificate and its key for a server; throws `NATSError.invalidArgument` with the path.
    public static func check(certificateFile: String, keyFile: String) throws(NATSError) {
        try TLSOptions(certificateFile: certificateFile, privateKeyFile: keyFile).check()
        for path in [certificateFile, keyFile] {
            guard try !PEMFile(path, role: "the certificate and its key").isMarked else {
                throw .invalidArgument(
                    "\(path) begins with a byte order mark, which a server cannot read. Save it without one.")
            }
        }
    }

    /// Whether the issuer of a certificate in DER is also its subject (RFC 5280, 4.1).
    static func isSelfSigned(_ bytes: [UInt8]) -> Bool {
        var all = DERReader(rest: bytes[...])
        guard var certificate = all.next(0x30).map({ DERReader(rest: $0.content) }),
            var signed = certificate.next(0x30).map({ DERReader(rest: $0.content) })
        else { return false }
        // The optional version, then serial number and algorithm.
        _ = signed.next(0xA0)
        guard signed.next(0x02) != nil, signed.next(0x30) != nil, let issuer = signed.next(0x30),
            signed.next(0x30) != nil, let subject = signed.next(0x30)
        else { return false }
        return issuer.whole.elementsEqual(subject.whole)
    }
}

/// Reads elements of DER (X.690) one by one.
private struct DERReader {
    var rest: ArraySlice<UInt8>

    /// The next element, with its tag and length, and its content; nil if it has another tag.
    mutating func next(_ tag: UInt8) -> (whole: ArraySlice<UInt8>, content: ArraySlice<UInt8>)? {
        let bytes = rest.prefix(6).map { Int($0) }
        guard bytes.count > 1, bytes[0] == Int(tag) else { return nil }
        var (length, header) = (bytes[1], 2)
        if length >= 0x80 {
            header += length & 0x7F
            guard (3...6).contains(header), bytes.count >= header else { return nil }
            length = bytes[2..<header].reduce(0) { $0 << 8 | $1 }
        }
        guard header + length <= rest.count else { return nil }
        let whole = rest.prefix(header + length)
        rest = rest.dropFirst(header + length)
        return (whole, whole.dropFirst(header))
    }
}
