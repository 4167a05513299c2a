import Relay

@testable import RelayLab

/// Runs of the lab as the chat is told of them.
struct LabScene {
    private var run = LabRun()
    private var now = LabTime.zero
    private var lasting: [LabReport.Lasting] = []

    var glance: LabReport { LabReport(run, at: now, lasting: lasting) }

    private mutating func tell(_ kind: LabEvent.Kind, at milliseconds: Int64) {
        now = LabTime(microseconds: milliseconds * 1_000)
        run.take(LabEvent(at: now, kind))
    }

    private mutating func status(_ state: String, attempt: Int = 0, retryIn: Int64? = nil, at milliseconds: Int64) {
        tell(
            .status(
                LabStatus(
                    state: state, attempt: attempt, retryIn: retryIn.map { LabTime(microseconds: $0 * 1_000) })),
            at: milliseconds)
    }

    private static func number(_ value: Int) -> LabNumber? { LabNumber(writer: "you", value: value) }

    /// A run that has just begun.
    static var begun: LabScene {
        var scene = LabScene()
        scene.tell(.began(LabHeading(title: "rehearsed in the chat", seed: 4_711, policy: "parley")), at: 0)
        scene.status("connected", at: 1)
        for (offset, length) in [400, 500, 450, 2_000].enumerated() {
            scene.tell(.roundTrip(LabTime(microseconds: Int64(length))), at: Int64(offset + 1) * 1_000)
        }
        return scene
    }

    /// The same with a link that is cut, and lines that wait.
    static var cut: LabScene {
        var scene = begun
        scene.tell(.fault(LabFault("refuse", .began)), at: 6_000)
        scene.lasting = [LabReport.Lasting(name: .refuse)]
        scene.tell(.fault(LabFault("cut", .struck)), at: 6_001)
        scene.status("reconnecting", attempt: 1, retryIn: 20, at: 6_010)
        scene.status("reconnecting", attempt: 1, at: 6_030)
        scene.status("reconnecting", attempt: 2, retryIn: 200, at: 6_031)
        for value in 1...3 {
            if let number = number(value) { scene.tell(.sent(number), at: 7_000 + Int64(value) * 800) }
            scene.tell(.queued(value), at: 7_001 + Int64(value) * 800)
        }
        scene.now = LabTime(microseconds: 12_000_000)
        return scene
    }

    /// The same when it is over, and not all went well.
    static var over: LabScene {
        var scene = cut
        scene.tell(.fault(LabFault("refuse", .ended)), at: 14_000)
        scene.lasting = []
        scene.status("connected", at: 14_180)
        for value in 1...3 {
            if let number = number(value) { scene.tell(.acknowledged(number), at: 14_200 + Int64(value)) }
        }
        scene.tell(.queued(0), at: 14_210)
        for value in [1, 2, 2] {
            if let number = number(value) {
                scene.tell(.received(number, isRecovered: true), at: 14_220 + Int64(value))
            }
        }
        scene.run.end(at: LabTime(microseconds: 29_000_000))
        return scene
    }
}
