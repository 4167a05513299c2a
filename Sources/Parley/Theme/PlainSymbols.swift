/// ASCII substitutes for symbols and lines, for terminals and fonts without them. Each takes one column, as what it
/// replaces does, so that the layout stays. They apply to people's texts as well, which are otherwise left alone.
enum PlainSymbols {
    static let table: [Unicode.Scalar: Unicode.Scalar] = [
        // Lines and blocks.
        "─": "-", "━": "-", "═": "=", "│": "|", "┃": "|", "║": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+",
        "┤": "+", "┬": "+", "┴": "+", "┼": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "█": "#", "░": ".", "▒": ":",
        "▌": ">", "▐": "<", "▏": "|", "▎": "|",
        // The connection.
        "○": "o", "◌": ":", "●": "*", "↻": "!", "⏸": "=", "‖": "=", "✕": "X", "⇅": ">", "✉": "@",
        // What became of a message.
        "✓": "+", "✗": "x", "↺": "<", "⚠": "!", "✎": "~", "⊘": "%",
        // Directions.
        "↑": "^", "↓": "v", "⇡": "^", "⇣": "v", "←": "<", "→": ">", "↕": "v", "▲": "^", "▼": "v", "◀": "<", "▶": ">",
        "▴": "^",
        "▾": "v", "◂": "<", "▸": ">", "‹": "<", "›": ">", "↵": "<", "⏎": "<",
        // Marks in text.
        "…": "~", "·": "-", "•": "*", "◦": "o", "×": "x", "–": "-", "—": "-", "“": "\"", "”": "\"", "‘": "'", "’": "'",
        "★": "*", "☆": "*", "■": "#", "□": "o", "⋯": "~",
    ]
}
