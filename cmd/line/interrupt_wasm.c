/* interrupt_wasm.c - see interrupt.h. A WebAssembly module receives no signals and maps no
 * files. */
#include "cmd/line/interrupt.h"

static const volatile sig_atomic_t never;

void interrupt_prepare(void) {}

void interrupt_catch(void) {}

const volatile sig_atomic_t *interrupt_flag(void)
{
    return &never;
}

bool interrupt_is_pending(void)
{
    return false;
}

enum attn_status interrupt_check(struct attn_error *err)
{
    (void)err;
    return ATTN_OK;
}

void interrupt_end(void) {}

void interrupt_watch_weights(const struct attn_tensor_files *weights)
{
    (void)weights;
}

void interrupt_watch_host(const struct attn_host *host)
{
    (void)host;
}

bool interrupt_is_model_truncated(void)
{
    return false;
}
