/* ask_terminal_wasm.c - see print.h. WASI has no terminal. */
#include "cmd/line/print.h"

enum attn_theme terminal_ask_theme(void)
{
    return ATTN_THEME_AUTO;
}
