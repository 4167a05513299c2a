import Platform
import RelayNetwork

// The host process as the application runs it, for tests: HostFixture FOLDER IDLE-MILLISECONDS
let arguments = CommandLine.arguments
guard arguments.count == 3, let idle = Int(arguments[2]) else { exit(64) }
var options = NetworkHost.Options()
options.idleTimeout = .milliseconds(idle)
let outcome = await NetworkHost(directory: NetworkDirectory(path: arguments[1]), options: options).run()
if case .failed = outcome { exit(69) }
