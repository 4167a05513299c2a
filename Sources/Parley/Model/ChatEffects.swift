/// What follows from an event: what is asked of the core, in its order, and what the screen's thread does then.
struct ChatEffects: Equatable, Sendable {
    var core: [CoreEffect] = []
    var screen: [ScreenEffect] = []

    /// What the screen's thread does, and nothing else.
    static func screen(_ effects: ScreenEffect...) -> ChatEffects { ChatEffects(screen: effects) }

    /// Whether nothing follows.
    var isEmpty: Bool { core.isEmpty && screen.isEmpty }

    static func + (first: ChatEffects, second: ChatEffects) -> ChatEffects {
        ChatEffects(core: first.core + second.core, screen: first.screen + second.screen)
    }

    static func += (first: inout ChatEffects, second: ChatEffects) {
        first.core += second.core
        first.screen += second.screen
    }
}

extension ChatEffects: ExpressibleByArrayLiteral {
    /// What is asked of the core alone.
    init(arrayLiteral effects: CoreEffect...) { core = effects }
}
