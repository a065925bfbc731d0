/* topic.c - see topic.h. */
#include "cmd/line/topic.h"

#include "cmd/line/field_names.h"
#include "cmd/line/help.h"
#include "cmd/line/print.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

/* A format that has an option. */
static bool make_format(size_t i, struct topic_row *row)
{
    for (size_t k = 0; k < attn_n_format(); k++) {
        const struct attn_format *format = attn_format_at(k);
        if (!format->argument || i-- > 0)
            continue;
        snprintf(row->name, sizeof(row->name), "--%s %s", format->name, format->argument);
        row->text = field_names_of_help(format->help);
        return true;
    }
    return false;
}

static bool make_measure(size_t i, struct topic_row *row)
{
    if (i >= ATTN_N_MEASURE)
        return false;
    snprintf(row->name, sizeof(row->name), "%s", attn_measure_name(attn_measure_order[i]));
    row->text = attn_measure_help(attn_measure_order[i]);
    return true;
}

const struct topic topics[] = {
    {.name = "selection",
     .summary = "which layers, heads, positions and tensors are kept",
     .text = "attn-cli computes what is chosen, and what that needs. Numbers do not depend on\n"
             "the choice. Layers, heads and positions count from 0. A list has items with\n"
             "commas between them:\n"
             "\n"
             "  3          that one           -1         the last one\n"
             "  0-5        0 to 5             0-11+2     0, 2, 4, 6, 8, 10\n"
             "  all        all of them\n"
             "\n"
             "--layers takes such a list. --heads takes one too, and means these heads of\n"
             "every layer that is kept; an item may also name its layer:\n"
             "\n"
             "  5.1        head 1 of layer 5  L5H1       the same\n"
             "  9.*        all of layer 9     *.0        head 0 of every layer\n"
             "\n"
             "--queries takes positions, and words of the text: the rows of a pattern, and the\n"
             "vectors at these positions. A word is that word with or without the space before\n"
             "it; ' it' has the space; it#2 is its second place in the text. A word of several\n"
             "tokens stands for all of them.\n"
             "\n"
             "--sites takes names of tensors and globs: pattern,z (the default), 'resid_*',\n"
             "'*'. 'attn-cli run --sites help' lists them with their shapes. Globs do not\n"
             "match sites that are computed from others: rollout, weighted_pattern,\n"
             "value_zeroing.\n"
             "\n"
             "A list that names something that the model or the text does not have is an\n"
             "error; the message says what there is.\n",
     .examples =
         "  attn-cli run -m fable --heads 2.2,3.* \"The cat sat on the mat\"\n"
         "  attn-cli run -m fable --heads 2.5 --queries cabinet \"The keys to the cabinet\"\n"
         "  attn-cli run -m fable --layers -1 --sites 'resid_*' \"The cat sat\"\n"},
    {.name = "formats",
     .summary = "how tensors, tables and pictures are written",
     .text = "Without any of these options a command prints text for reading. With one or more\n"
             "of them it writes files; '-' as FILE is standard output. A file appears whole or\n"
             "not at all; a file that exists is replaced. A DIR that exists is written into:\n"
             "run.json in it lists what was written.\n"
             "\n"
             "Rows are queries, columns are keys. A cell that is masked is empty in CSV, null\n"
             "in JSON, and in arrays 0 in patterns and -inf in scores. Numbers in CSV and JSON\n"
             "are the shortest that read back as the same float32. Tokens are printable\n"
             "everywhere: a backslash is doubled, and other bytes are \\n"
             ", \\t, \\r or \\xNN.\n",
     .make_row = make_format,
     .column = 22,
     .examples = "  attn-cli run -m fable --heads 2.2 --sites pattern --csv - \"The cat sat\"\n"
                 "  attn-cli run -m fable --npz all.npz --tidy all.csv \"The cat sat\"\n"
                 "  attn-cli run -m fable --json - \"The cat sat\" | head -n 4\n"},
    {.name = "measures",
     .summary = "the numbers of a head, and what they do not say",
     .text = "The measures of a head in the tables of 'attn-cli heads', `batch` and `attend\n"
             "--measures`. A is the pattern, i a query, j a key; a measure is a mean over the\n"
             "rows of a head. All of them say where a head looks. None says what it takes from\n"
             "there, nor whether that matters: 'attn-cli ablate', `patch` and `attribute`\n"
             "measure that.\n",
     .make_row = make_measure,
     .column = 17,
     .examples = "  attn-cli heads --sort entropy_norm --limit 5 \"The cat sat on the mat\"\n"
                 "  attn-cli heads --probe induction --sort induction --limit 4\n"
                 "  printf 'The cat sat.\\n' | attn-cli batch --lines --measures far,first -\n"},
};

const size_t n_topic = sizeof(topics) / sizeof(topics[0]);

const struct topic *topic_find(const char *name)
{
    for (size_t i = 0; i < n_topic; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

void topic_print(struct attn_sink *out, const struct topic *topic)
{
    struct topic_row row;
    print(out, "attn-cli help %s: %s\n\n", topic->name, topic->summary);
    print_text(out, topic->text);
    for (size_t i = 0; topic->make_row && topic->make_row(i, &row); i++) {
        if (i == 0)
            print_text(out, "\n");
        help_row(out, row.name, row.text, topic->column);
    }
    print_text(out, "\nExamples:\n");
    print_text(out, topic->examples);
}
