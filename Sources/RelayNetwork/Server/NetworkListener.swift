import NATS
import NIOCore

/// Where a private network's server listens, and with which certificate, unless on a port of its own choice on
/// 127.0.0.1: the file `listener.json` of the network's folder.
public struct NetworkListener: Codable, Hashable, Sendable {
    /// The server's certificate and its related PEM files.
    public struct TLS: Codable, Hashable, Sendable {
        /// The certificate and any intermediate authorities.
        public var certificateFile: String
        /// Its private key.
        public var keyFile: String
        /// The authorities that clients should trust; nil for the certificate itself or every system's authorities.
        public var authorityFile: String?

        /// Names the files.
        public init(certificateFile: String, keyFile: String, authorityFile: String? = nil) {
            (self.certificateFile, self.keyFile, self.authorityFile) = (certificateFile, keyFile, authorityFile)
        }
    }

    /// An IP address of this machine; `0.0.0.0` and `::` stand for all of them.
    public let host: String
    /// The port.
    public let port: Int
    /// The TLS files; nil for plain connections, which only a loopback address may have.
    public let tls: TLS?

    /// Checks an address to listen on. The certificate's relative paths start at the working folder; `now` is in
    /// seconds since 1970, nil for the current time.
    ///
    /// - Parameter text: an IP address or `localhost`, optionally with a port; the default port is 4222.
    /// - Throws: `NetworkError.invalidListener`, as for another machine's access without TLS, or `.invalidCertificate`.
    public init(listen text: String, tls: TLS? = nil, now: Int64? = nil) throws(NetworkError) {
        let address: ServerAddress
        do throws(NATSError) { address = try ServerAddress(parsing: text) } catch {
            throw .invalidListener("The address to listen on must be an IP address and a port, such as 0.0.0.0:4222.")
        }
        host = address.host == "localhost" ? "127.0.0.1" : address.host
        port = address.port
        guard (try? SocketAddress(ipAddress: host, port: port)) != nil, !text.contains("://"), !text.contains("@")
        else {
            throw .invalidListener(
                "The address to listen on must be an IP address of this machine, such as 0.0.0.0:4222 for all of them.")
        }
        self.tls = tls?.absolute
        guard let tls = self.tls else {
            guard isLoopback else {
                throw .invalidListener(
                    "Beyond this machine the network listens only with TLS: name a certificate with --tls-cert and its key with --tls-key."
                )
            }
            return
        }
        do throws(NATSError) {
            try ServerCertificate.check(certificateFile: tls.certificateFile, keyFile: tls.keyFile)
            if let file = tls.authorityFile { try TLSOptions(authorityFile: file).check() }
        } catch {
            throw .invalidCertificate("\(error)")
        }
        let certificate = try tls.certificate()
        guard now ?? NetworkAdministrator.now <= certificate.validUntil else {
            throw .invalidCertificate("\(tls.certificateFile) has expired: no client would trust it.")
        }
        guard !certificate.names.isEmpty || !certificate.addresses.isEmpty else {
            throw .invalidCertificate(
                "\(tls.certificateFile) is for no host name and no address (subjectAltName): no client would trust it.")
        }
    }

    /// Whether only this machine can reach it.
    public var isLoopback: Bool { IPLiteral(host)?.isLoopback ?? false }

    var text: String { "\(ServerAddress(host: host, port: port, usesTLS: tls != nil))" }

    private var isEverywhere: Bool { host == "0.0.0.0" || host == "::" }

    /// The address for clients on this machine, with the certificate's name there.
    func localAddress() throws(NetworkError) -> ServerAddress {
        let local = isEverywhere ? (host == "::" ? "::1" : "127.0.0.1") : host
        guard let tls else { return ServerAddress(host: local, port: port) }
        let certificate = try tls.certificate()
        let name = certificate.isFor(local) ? nil : certificate.hosts.first
        return ServerAddress(
            host: local, port: port, usesTLS: true, certificateName: name, authorityFile: tls.trusted(certificate))
    }

    /// The address for other clients; nil if unknown, or if no others can connect.
    public func publicAddress() throws(NetworkError) -> ServerAddress? {
        guard let tls else { return isLoopback ? ServerAddress(host: host, port: port) : nil }
        let certificate = try tls.certificate()
        let known = isEverywhere ? [] : [host]
        func isOwn(_ host: String) -> Bool { host == "localhost" || IPLiteral(host)?.isLoopback == true }
        let candidates = known + certificate.hosts.filter { isLoopback || !isOwn($0) }
        return candidates.first { certificate.isFor($0) }.map { ServerAddress(host: $0, port: port, usesTLS: true) }
    }

    /// The authorities, in PEM, that clients elsewhere need; nil if their systems' own suffice.
    public func authority() throws(NetworkError) -> String? {
        guard let tls, let file = try tls.trusted(tls.certificate()) else { return nil }
        return try PrivateFile.text(in: file)
    }

    /// Whether the certificate is for a host; true without one.
    public func isFor(_ host: String) throws(NetworkError) -> Bool { try tls?.certificate().isFor(host) ?? true }
}

extension NetworkListener.TLS {
    fileprivate func certificate() throws(NetworkError) -> ServerCertificate {
        do throws(NATSError) { return try ServerCertificate(pemFile: certificateFile) } catch {
            throw .invalidCertificate("\(error)")
        }
    }

    /// The PEM file that clients must trust, if their systems' authorities do not suffice.
    fileprivate func trusted(_ certificate: ServerCertificate) -> String? {
        authorityFile ?? (certificate.isSelfSigned ? certificateFile : nil)
    }

    fileprivate var absolute: NetworkListener.TLS {
        NetworkListener.TLS(
            certificateFile: PrivateFile.absolute(certificateFile), keyFile: PrivateFile.absolute(keyFile),
            authorityFile: authorityFile.map(PrivateFile.absolute))
    }
}

extension ServerCertificate {
    fileprivate var hosts: [String] { names.filter { !$0.hasPrefix("*") } + addresses }
}

extension NetworkDirectory {
    private var listenerFile: String { path + "/listener.json" }

    /// The network's listener; nil for a port of its own choice on 127.0.0.1.
    public func listener() throws(NetworkError) -> NetworkListener? {
        guard let listener = try PrivateFile.readJSON(NetworkListener.self, from: listenerFile) else { return nil }
        // It may have been edited by hand.
        guard listener.isLoopback || listener.tls != nil else {
            throw .damaged(path: listenerFile, reason: "it listens beyond this machine without TLS")
        }
        return listener
    }

    func keep(_ listener: NetworkListener?) throws(NetworkError) {
        guard let listener else { return PrivateFile.remove(listenerFile) }
        try PrivateFile.writeJSON(listener, to: listenerFile)
    }
}
