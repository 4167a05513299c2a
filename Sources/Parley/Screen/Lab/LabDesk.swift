import Relay
import RelayLab

/// The lab of the chat: a rehearsal with the chat's own connection, which goes through a proxy meanwhile.
struct LabDesk: Equatable, Sendable {
    enum Phase: Hashable, Sendable {
        /// The connection is being put behind the proxy.
        case opening
        case running
        /// Every fault is taken away, and what is on its way is waited for.
        case ending
        /// The connection goes to the server itself again; what the run came to stands.
        case over
        case failed(String)
    }

    var phase = Phase.opening
    /// The topic that takes what is written in the lab; nil for none.
    let topic: String?
    /// Why some of what can be done cannot be done here.
    var hindrances: [LabAct.Name: LabHindrance] = [:]
    var glance: LabReport?
    var selected = 0
    /// The first row in view, of what can be done, or of the ledger once it is over.
    var firstVisible = 0
    /// How long each row's fault lasts, as places of ``LabLengths``.
    private var lengths: [LabChoice: Int] = [.cut: LabLengths.endless]
    /// Which row has begun what lasts: two can begin the same in other forms.
    private var begun: [LabAct.Name: LabChoice] = [:]
    /// Whether news of it are asked for.
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

    /// Why a row cannot be done here; nil where it can.
    func hindrance(of choice: LabChoice) -> LabHindrance? {
        choice.acts.lazy.compactMap { hindrances[$0.name] }.first
    }

    /// What lasts now of a row: what it has begun, or what no row has and it stands for.
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
    /// The server is somebody else's.
    case needsAdministrator
    /// There is one server.
    case needsCluster
    /// Another login displaces nobody.
    case sessionsAreShared
}
