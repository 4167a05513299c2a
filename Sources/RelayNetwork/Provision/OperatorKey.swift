import NATS
import Platform

/// The key of the operator of somebody's servers, or a signing key of it. It is read when an account is signed, and
/// kept nowhere.
enum OperatorKey {
    /// The variable that holds the seed where no file is named.
    static let variable = "PARLEY_OPERATOR_KEY"

    /// Reads it.
    /// - Parameter file: a file that its owner alone can read; nil for the environment's.
    /// - Throws: `NetworkError.credentials` or `.invalidProvision`; neither holds anything of the key.
    static func read(
        file: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(NetworkError) -> NKeyPair {
        let text: String
        if let file {
            text = try PrivateFile.text(in: file, isSecret: true)
        } else if let seed = environment[variable], !seed.isEmpty {
            text = seed
        } else {
            throw .invalidProvision(
                "Accounts are signed by the operator's key or a signing key of it: name its file by --operator-key, or put it into \(variable)."
            )
        }
        let pair = try translated { try NKeyPair(seed: text) }
        guard pair.publicKey.kind == .operator else {
            throw .invalidProvision("The key in \(file ?? variable) is no operator's: such a seed begins with SO.")
        }
        return pair
    }
}
