/* ask_terminal_wasm.c - see ask_terminal.h. WASI has no terminal. */
#include "cmd/line/ask_terminal.h"

enum attn_theme terminal_ask_theme(void)
{
    return ATTN_THEME_AUTO;
}
