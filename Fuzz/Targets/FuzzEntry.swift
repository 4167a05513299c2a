import Dispatch
import Platform

/// What libFuzzer calls with each input. `Fuzz/run` names the target in the environment.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let target = chosen else {
        print("PARLEY_FUZZ_TARGET names none of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
        exit(64)
    }
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    switch target.reader {
    case .atOnce(let read): do throws(FuzzTarget.Finding) { try read(bytes) } catch { end(error) }
    case .waiting(let read):
        let done = DispatchSemaphore(value: 0)
        Task {
            do throws(FuzzTarget.Finding) { try await read(bytes) } catch { end(error) }
            done.signal()
        }
        done.wait()
    }
    return 0
}

private func end(_ finding: FuzzTarget.Finding) -> Never {
    print("finding: \(finding.words)")
    fflush(nil)
    abort()
}

private let chosen = getenv("PARLEY_FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) }
