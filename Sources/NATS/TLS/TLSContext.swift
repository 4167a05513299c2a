import NIOCore
import NIOSSL

enum TLSContext {
    static func clientHandler(
        for address: ServerAddress, options: TLSOptions, isProxied: Bool
    ) throws(NATSError) -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        do throws(NATSError) {
            try options.apply(to: &configuration, authorityFile: address.authorityFile)
        } catch {
            // They were well when the options were checked.
            throw .tls("\(error)")
        }
        let name = address.expectedCertificateName
        // SNI cannot hold an IP address; the library then checks the certificate against the address of the socket's
        // other end. If that is not the server's own, only the connection's own check of the name counts.
        let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
        if isAddress, isProxied || name != address.host {
            configuration.certificateVerification = .noHostnameVerification
        }
        do {
            let context = try NIOSSLContext(configuration: configuration)
            return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
        } catch {
            throw .tls("the settings cannot be used: \(error)")
        }
    }
}

extension ServerAddress {
    /// The name that the server's certificate must carry, without the root's dot, which no certificate has.
    var expectedCertificateName: String {
        let name = certificateName ?? host
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}
