/* selection.c - options that select tensors, and the lists of sites and of kinds of attention. */
#include "cmd/args/selection.h"

#include "cmd/line/help.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

enum attn_status places_check(const struct call *call, struct attn_error *err)
{
    static const char uses[] =
        "at|queries|from|to|score|baseline-keep|ablate|knockout|patch|steer|project|rescale";

    const char *given = option_text(call, "positions");
    const size_t n = given ? strcspn(given, "=") : 0;
    char hint[ATTN_ERROR_HINT_SIZE];
    struct attn_quote name;

    if (!given || option_find_given(call, uses))
        return ATTN_OK;
    name = attn_quote(given, n);
    snprintf(hint, sizeof hint, "--knockout '%s>0' uses such a name",
             strlen(name.text) == n ? name.text : "NAME");
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
    print_text(out, "site                   shape     name in archives\n");
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
        size_t size = attn_site_archive_name(site, 0, name);

        if (size > 5 && strcmp(name + size - 5, "_grad") == 0 && site != ATTN_SITE_PATTERN_X_GRAD)
            continue; /* these have no name of their own */
        print(out, "%-21s  %-8s  %.*s\n", attn_site_name(site), attn_site_shape_text(site),
              (int)size, name);
    }
    print_text(
        out,
        "\n"
        "T positions, S keys, H heads, G key/value heads, D d_model, E d_head, Ev d_value,\n"
        "Do d_out, De d_embed, Dp width of a per-layer input, F d_mlp, Ne experts, K experts\n"
        "of a token, V vocabulary, R rank, M projection,\n"
        "L what a classifier reads, y and x cells of a picture, P cells of all pictures, N\n"
        "pictures of h x w pixels, Hv H times Ev; in layers without attention Hm heads, dk and\n"
        "dv widths of their keys and values, taps tokens that a convolution reads;\n"
        "'blocks.0' is layer 0. 'attention' means pattern, 'context' means z. A model that\n"
        "lacks a part lacks its sites; tower:pattern is the pattern of the encoder of a picture\n"
        "beside a text. rollout, weighted_pattern, value_zeroing, received, contacts and the\n"
        "four of pictures are computed from others; globs do not match them, nor sites that\n"
        "need a metric (--target): pattern_x_grad, relevance, relevance_norm, and gradients\n"
        "such as pattern_grad. Every site has a gradient except rollout, weighted_pattern,\n"
        "value_zeroing, received, sites of shape R, gate, those of layers without attention\n"
        "and the first three. --grad adds the gradient of each selected site.\n");
}

/* Describes a kind of attention, for example "R random mixtures of all keys; shows
 * pattern_lowrank". It names sites only if they differ from the usual ones. */
static void describe(const struct attn_attention *attention, char *text, size_t size)
{
    /* the sites that depend on the kind of attention */
    static const enum attn_site sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                                           ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK};
    const struct attn_attention full = ATTN_ATTENTION_DEFAULT;
    const char *before = "; shows ";
    size_t n = 0;

    attn_fixed_text_append(text, size, &n, "%s", attn_attention_kind_summary(attention->kind));
    if (attn_sites_are_equal(attn_attention_sites(attention), attn_attention_sites(&full)))
        return;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        enum attn_gives gives = attn_attention_gives(attention, sites[i]);

        if (gives == ATTN_GIVES_NOT)
            continue;
        attn_fixed_text_append(text, size, &n, "%s%s%s", before, attn_site_name(sites[i]),
                               gives == ATTN_GIVES_ON_DEMAND ? ", computed for that alone" : "");
        before = ", ";
    }
}

void attention_kinds_print(struct attn_sink *out)
{
    enum { TEXT_COLUMN = 32 };
    print_text(out,
               "The keys that a query looks at; the mask then removes some of them. Numbers are\n"
               "1 or more, and a number as large as the number of keys means all keys.\n"
               "\n");
    for (int i = 0; i < ATTN_N_ATTENTION_KIND; i++) {
        struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
        char text[256];

        attention.kind = attn_attention_kind_order[i];
        describe(&attention, text, sizeof text);
        help_row(out, attn_attention_kind_written(attention.kind), text, TEXT_COLUMN);
    }
    print_text(out,
               "\n"
               "Each kind has the sites qk, attn_scores and pattern, unless its line says what it\n"
               "shows instead, and z. 'lowrank' needs --mask none.\n");
}
