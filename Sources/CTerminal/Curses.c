#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE 1

#include "CTerminal.h"

#include <term.h>

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static SCREEN *screen;

int cterminal_look_up(const char *type) {
    int status = 0;
    if (setupterm(type, STDOUT_FILENO, &status) == ERR) {
        // 1: a known type that is no screen, such as a printer.
        return status < 0 ? -2 : status == 0 ? -1 : -4;
    }
    const int colors = tigetnum("colors");
    const bool places_cursor = cterminal_capability("cup") != NULL;
    del_curterm(cur_term);
    return !places_cursor ? -3 : colors > 0 ? colors : 0;
}

bool cterminal_open(const char *type) {
    // Use the window's size rather than LINES and COLUMNS.
    use_env(FALSE);
    use_tioctl(TRUE);
    screen = newterm(type, stdout, stdin);
    if (screen == NULL) {
        return false;
    }
    set_term(screen);
    raw();
    noecho();
    nonl();
    scrollok(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    // ncurses does not read the input, so it need not check for any before each line that it writes.
    typeahead(-1);
    return true;
}

void cterminal_close(void) {
    if (screen != NULL) {
        delscreen(screen);
        screen = NULL;
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
    const char *const value = tigetstr((char *)name);
    return value == (const char *)-1 ? NULL : value;
}

int cterminal_width(uint32_t scalar) { return wcwidth((wchar_t)scalar); }

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

void cterminal_put(int row, int column, uint32_t base, uint32_t mark1, uint32_t mark2, uint32_t mark3, uint32_t mark4,
                   uint32_t attributes, int pair) {
    const wchar_t text[6] = {(wchar_t)base, (wchar_t)mark1, (wchar_t)mark2, (wchar_t)mark3, (wchar_t)mark4, 0};
    cchar_t cell;
    if (wmove(stdscr, row, column) == OK && setcchar(&cell, text, (attr_t)attributes, (short)pair, NULL) == OK) {
        wadd_wch(stdscr, &cell);
    }
}

// Where `collect` puts bytes instead of the terminal. Only the thread that uses ncurses touches these.
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

size_t cterminal_capability_bytes(const char *name, int first, int second, uint8_t *bytes, size_t capacity) {
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

size_t cterminal_attribute_bytes(uint32_t attributes, int pair, uint8_t *bytes, size_t capacity) {
    begin_collecting(bytes, capacity);
    vid_puts((attr_t)attributes, (short)pair, NULL, collect);
    return collected_count;
}
