/* attention.c - see attention.h. */
#include "cmd/args/attention.h"

#include "cmd/line/help.h"
#include "cmd/line/print.h"
#include "tool.h"

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
