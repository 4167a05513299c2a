import Relay
import RelayFaults

/// An example of Documentation/Libraries.md, line for line: a program there.
func rehearseFaults() async throws {
    let proxy = try await FaultProxy.start(target: try RelayConfiguration.addresses([CommandLine.arguments[1]])[0])
    print("connect to \(proxy.address)")
    try await proxy.set(.delay(.milliseconds(200), jitter: .milliseconds(100)), .split(1))
    try await Task.sleep(for: .seconds(20))
    await proxy.cut(afterBytes: 1_000, direction: .fromServer)
    try await proxy.set(.blackhole(.both))
    try await Task.sleep(for: .seconds(60))
}
