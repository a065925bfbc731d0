/* hosting.h - opens the host that serves a command, as its options say. */
#ifndef CMD_HOSTING_H
#define CMD_HOSTING_H

#include "cmd/args/model.h"
#include "cmd/args/running.h"

#include "attn.h"

/* How a host is opened. */
struct hosting {
    const struct attn_source *source; /* NULL: for arrays */
    enum attn_load load;
    int compute; /* enum attn_compute */
    bool reuse;  /* the model will run many times */
    const struct running_args *running;
};

/* Opens *host, which the caller closes by hosting_close. Reports and returns an exit code. */
int hosting_open(const struct hosting *hosting, struct attn_host **host);

void hosting_close(struct attn_host *host); /* NULL is allowed */

#endif
