import NIOCore
import NIOSSL

/// Makes the TLS handler for one connection.
enum TLSContext {
    static func clientHandler(
        for address: ServerAddress, options: TLSOptions
    ) throws(NATSError) -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        do {
            if let file = options.authorityFile {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            }
            if let file = options.certificateFile {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
            }
            if let file = options.privateKeyFile {
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
            }
        } catch {
            throw .tls("a certificate or key file cannot be read; check that it exists and is PEM")
        }
        let name = address.certificateName ?? address.host
        do {
            let context = try NIOSSLContext(configuration: configuration)
            // An IP address cannot stand in SNI; the certificate is then checked against the address itself.
            let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
            return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
        } catch {
            throw .tls("\(error)")
        }
    }
}
