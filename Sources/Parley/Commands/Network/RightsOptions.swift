import ArgumentParser
import Relay
import RelayNetwork

extension AccessRights.KeyValueAccess: ExpressibleByArgument {}

struct RightsOptions: ParsableArguments {
    enum Answer: String, ExpressibleByArgument, CaseIterable { case yes, no }

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to write to and to read, such as chat.>; '' for none.", valueName: "pattern"))
    var topics: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to write to; without --subscribe, none can be read.", valueName: "pattern"))
    var publish: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to read; without --publish, none can be written to.", valueName: "pattern"))
    var subscribe: [String] = []

    @Option(help: ArgumentHelp("The network's key-value store: read, write or none.", valueName: "access"))
    var kv: AccessRights.KeyValueAccess?

    @Option(help: ArgumentHelp("Whether the user may send and read letters: yes or no.", valueName: "answer"))
    var letters: Answer?

    func validate() throws {
        guard topics.isEmpty || publish.isEmpty && subscribe.isEmpty else {
            throw ValidationError("--topics means both directions; it cannot be used with --publish or --subscribe.")
        }
    }

    var change: RightsChange {
        func patterns(_ named: [String]) -> [String]? { named.isEmpty ? nil : named.filter { !$0.isEmpty } }
        var change = RightsChange(topics: patterns(topics))
        if topics.isEmpty { (change.publish, change.subscribe) = (patterns(publish), patterns(subscribe)) }
        change.keyValue = kv
        change.letters = letters.map { $0 == .yes }
        return change
    }
}

extension AccessRights {
    var json: MessageValue {
        [
            "publish": MessageValue(publish), "subscribe": MessageValue(subscribe),
            "kv": .string(keyValue.rawValue), "letters": .bool(letters),
        ]
    }

    var words: String {
        func list(_ topics: [String]) -> String { topics.isEmpty ? "nothing" : topics.joined(separator: " ") }
        var words = publish == subscribe ? [list(subscribe)] : ["write \(list(publish))", "read \(list(subscribe))"]
        if keyValue != .write { words.append(keyValue == .none ? "no keys" : "read keys") }
        if !letters { words.append("no letters") }
        return words.joined(separator: ", ")
    }
}
