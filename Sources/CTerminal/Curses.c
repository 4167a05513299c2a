#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE 1

#include "CTerminal.h"

#include <term.h>

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

uint32_t cterminal_attribute_bold(void) { return (uint32_t)A_BOLD; }
uint32_t cterminal_attribute_dim(void) { return (uint32_t)A_DIM; }
uint32_t cterminal_attribute_underline(void) { return (uint32_t)A_UNDERLINE; }
uint32_t cterminal_attribute_reverse(void) { return (uint32_t)A_REVERSE; }

uint32_t cterminal_attribute_italic(void) {
#ifdef A_ITALIC
    return (uint32_t)A_ITALIC;
#else
    return 0;
#endif
}

WINDOW *cterminal_standard_window(void) { return stdscr; }
int cterminal_lines(void) { return LINES; }
int cterminal_columns(void) { return COLS; }
int cterminal_colors(void) { return COLORS; }
int cterminal_color_pairs(void) { return COLOR_PAIRS; }

static SCREEN *screen;

int cterminal_look_up(const char *type) {
    int status = 0;
    if (setupterm(type, STDOUT_FILENO, &status) == ERR) {
        // 1 is a type that is known and is no screen, such as a printer.
        return status < 0 ? -2 : status == 0 ? -1 : -3;
    }
    int colors = tigetnum("colors");
    const char *move = tigetstr("cup");
    bool places_cursor = move != NULL && move != (const char *)-1;
    del_curterm(cur_term);
    return !places_cursor ? -3 : colors > 0 ? colors : 0;
}

enum cterminal_open_result cterminal_open(const char *type) {
    // Asked first, because newterm does not say why it refuses.
    int status = 0;
    if (setupterm(type, STDOUT_FILENO, &status) == ERR) {
        return status < 0 ? CTERMINAL_OPEN_NO_DATABASE : CTERMINAL_OPEN_UNKNOWN_TYPE;
    }
    del_curterm(cur_term);
    // The window's size counts, not what LINES and COLUMNS claim.
    use_env(FALSE);
    use_tioctl(TRUE);
    screen = newterm(type, stdout, stdin);
    if (screen == NULL) {
        return CTERMINAL_OPEN_FAILED;
    }
    set_term(screen);
    raw();
    noecho();
    nonl();
    scrollok(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    // Input is not ncurses's: it has no reason to look for some before each line that it writes.
    typeahead(-1);
    return CTERMINAL_OPEN_OK;
}

void cterminal_close(void) {
    if (screen != NULL) {
        delscreen(screen);
        screen = NULL;
    }
}

void cterminal_forget_screen(void) {
    if (curscr != NULL) {
        clearok(curscr, TRUE);
    }
}

bool cterminal_use_utf8(void) {
    static const char *const fallbacks[] = {"", "C.UTF-8", "en_US.UTF-8"};
    for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++) {
        if (setlocale(LC_CTYPE, fallbacks[i]) != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) {
            return true;
        }
    }
    return false;
}

const char *cterminal_capability(const char *name) {
    // The parameter is not const in every ncurses.
    char copy[16];
    if (strlen(name) >= sizeof copy) {
        return NULL;
    }
    strcpy(copy, name);
    const char *value = tigetstr(copy);
    return value == (const char *)-1 ? NULL : value;
}

int cterminal_width(int32_t scalar) { return wcwidth((wchar_t)scalar); }

bool cterminal_define_pair(int pair, int foreground, int background) {
#if defined(NCURSES_EXT_COLORS) && NCURSES_VERSION_PATCH >= 20170401
    return init_extended_pair(pair, foreground, background) == OK;
#else
    if (foreground > INT16_MAX || background > INT16_MAX) {
        return false;
    }
    return init_pair((short)pair, (short)foreground, (short)background) == OK;
#endif
}

void cterminal_put(int row, int column, int32_t base, int32_t mark1, int32_t mark2, int32_t mark3, int32_t mark4,
                   uint32_t attributes, int pair) {
    const wchar_t text[6] = {(wchar_t)base, (wchar_t)mark1, (wchar_t)mark2, (wchar_t)mark3, (wchar_t)mark4, 0};
    cchar_t cell;
    if (wmove(stdscr, row, column) == OK && setcchar(&cell, text, (attr_t)attributes, (short)pair, NULL) == OK) {
        wadd_wch(stdscr, &cell);
    }
}

void cterminal_cursor(int *row, int *column) {
    *row = curscr != NULL ? getcury(curscr) : 0;
    *column = curscr != NULL ? getcurx(curscr) : 0;
}

// Where ncurses puts bytes that are not for the terminal at once; one thread has ncurses, and these with it.
static uint8_t *collected;
static size_t collected_count;
static size_t collected_capacity;

static int collect(int byte) {
    if (collected_count < collected_capacity) {
        collected[collected_count++] = (uint8_t)byte;
    }
    return byte;
}

static void begin_collecting(uint8_t *bytes, size_t capacity) {
    collected = bytes;
    collected_count = 0;
    collected_capacity = capacity;
}

static size_t capability_bytes(const char *name, int first, int second, uint8_t *bytes, size_t capacity) {
    const char *const sequence = cterminal_capability(name);
    if (sequence == NULL) {
        return 0;
    }
    begin_collecting(bytes, capacity);
    // The parameter is not const in every ncurses.
    const char *const text = tparm((char *)sequence, (long)first, (long)second, 0L, 0L, 0L, 0L, 0L, 0L, 0L);
    if (text != NULL) {
        tputs(text, 1, collect);
    }
    return collected_count;
}

size_t cterminal_place_bytes(int row, int column, uint8_t *bytes, size_t capacity) {
    return capability_bytes("cup", row, column, bytes, capacity);
}

size_t cterminal_scroll_all_bytes(uint8_t *bytes, size_t capacity) {
    return capability_bytes("csr", 0, LINES - 1, bytes, capacity);
}

size_t cterminal_attribute_bytes(uint32_t attributes, int pair, uint8_t *bytes, size_t capacity) {
    begin_collecting(bytes, capacity);
    vid_puts((attr_t)attributes, (short)pair, NULL, collect);
    return collected_count;
}

bool cterminal_window_size(int fd, int *row_count, int *column_count) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        return false;
    }
    *row_count = size.ws_row;
    *column_count = size.ws_col;
    return true;
}
