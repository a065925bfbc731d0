/* ask_terminal_windows.c - see ask_terminal.h. The console does not tell its colors. */
#include "cmd/line/ask_terminal.h"

enum attn_theme terminal_ask_theme(void)
{
    return ATTN_THEME_AUTO;
}
