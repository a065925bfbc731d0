/* table_words.c - see table_words.h. The names of columns are one word; a picture has room for what
 * they mean. */
#include "figures/table_words.h"

#include "base/escape.h"

#include <string.h>

struct column_words {
    const char *column;
    const char *quantity; /* '@' is the answer that was asked for */
    const char *unit;     /* NULL: none, or that of the column */
};

static const struct column_words all[] = {
    {"value", "@", NULL},
    {"change", "change of @", NULL},
    {"effect", "share of the difference of both answers", NULL},
    {"kl", "KL divergence from the unchanged prediction", "nats"},
    {"same_top", "most probable token stays the same", NULL},
    {"same_first", "most probable token stays the same", NULL},
    {"control", "change of @ without random heads", NULL},
    {"knockout", "estimated change of @ without the weight", NULL},
    {"logit", "logit of the token", NULL},
    {"logit_diff", "logit(target) - logit(foil)", NULL},
    {"rank", "rank of the token", NULL},
    {"right", "share of items that the model has right", NULL},
    {"metric", "@", NULL},
    {"difference", "log p(good) - log p(bad)", NULL},
    {"good", "log p(good)", NULL},
    {"bad", "log p(bad)", NULL},
    {"prob", "probability", NULL},
    {"js", "Jensen-Shannon divergence", "nats"},
    {"tv_mean", "mean total variation distance", NULL},
    {"tv_max", "largest total variation distance", NULL},
    {"weight", "weight", NULL},
    {"entropy", "entropy", "nats"},
    {"entropy_norm", "entropy as a share of its maximum", NULL},
    {"max", "largest weight of a row", NULL},
    {"distance", "distance", "tokens"},
    {"self", "weight on the token itself", NULL},
    {"previous", "weight on the token before", NULL},
    {"first", "weight on the first token", NULL},
    {"duplicate", "weight on earlier places of the token", NULL},
    {"induction", "weight on what followed earlier places of the token", NULL},
    {"far", "largest weight elsewhere", NULL},
    {"punctuation", "weight on punctuation", NULL},
    {"bits", "surprisal", "bits"},
    {"nats", "surprisal", "nats"},
};

/* Appends QUANTITY with ANSWER where it has an '@'. */
static void append_quantity(struct attn_buffer *out, const char *quantity, const char *answer)
{
    const char *at = strchr(quantity, '@');

    answer = answer ? answer : "the answer";
    if (!at) {
        attn_buffer_append_string(out, quantity);
        return;
    }
    attn_buffer_append(out, quantity, (size_t)(at - quantity));
    attn_escape_append(out, answer, strlen(answer));
    attn_buffer_append_string(out, at + 1);
}

void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_grid *grid)
{
    const struct column_words *found = NULL;
    const char *quantity = grid->quantity;
    size_t n;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].column, column->name) == 0)
            found = &all[i];
    if (!quantity && found)
        quantity = found->quantity;
    words->unit = found && found->unit ? found->unit : column->unit;
    if (!quantity)
        return;
    append_quantity(&words->bytes, quantity, grid->answer);
    attn_buffer_append_char(&words->bytes, '\0');
    n = words->bytes.size;
    append_quantity(&words->bytes, quantity, grid->answer);
    if (grid->asked) {
        attn_buffer_append_char(&words->bytes, ' ');
        attn_escape_append(&words->bytes, grid->asked, strlen(grid->asked));
    }
    if (!attn_buffer_string(&words->bytes))
        return;
    words->quantity = words->bytes.data;
    words->title = words->bytes.data + n;
}

void attn_table_words_release(struct attn_table_words *words)
{
    attn_buffer_release(&words->bytes);
}
