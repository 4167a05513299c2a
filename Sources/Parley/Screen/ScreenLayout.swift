import Terminal

/// The place of everything on a screen of some size. Drawing and mouse clicks both go by it, so that they cannot
/// differ.
struct ScreenLayout: Hashable, Sendable {
    /// Below this size only a note is shown that the screen is too small.
    static let minimum = Size(rows: 5, columns: 20)
    /// The width from which the sidebar is beside the main pane.
    static let sidebarFrom = 60

    let size: Size
    let isTooSmall: Bool
    let title: Rect
    /// The sidebar; nil if there is no room and it does not have the keys.
    let sidebar: Rect?
    let divider: Rect?
    let heading: Rect
    let main: Rect
    let rule: Rect?
    let compose: Rect
    let hint: Rect?

    /// The text's place in the compose pane: after the prompt, with a column for the cursor at its end.
    var text: Rect {
        Rect(
            row: compose.row, column: compose.column + Self.promptColumns, rows: compose.rows,
            columns: compose.columns - Self.promptColumns - 1)
    }

    /// - Parameters:
    ///   - composeRows: the number of rows that the text being written needs.
    ///   - wantsSidebar: whether the sidebar has the keys; on a narrow screen it then takes the main pane's place.
    ///   - isFolded: whether the sidebar is shown only while it has the keys.
    init(
        size: Size, composeRows: (_ columns: Int) -> Int, wantsSidebar: Bool, isFolded: Bool = false,
        setting: LayoutSetting = LayoutSetting()
    ) {
        self.size = size
        isTooSmall = size.rows < Self.minimum.rows || size.columns < Self.minimum.columns
        var rest = Rect(size)
        (title, rest) = rest.split(top: 1)
        if size.rows >= 8 {
            (rest, hint) = rest.split(bottom: 1)
        } else {
            hint = nil
        }
        let wished = composeRows(max(1, size.columns - Self.promptColumns - 1))
        let rows = min(max(1, wished), Self.composeLimit(size))
        (rest, compose) = rest.split(bottom: rows)
        if size.rows >= 7 {
            (rest, rule) = rest.split(bottom: 1)
        } else {
            rule = nil
        }
        let width = setting.sidebar ?? (size.columns >= 100 ? 24 : 20)
        // The main pane keeps its least width beside a sidebar of a configured one.
        if width > 0, size.columns >= Self.sidebarFrom + max(0, width - 20), !isFolded || wantsSidebar {
            (sidebar, rest) = rest.split(left: width)
            (divider, rest) = rest.split(left: 1)
        } else {
            sidebar = wantsSidebar ? rest : nil
            divider = nil
        }
        (heading, main) = rest.split(top: size.rows >= 6 ? 1 : 0)
    }

    static let promptColumns = 3

    /// The most rows that the text being written grows to: a third of the screen.
    static func composeLimit(_ size: Size) -> Int { max(1, size.rows / 3) }
}

extension ChatModel {
    /// Whether the topics are folded away until they have the keys: the person's choice, else the configuration's.
    var areTopicsFolded: Bool { screen.sidebar.foldChoice ?? settings.layout.foldsSidebar }

    func layout(on size: Size) -> ScreenLayout {
        ScreenLayout(
            size: size,
            composeRows: { columns in
                compose.isEmpty
                    ? 1 : compose.editor.rowCount(width: columns, limit: ScreenLayout.composeLimit(size))
            },
            wantsSidebar: screen.focus == .sidebar, isFolded: screen.sidebar.foldChoice == true,
            setting: settings.layout.foldsSidebar && !areTopicsFolded ? LayoutSetting() : settings.layout)
    }
}
