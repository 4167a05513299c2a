/// Symbols and lines in ASCII, for terminals and fonts without them. Each takes one column, as what it stands for, so
/// the screen's layout stays. Text that people write has the same substitutes and is otherwise left alone.
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
