import Relay
import RelayLab

/// The chat's lab: a rehearsal on the chat's own connection, which goes through a proxy meanwhile.
struct LabDesk: Equatable, Sendable {
    enum Phase: Hashable, Sendable {
        /// The connection is being put behind the proxy.
        case opening
        case running
        /// Every fault is removed, and what is in flight is awaited.
        case ending
        /// The connection goes to the server itself again, and the result is shown.
        case over
        case failed(String)
    }

    var phase = Phase.opening
    /// The topic that receives what is written in the lab; nil for none.
    let topic: String?
    var hindrances: [LabAct.Name: LabHindrance] = [:]
    var glance: LabReport?
    var selected = 0
    /// The first row in view: of the choices, or of the ledger once the lab is over.
    var firstVisible = 0
    /// How long each row's fault lasts, as places of ``LabLengths``.
    private var lengths: [LabChoice: Int] = [.cut: LabLengths.endless]
    /// Which row has begun a lasting act: two rows can begin the same one in different forms.
    private var begun: [LabAct.Name: LabChoice] = [:]
    /// Whether the engine was asked for news.
    var isWatched = false

    init(topic: String?) { self.topic = topic }

    /// Whether the chat's connection goes through the proxy.
    var isOn: Bool {
        switch phase {
        case .opening, .running, .ending: true
        case .over, .failed: false
        }
    }

    var choice: LabChoice { LabChoice.allCases.indices.contains(selected) ? LabChoice.allCases[selected] : .cut }

    func length(of choice: LabChoice) -> Int { lengths[choice] ?? LabLengths.first }

    mutating func lengthen(_ choice: LabChoice, by steps: Int) {
        guard choice.lasting != nil else { return }
        lengths[choice] = min(max(0, length(of: choice) + steps), LabLengths.endless)
    }

    func hindrance(of choice: LabChoice) -> LabHindrance? {
        choice.acts.lazy.compactMap { hindrances[$0.name] }.first
    }

    /// The lasting act of a row: one that it has begun, or that no row has begun and it stands for.
    func lasting(of choice: LabChoice) -> LabReport.Lasting? {
        guard let name = choice.lasting, let lasting = glance?.lasting.first(where: { $0.name == name }) else {
            return nil
        }
        return begun[name] ?? name.choice == choice ? lasting : nil
    }

    mutating func deeds(for choice: LabChoice) -> [LabDeed] {
        let time = LabLengths.duration(at: length(of: choice))
        if let name = choice.lasting { begun[name] = choice }
        return choice.acts.map { LabDeed(act: $0, lasting: $0.name == choice.lasting ? time : nil) }
    }
}

/// Why something of the lab cannot be done here.
enum LabHindrance: Hashable, Sendable {
    /// Someone else runs the server.
    case needsAdministrator
    /// There is only one server.
    case needsCluster
    /// Another login displaces no session.
    case sessionsAreShared
}
