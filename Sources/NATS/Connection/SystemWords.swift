import NIOCore
import Platform

extension IOError {
    /// Why the system refused, as a clause without the call and the number that `description` has.
    package var words: String {
        switch errnoCode {
        case EHOSTUNREACH: return "no route to this host"
        case ENETUNREACH: return "no route to its network"
        case ENETDOWN: return "the network is down"
        case EADDRNOTAVAIL: return "this machine has no address for that network"
        case EAFNOSUPPORT: return "this machine does not speak that kind of address; IPv6 may be off"
        case EACCES, EPERM: return "this machine's rules forbid it"
        case EINVAL:
            return "no server can have that address; a link-local one names its interface, as in [fe80::1%eth0]"
        default:
            let text = String(cString: strerror(errnoCode))
            return text.prefix(1).lowercased() + text.dropFirst()
        }
    }

    /// Whether no connection came about, rather than that one was lost.
    var meansUnreachable: Bool {
        [
            EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT, EPROTONOSUPPORT, EACCES, EPERM, EINVAL,
            EMFILE, ENFILE,
        ].contains(errnoCode)
    }
}

/// An error of the event loop as a clause for a person.
package func systemWords(_ error: any Error) -> String {
    (error as? IOError)?.words ?? "\(error)"
}
