/// One cell of a canvas: its text and its style.
public struct Cell: Hashable, Sendable {
    /// What is drawn; `Cluster.continuation` in the right half of a wide character.
    public internal(set) var cluster: Cluster
    /// How it is drawn.
    public internal(set) var style: Style

    /// A blank in the terminal's own colours.
    public static var blank: Cell { Cell(cluster: .blank, style: .plain) }
}
