import ArgumentParser

/// `parley measure-screen`: runs the measurements of `parley-bench screen`, since the screen is part of this program.
struct MeasureScreenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure-screen", abstract: "Measure what keys and messages cost the screen.",
        shouldDisplay: false)

    @Option(help: "The messages in the conversation.")
    var messages = 100_000

    @Option(help: "The keys typed under each load.")
    var keys = 500

    func validate() throws {
        guard (1_000...1_000_000).contains(messages), (1...100_000).contains(keys) else {
            throw ValidationError("--messages takes 1000 to 1000000, --keys 1 to 100000.")
        }
    }

    func run() {
        for figure in ScreenMeasurement(messages: messages, keys: keys).run() {
            Output.line("\(figure.name)=\(figure.value)")
        }
    }
}
