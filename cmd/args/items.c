#include "cmd/args/items.h"

#include "cmd/line/interrupt.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <math.h>
#include <string.h>

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

enum attn_status items_open(const struct call *call, const struct items_args *args,
                            const struct prompt_args *prompt, struct items *items,
                            struct attn_error *err)
{
    struct attn_items_options options = args->asked.items;

    ATTN_TRY(attn_question_check(args->is_listed ? &attn_question_listing : &attn_question_items,
                                 option_is_param_given, (void *)(uintptr_t)call, err));
    if (!options.path)
        return ATTN_OK;
    if (prompt && prompt_is_given(prompt))
        return refuse(err, NULL, "a text and `items` are given, expected one of them");
    if (prompt && pair_find_given(prompt))
        return refuse(err, "an item may have a 'pair', 'types' and a 'key_mask'",
                      "`%s` goes with one text, not with `items`", pair_find_given(prompt));
    ATTN_TRY(attn_param_rules_check(&attn_input_rules, ATTN_PARAM_GIVEN, option_is_param_given,
                                    (void *)(uintptr_t)call, err));
    if (args->is_listed && args->asked.each.is_resumed &&
        (!args->asked.each.path || is_standard(args->asked.each.path)))
        return refuse(err, NULL, "`resume` needs `csv` or `jsonl` FILE, the file to continue");
    options.size = sizeof options;
    options.cancel = interrupt_flag();
    ATTN_TRY(attn_items_open(&options, &items->items, err));
    items->args = args->asked.study;
    items->args.size = sizeof items->args;
    items->args.items = items->items;
    items->sum = ATTN_STUDY_SUM_DEFAULT;
    items->args.sum = &items->sum;
    return ATTN_OK;
}

void items_close(struct items *items)
{
    attn_items_free(items->items);
}

/* Returns true if the weights were truncated while they were read. */
static bool is_spoiled(void *user)
{
    (void)user;
    return interrupt_is_model_truncated();
}

void items_ask_each(const struct items_args *args, const struct call *call, struct items *items)
{
    struct attn_each_options *each = &items->each;

    if (!args->asked.each.path)
        return;
    *each = args->asked.each;
    each->size = sizeof *each;
    each->path = is_standard(each->path) ? NULL : each->path;
    each->sink = call->out;
    each->is_spoiled = is_spoiled;
    each->key = call->key.data;
    each->result = &items->each_result;
    items->args.each = each;
}

bool items_take_standard(const struct items *items)
{
    return items->args.each && !items->args.each->path;
}

void items_write_sum(const struct items *items, struct attn_sink *out)
{
    const struct attn_study_sum *sum = &items->sum;
    char count[ATTN_QUANTITY_SIZE], line[256] = "";
    size_t used = 0;

    if (sum->n_failed > 0)
        attn_fixed_text_append(line, sizeof line, &used, "%s of ",
                               attn_quantity_count(sum->n_item - sum->n_failed, count));
    attn_fixed_text_append(line, sizeof line, &used, "%s item%s",
                           attn_quantity_count(sum->n_item, count), sum->n_item == 1 ? "" : "s");
    if (sum->n_group > 0)
        attn_fixed_text_append(line, sizeof line, &used, ", %zu condition%s", sum->n_group,
                               sum->n_group == 1 ? "" : "s");
    if (items->args.paired)
        attn_fixed_text_append(line, sizeof line, &used, ", %s pair%s",
                               attn_quantity_count(sum->n_pair, count),
                               sum->n_pair == 1 ? "" : "s");
    if (sum->metric)
        attn_fixed_text_append(line, sizeof line, &used, "; %s%s%s %.3g", sum->row ? sum->row : "",
                               sum->row ? " " : "", sum->quantity ? sum->quantity : sum->metric,
                               sum->mean);
    if (sum->metric && isfinite(sum->se))
        attn_fixed_text_append(line, sizeof line, &used, " (se %.2g)", sum->se);
    if (isfinite(sum->right))
        attn_fixed_text_append(line, sizeof line, &used, ", right in %.3g %%", 100 * sum->right);
    if (sum->n_tie > 0)
        attn_fixed_text_append(line, sizeof line, &used, ", %s tie%s",
                               attn_quantity_count(sum->n_tie, count), sum->n_tie == 1 ? "" : "s");
    attn_sink_write(out, line, used);
    attn_sink_write(out, "\n", 1);
}
