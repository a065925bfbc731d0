/* hosting.c - see hosting.h. */
#include "cmd/args/hosting.h"

#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/report.h"
#include "tool.h"

static void on_note(void *user, const char *message)
{
    (void)user;
    note("%s", message);
}

int hosting_open(const struct hosting *hosting, struct attn_host **host)
{
    const struct running_args *running = hosting->running;
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    options.load = hosting->load;
    options.compute = (enum attn_compute)hosting->compute;
    options.reuse = hosting->reuse;
    options.n_thread = (int)running->threads;
    options.gemm = running_gemm();
    options.isa = running_isa();
    options.cancel = interrupt_flag();
    options.on_note = running->is_quiet ? NULL : on_note;
    if (attn_host_create(hosting->source, &options, host, &err) != ATTN_OK)
        return report_error(&err);
    if (!hosting->source)
        return EXIT_DONE;
    const struct attn_tokenizer *tokenizer;
    interrupt_watch_model(attn_host_model(*host));
    const bool has_tokenizer = attn_host_tokenizer(*host, &tokenizer, &err) == ATTN_OK;
    if (!has_tokenizer && running->is_verbose)
        note("tokens have no text: %s", err.message);
    if (has_tokenizer && running->is_verbose && attn_tokenizer_detail(tokenizer))
        note("%s", attn_tokenizer_detail(tokenizer));
    return EXIT_DONE;
}

void hosting_close(struct attn_host *host)
{
    interrupt_watch_model(NULL);
    attn_host_free(host);
}
