/* selection.c - options that select tensors, and the list of sites. */
#include "cmd/args/selection.h"

#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

enum attn_status places_check(const struct call *call, struct attn_error *err)
{
    static const char uses[] =
        "at|queries|from|to|score|baseline-keep|ablate|knockout|patch|steer|rescale";

    const char *given = option_text(call, "positions");
    char hint[ATTN_ERROR_HINT_SIZE];

    if (!given || option_find_given(call, uses))
        return ATTN_OK;
    snprintf(hint, sizeof hint, "--knockout '%.*s>0' uses such a name", (int)strcspn(given, "="),
             given);
    return refuse(err, hint, "`positions` gives names to places, and no option uses them");
}

enum attn_status edits_read(struct attn_edit_texts *edits, const struct attn_places *places,
                            const struct attn_host *host, struct attn_request *request,
                            struct attn_error *err)
{
    request->reading.places = places->n > 0 ? places : NULL;
    return attn_edit_texts_read(edits, attn_host_model(host), &request->edits, err);
}

void sites_print(struct attn_sink *out)
{
    print_text(out, "site                   shape   name in archives\n");
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
        size_t size = attn_site_archive_name(site, 0, name);

        if (size > 5 && strcmp(name + size - 5, "_grad") == 0 && site != ATTN_SITE_PATTERN_X_GRAD)
            continue; /* these have no name of their own */
        print(out, "%-21s  %-6s  %.*s\n", attn_site_name(site), attn_site_shape_text(site),
              (int)size, name);
    }
    print_text(
        out,
        "\n"
        "T positions, S keys, H heads, G key/value heads, D d_model, E d_head,\n"
        "Ev d_value, Do d_out, De d_embed, F d_mlp, V vocabulary, R rank, M projection,\n"
        "L what a classifier reads, y and x cells of a picture, P cells of all pictures, N\n"
        "pictures of h x w pixels;\n"
        "'blocks.0' is layer 0. 'attention' means pattern, 'context' means z. A model that\n"
        "lacks a part lacks its sites; tower:pattern is the pattern of the encoder of a picture\n"
        "beside a text. rollout, weighted_pattern, value_zeroing, contacts and the four of\n"
        "pictures are computed from others; globs do not match them, nor sites that need a\n"
        "metric (--target): pattern_x_grad, relevance, relevance_norm, and gradients such as\n"
        "pattern_grad. Every site has a gradient except rollout, weighted_pattern,\n"
        "value_zeroing, sites of shape R and the first three. --grad adds the gradient of each\n"
        "selected site.\n");
}
