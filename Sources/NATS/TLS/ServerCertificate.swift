import NIOCore
import NIOSSL

/// The certificate that a server is to show, as its PEM file has it: for who is about to serve with it, and for who
/// tells others whom to trust.
public struct ServerCertificate: Sendable, Hashable {
    /// The host names that it is for, as it says; one may begin with `*.`.
    public let names: [String]
    /// The IP addresses that it is for.
    public let addresses: [String]
    /// The last moment of its validity, in seconds since 1970.
    public let validUntil: Int64
    /// Whether it vouches for itself, so that whoever is to trust it needs it and no authority's.
    public let isSelfSigned: Bool
    private let summary: CertificateSummary

    /// Reads the first certificate of a PEM file; authorities between it and the root may follow.
    /// - Throws: `NATSError.invalidArgument` when there is none.
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

    /// Checks that a PEM file holds a private key.
    /// - Throws: `NATSError.invalidArgument`.
    public static func checkKey(pemFile path: String) throws(NATSError) {
        _ = try PEMFile(path, role: "the certificate's key").key()
    }

    /// Whether the issuer of a certificate in DER is its subject (RFC 5280, 4.1).
    static func isSelfSigned(_ bytes: [UInt8]) -> Bool {
        var whole = DERReader(bytes[...])
        guard var certificate = whole.content(of: 0x30), var signed = certificate.content(of: 0x30) else {
            return false
        }
        // The version, where there is one, then number and algorithm.
        _ = signed.skip(0xA0)
        guard signed.skip(0x02), signed.skip(0x30), let issuer = signed.element(0x30), signed.skip(0x30),
            let subject = signed.element(0x30)
        else { return false }
        return issuer.elementsEqual(subject)
    }
}

/// Reads elements of DER (X.690), one after the other.
private struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func skip(_ tag: UInt8) -> Bool { element(tag) != nil }

    /// What is inside the next element, which has this tag.
    mutating func content(of tag: UInt8) -> DERReader? {
        guard let (length, header) = header(tag) else { return nil }
        let content = rest.dropFirst(header).prefix(length)
        rest = rest.dropFirst(header + length)
        return DERReader(content)
    }

    /// The next element with its tag and length; nil where it has another tag.
    mutating func element(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard let (length, header) = header(tag) else { return nil }
        let element = rest.prefix(header + length)
        rest = rest.dropFirst(header + length)
        return element
    }

    /// How long the next element's content is, and what is before it.
    private func header(_ tag: UInt8) -> (length: Int, header: Int)? {
        let bytes = rest.prefix(6).map { Int($0) }
        guard bytes.count > 1, bytes[0] == Int(tag) else { return nil }
        let digits = bytes[1] & 0x7F
        guard bytes[1] >= 0x80 else { return check(bytes[1], 2) }
        guard (1...4).contains(digits), bytes.count >= 2 + digits else { return nil }
        return check(bytes[2..<2 + digits].reduce(0) { $0 << 8 | $1 }, 2 + digits)
    }

    private func check(_ length: Int, _ header: Int) -> (length: Int, header: Int)? {
        header + length <= rest.count ? (length, header) : nil
    }
}
