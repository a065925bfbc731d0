/* process_wasm.c - see process.h: the host prepares all of it. */
#include "cmd/line/process.h"

void process_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

enum attn_status process_check_stack(struct attn_error *err)
{
    (void)err;
    return ATTN_OK;
}
