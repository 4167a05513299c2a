import NIOCore
import NIOSSL
import Platform

/// What a person needs to know about a refused server certificate.
struct CertificateSummary: Hashable {
    /// The first and last second of its validity, since 1970.
    var validFrom: Int64
    var validUntil: Int64
    /// The host names that it is for; remote text.
    var names: [String] = []
    /// The IP addresses that it is for, in their packed form of 4 or 16 bytes.
    var addresses: [[UInt8]] = []

    /// Why it was refused, as a clause; `name` is the expected name.
    func refusal(at now: Int64, name: String) -> String {
        if now > validUntil {
            return "the certificate of \(name) expired on \(Self.day(validUntil)); the server needs a new one"
        }
        if now < validFrom {
            return
                "the certificate of \(name) is not valid before \(Self.day(validFrom)); check this computer's clock"
        }
        return
            "no authority that this computer trusts vouches for the certificate of \(name); "
            + "name the authority's file (tlsAuthority) if the server is yours"
    }

    func wrongName(_ name: String) -> String {
        let shown = names.prefix(3).map(Self.shown).joined(separator: ", ")
        return "the certificate is not for \(name)" + (shown.isEmpty ? "" : " but for \(shown)")
    }

    /// Whether it is for this host name or IP address (RFC 9525): names in the subject itself no longer count.
    func isFor(_ name: String) -> Bool {
        guard let address = try? SocketAddress(ipAddress: name, port: 0) else {
            let wanted = Self.labels(name)
            return names.contains { Self.matches(Self.labels($0), wanted) }
        }
        switch address {
        case .v4(let address): return addresses.contains(withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): return addresses.contains(withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return false
        }
    }

    private static func labels(_ name: String) -> [String] {
        let absolute = name.hasSuffix(".") ? String(name.dropLast()) : name
        return absolute.lowercased().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// A `*` replaces the entire first label, except directly below a top-level domain.
    private static func matches(_ pattern: [String], _ name: [String]) -> Bool {
        guard pattern.first == "*" else { return pattern == name }
        return pattern.count > 2 && pattern.count == name.count && name.first?.isEmpty == false
            && pattern.dropFirst() == name.dropFirst()
    }

    private static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601.year().month().day())
    }

    /// A name may contain anything; only characters of host names are shown.
    private static func shown(_ name: String) -> String {
        String(name.unicodeScalars.prefix(100).map { $0.value > 0x20 && $0.value < 0x7F ? Character($0) : "\u{FFFD}" })
    }
}

extension CertificateSummary {
    init(_ certificate: NIOSSLCertificate) {
        validFrom = Int64(certificate.notValidBefore)
        validUntil = Int64(certificate.notValidAfter)
        for name in certificate._subjectAlternativeNames() {
            switch name.nameType {
            case .dnsName: names.append(String(decoding: name.contents, as: UTF8.self))
            case .ipAddress: addresses.append(Array(name.contents))
            default: break
            }
        }
    }
}
