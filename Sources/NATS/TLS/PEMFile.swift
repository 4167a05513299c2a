import NIOCore
import NIOSSL
import Platform

/// A file of certificates or keys as people save it, even with a byte order mark.
struct PEMFile {
    private let path: String
    private let bytes: [UInt8]
    /// Whether it begins with a byte order mark, which other programs may read as text.
    let isMarked: Bool

    /// Larger files are something else.
    private static let maximumBytes = 4 << 20

    /// Reads a file for a role such as `the certificate`; throws `invalidArgument` with the path.
    init(_ path: String, role: String) throws(NATSError) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            let words = errno == ENOENT ? "is missing" : "cannot be read: \(String(cString: strerror(errno)))"
            throw .invalidArgument("\(path), which is to hold \(role), \(words).")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.maximumBytes,
            let data = FileManager.default.contents(atPath: path)
        else { throw .invalidArgument("\(path) is no file that can hold \(role).") }
        self.path = path
        switch TextEncoding(of: data) {
        case .utf8(let mark):
            bytes = Array(data.dropFirst(mark))
            isMarked = mark > 0
        case .utf16: throw .invalidArgument("\(path) is UTF-16. Save it as UTF-8.")
        }
    }

    func certificates() throws(NATSError) -> [NIOSSLCertificate] {
        if let found = try? NIOSSLCertificate.fromPEMBytes(bytes), !found.isEmpty { return found }
        throw .invalidArgument(
            holdsKey
                ? "\(path) holds a private key and no certificate."
                : "\(path) holds no certificate that can be read; it has to be PEM.")
    }

    func key() throws(NATSError) -> NIOSSLPrivateKey {
        // Without a callback the library would ask the terminal for the password.
        if let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem, passphraseCallback: Self.withoutPassword) {
            return key
        }
        throw .invalidArgument("\(path) holds no private key that can be read; it has to be PEM, without a password.")
    }

    private static func withoutPassword(_ set: NIOSSLPassphraseSetter<[UInt8]>) { set([]) }

    var holdsKey: Bool { String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----") }
}

/// The encoding of a text file, as far as its first bytes show.
enum TextEncoding: Equatable {
    /// UTF-8, after a byte order mark of this many bytes.
    case utf8(mark: Int)
    case utf16

    init(of bytes: some Sequence<UInt8>) {
        let first = Array(bytes.prefix(4))
        let isWide = first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF])
        // Without a mark, every second byte is zero.
        let isUnmarked = first.count == 4 && first.count(where: { $0 == 0 }) == 2 && (first[0] == 0) != (first[1] == 0)
        self = isWide || isUnmarked ? .utf16 : .utf8(mark: first.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    }
}

extension TLSOptions {
    /// Reads all the files named in the options, so that problems are found before dialling. Throws `invalidArgument`
    /// with the file's path.
    public func check() throws(NATSError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        try apply(to: &configuration)
    }

    /// The handler that secures a connection to a server.
    func clientHandler(for address: ServerAddress, isProxied: Bool) throws(NATSError) -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        do throws(NATSError) {
            try apply(to: &configuration, authorityFile: address.authorityFile)
        } catch {
            // The files were valid when the options were checked.
            throw .tls("\(error)")
        }
        let name = address.expectedCertificateName
        // SNI cannot contain an IP address; the library then checks the certificate against the address of the socket's
        // other end. If that is not the server's, only the connection's own check of the name counts.
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

    /// Applies the contents of the files to a configuration. A key in the certificate's file is the certificate's.
    package func apply(to configuration: inout TLSConfiguration, authorityFile: String? = nil) throws(NATSError) {
        if let file = authorityFile ?? self.authorityFile {
            configuration.trustRoots = .certificates(try PEMFile(file, role: "the authorities to trust").certificates())
        }
        guard let certificateFile else {
            guard let privateKeyFile else { return }
            throw .invalidArgument("The key \(privateKeyFile) has no certificate. Name the certificate's file too.")
        }
        let file = try PEMFile(certificateFile, role: "the certificate")
        let chain = try file.certificates()
        let key: NIOSSLPrivateKey
        if let privateKeyFile {
            key = try PEMFile(privateKeyFile, role: "the certificate's key").key()
        } else {
            guard file.holdsKey else {
                throw .invalidArgument("The certificate \(certificateFile) has no key. Name the key's file too.")
            }
            key = try file.key()
        }
        var pair = TLSConfiguration.makeClientConfiguration()
        pair.trustRoots = .certificates([])
        pair.certificateChain = chain.map { .certificate($0) }
        pair.privateKey = .privateKey(key)
        guard (try? NIOSSLContext(configuration: pair)) != nil else {
            throw .invalidArgument(
                "The key \(privateKeyFile ?? certificateFile) is not the key of the certificate \(certificateFile).")
        }
        configuration.certificateChain = pair.certificateChain
        configuration.privateKey = pair.privateKey
    }
}
