import Foundation

/// The executables that the build has put next to the tests.
public enum BuiltProduct {
    /// The executable of this name.
    ///
    /// - Throws: `TestFailure` when the build has not made it.
    public static func url(_ name: String) throws -> URL {
        var folder = testExecutable
        while folder.path != "/" {
            folder = folder.deletingLastPathComponent()
            let candidate = folder.appendingPathComponent(name)
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isDirectory), !isDirectory.boolValue
            {
                return candidate
            }
        }
        throw TestFailure("\(name) is not next to \(testExecutable.path): is it a dependency of the test target?")
    }

    private static var testExecutable: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        return bundle?.bundleURL ?? Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    }
}
