/* topics.c - the texts of the topics. Their lists of options come from the tables of the
 * commands. */
#include "cmd/line/topics.h"

#include "cmd/line/field_names.h"
#include "cmd/line/help.h"
#include "cmd/line/print.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

/* Sets *row to row I, which is the I-th format that has an option. Returns false after the last. */
static bool make_format(size_t i, struct topic_row *row)
{
    for (size_t k = 0; k < attn_n_format(); k++) {
        const struct attn_format *format = attn_format_at(k);

        if (!format->argument || i-- > 0)
            continue;
        snprintf(row->name, sizeof row->name, "--%s %s", format->name, format->argument);
        row->text = field_names_of_help(format->help);
        return true;
    }
    return false;
}

static bool make_measure(size_t i, struct topic_row *row)
{
    if (i >= (size_t)attn_measures_n())
        return false;
    snprintf(row->name, sizeof row->name, "%s", attn_measure_name(attn_measure_shown((int)i)));
    row->text = attn_measure_help(attn_measure_shown((int)i));
    return true;
}

static bool make_figure(size_t i, struct topic_row *row)
{
    const char *name, *words = attn_figure_help(i, &name);

    if (!words)
        return false;
    snprintf(row->name, sizeof row->name, "%s", name);
    row->text = field_names_of_help(words);
    return true;
}

static const char *const item_keys[][2] = {
    {"id", "a name of the item; default: its number, from 0"},
    {"text",
     "the input; or `ids`, as 5 17 3 in CSV; or `image`, the path of a picture, or `images`"},
    {"target", "and `foil`, `at`: as the options of these names"},
    {"next", "the texts whose log-probability `run` prints, as --next"},
    {"good", "and `bad`, or `sentence_good` and `sentence_bad`: the pair of texts of `score`"},
    {"clean", "and `corrupted`: the pair of texts of `patch` and `circuit`; `corrupted_image`"},
    {"a", "and `b`: the pair of texts of `diff`"},
    {"messages", "and `system`, `chat`, `tools`: a conversation, and what its template gets"},
    {"continuation", "an answer after the text of the item, as of --continuation"},
    {"baseline", "and `neutral`: the baseline of `attribute`, the neutral text of `spans`"},
    {"from", "and `to`, `queries`: positions, as numbers or words"},
    {"pos.NAME", "positions with a name, for options that take positions"},
    {"pair", "and `types`, `key_mask`, `source`, `corrupted_source`: additions to the input"},
    {"words", "and `source_words`: lists of the words of text and source, for `align`"},
    {"any other", "a label, for --group-by and --paired"},
};

static const char *const metrics[][2] = {
    {"logit_diff", "the logit of --target minus the logit of --foil; the default with a foil"},
    {"log_prob", "ln p(target), in nats; the default without a foil"},
    {"logit", "the logit of --target"},
    {"prob", "p(target)"},
    {"kl", "KL(p before || p after the change), in nats; needs no target"},
    {"ce", "the mean of -ln p over the tokens of the text but the first, in nats; needs no "
           "target"},
};

const struct topic topics[] = {
    {.name = "input",
     .summary = "what a command reads: a text, token ids, an array",
     .text = "A text stands after the options, or in --sentence or --file. Token ids or an\n"
             "array of embeddings may take its place. The value of another option that is an\n"
             "input (--source, --target, --next, --label, --with) may begin with what it is:\n"
             "ids:5,17,3, file:PATH, image:PATH, or text: for a text that begins so itself.\n"
             "audio:, video:, url:, json:, npy: and token: are kept for later: use text:.\n"
             "Models with cross-attention read a source, too. Pictures, conversations and files of "
             "many items are topics of their\n"
             "own: pictures, chat, items. Positions of a text are those of its tokens, as\n"
             "`attn-cli tokenize` prints them.\n",
     .heading = "Input",
     .examples = "  attn-cli run --sentence \"The keys to the cabinet\"\n"
                 "  printf 'The keys' | attn-cli score --file -\n"
                 "  attn-cli run --ids 5,17,3 --top 2\n"},
    {.name = "pictures",
     .summary = "pictures that a model reads, alone or beside a text",
     .text = "A model reads a picture alone (ViT), beside labels (CLIP), or beside a text, as\n"
             "a question about it (LLaVA, and a GGUF model with --mmproj). Its patches, or\n"
             "what the model makes of them, are positions like tokens. --tiles, --neutral and\n"
             "--drop-sinks are for what heads look at in a picture: `attn-cli help selection`.\n"
             "Pictures of attention are another topic, figures.\n",
     .heading = "Pictures",
     .examples =
         "  attn-cli run -m DIR --image cat.png \"What is it?\"\n"
         "  attn-cli run -m DIR --image cat.png --label \"a cat\" --label \"a dog\" --top 2\n"
         "  attn-cli generate -m DIR -n 20 --image cat.png \"What is it?\"\n"},
    {.name = "chat",
     .summary = "a text, or messages, in the form of a conversation",
     .text = "Models of conversations know a form: who speaks, and where a turn ends. The\n"
             "template of the model writes it, or one in a file, as Hugging Face has them.\n"
             "`attn-cli tokenize --format text` prints what comes out. Beside a picture the\n"
             "form is on by default.\n",
     .heading = "Chat",
     .examples =
         "  printf '{{ messages[0].content }}!' >t; attn-cli tokenize --chat t Hello\n"
         "  attn-cli tokenize --chat t --messages '[{\"role\":\"user\",\"content\":\"Hi\"}]'\n"
         "  attn-cli run --chat t --top 2 \"The keys\"\n"},
    {.name = "items",
     .summary = "one question about many sentences, with means over them",
     .text = "--items FILE repeats a command for each item of FILE. Questions about heads and\n"
             "answers print means over the items, with standard deviations (_sd) and standard\n"
             "errors (_se); `run` and `generate` write the rows of each item. FILE is JSON\n"
             "Lines, or CSV or TSV with a header: a line is an item. In FASTA a protein is an\n"
             "item, with `id`, `text` and the label `description`. With --items-format lines\n"
             "each line is a text. Keys of an item:\n",
     .rows = item_keys,
     .n_row = sizeof item_keys / sizeof *item_keys,
     .column = 17,
     .heading = "Items",
     .examples = "  printf '%s\\n' text,target 'The keys, are' 'The key, is' >items.csv\n"
                 "  attn-cli ablate --items items.csv --by attn\n"
                 "  attn-cli score --items items.csv --each - | head -n 3\n"},
    {.name = "model",
     .summary = "which model is run, and from which files",
     .text = "Without --model the built-in `fable` is run. `attn-cli models` lists the names\n"
             "that are found on this computer; nothing is downloaded. `attn-cli inspect` says\n"
             "what is in a model, and what a run of it costs. Single files of a model may be\n"
             "replaced.\n",
     .heading = "Model",
     .examples = "  attn-cli models\n"
                 "  attn-cli inspect fable\n"
                 "  attn-cli run --model fable --top 3 \"The keys to the cabinet\"\n"},
    {.name = "compute",
     .summary = "how exactly products are computed",
     .text = "bf16 rounds weights and what they are multiplied by to bfloat16; sums, scores,\n"
             "softmax, norms and the residual stream stay float32. Its digits depend on the\n"
             "processor.\n",
     .heading = "Compute",
     .examples = "  attn-cli run --compute bf16 --top 2 \"The keys to the cabinet\"\n"
                 "  attn-cli score --compute bf16 \"The keys to the cabinet\"\n"
                 "  attn-cli ablate --compute bf16 --by layer --target ' are' \"The keys\"\n"},
    {.name = "attention",
     .summary = "other kinds of attention, masks and scales",
     .text = "These options change how a run computes attention. The weights of the model stay\n"
             "as they are, so a change shows what this model loses with it, not what a model\n"
             "that was trained with it would do. 'attn-cli run --attention help' lists the\n"
             "kinds. 'attn-cli diff --with-attention KIND' says for each head how far its\n"
             "pattern is from that of the model.\n",
     .heading = "Attention",
     .examples = "  attn-cli diff --with-attention window:2 \"The keys to the cabinet\"\n"
                 "  attn-cli run --attention scale=off --heads 2.5 \"The keys to the cabinet\"\n"
                 "  attn-cli run --attention dropout=0.1:1 --top 1 \"The keys to the cabinet\"\n"},
    {.name = "interventions",
     .summary = "switch heads off, knock out keys, patch, steer",
     .text = "An intervention changes a tensor while the model runs. Everything after it sees\n"
             "the change. Positions are numbers, or words of the text. Several interventions\n"
             "may be given. --steer is applied after all others, then --project, then\n"
             "--rescale, each in the order given. A note reports how many rows changed;\n"
             "another note names each intervention that changed none.\n",
     .heading = "Interventions",
     .examples = "  attn-cli run --ablate 2.5 --top 2 \"The keys to the cabinet\"\n"
                 "  attn-cli run --knockout 'cabinet>keys' --top 2 \"The keys to the cabinet\"\n"
                 "  attn-cli generate -n 3 --rescale z:2.5=0.5 \"The keys to the cabinet\"\n"},
    {.name = "selection",
     .summary = "which layers, heads, positions and tensors are kept",
     .text = "attn-cli computes only the selected tensors and those that they need. Numbers do\n"
             "not depend on the selection. Layers, heads and positions count from 0. A list\n"
             "has items with commas between them:\n"
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
             "tokens stands for all of them. Every option with a position takes these, too:\n"
             "\n"
             "  \"The keys are\"   any text in double quotes, which occurs once, or #2 follows\n"
             "  chars:4:20       characters, as in Python's text[4:20]: -5 is the fifth last\n"
             "  key:part         the text that an item has in its key 'part'\n"
             "\n"
             "They are all tokens that have a character of it that is not white space.\n"
             "\n"
             "--sites takes names of tensors and globs: pattern,z (the default), 'resid_*',\n"
             "'*'. 'attn-cli run --sites help' lists them with their shapes. Globs do not\n"
             "match sites that are computed from others: rollout, weighted_pattern,\n"
             "value_zeroing, received, contacts, and those that need a metric (run --grad).\n"
             "\n"
             "A list with a name that the model or the text lacks is an error; the message\n"
             "shows the choices.\n",
     .heading = "Selection",
     .examples =
         "  attn-cli run -m fable --heads 2.2,3.* \"The cat sat on the mat\"\n"
         "  attn-cli run -m fable --heads 2.5 --queries cabinet \"The keys to the cabinet\"\n"
         "  attn-cli run -m fable --layers -1 --sites 'resid_*' \"The cat sat\"\n"},
    {.name = "answer",
     .summary = "the number that a question is about",
     .text = "A question about an answer needs one number. It is computed from the logits\n"
             "after one position (--at). p is their softmax. --metric chooses the number:\n",
     .rows = metrics,
     .n_row = sizeof metrics / sizeof *metrics,
     .column = 17,
     .heading = "Answer",
     .examples =
         "  attn-cli run --target ' are' --foil ' is' \"The keys to the cabinet\"\n"
         "  attn-cli ablate --metric kl --sort change --limit 3 \"The keys to the cabinet\"\n"
         "  attn-cli patch --clean \"The keys\" --corrupted \"The key\" --target ' are'\n"},
    {.name = "rows",
     .summary = "which rows and columns of a table, and in which order",
     .text = "They apply to the printed table and to the files of --csv, --json, --jsonl,\n"
             "--latex and --markdown. `attn-cli help --json` lists the columns of each table.\n",
     .heading = "Rows",
     .examples = "  attn-cli heads --sort entropy_norm --limit 5 \"The cat sat on the mat\"\n"
                 "  attn-cli heads --where layer=2 --columns layer,head,max \"The cat sat\"\n"
                 "  attn-cli models --columns name --csv -\n"},
    {.name = "output",
     .summary = "tables and tensors into files",
     .text = "Without any of these options a command prints text for reading. `attn-cli help\n"
             "formats` says how numbers, masked cells and tokens are written; figures are a\n"
             "topic of their own. Commands of tables take a FILE, '-' is standard output.\n",
     .heading = "Output",
     .examples = "  attn-cli heads --csv - \"The keys to the cabinet\" | head -n 3\n"
                 "  attn-cli run --top 3 --jsonl - \"The keys to the cabinet\"\n"
                 "  attn-cli run --npz run.npz --json run.json \"The keys\"\n"},
    {.name = "formats",
     .summary = "how tensors, tables and pictures are written",
     .text = "Without any of these options a command prints text for reading. With one or more\n"
             "of them it writes files; '-' as FILE is standard output. A file appears whole or\n"
             "not at all; a file that exists is replaced. A DIR that exists is written into:\n"
             "run.json in it lists the files.\n"
             "\n"
             "Rows are queries, columns are keys. A cell that is masked is empty in CSV, null\n"
             "in JSON, and in arrays 0 in patterns and -inf in scores. Numbers in CSV and JSON\n"
             "are the shortest that read back as the same float32. Tokens are printable\n"
             "everywhere: a backslash is doubled, and other bytes are \\n"
             ", \\t, \\r or \\xNN.\n",
     .make_row = make_format,
     .column = 22,
     .examples = "  attn-cli run -m fable --heads 2.2 --csv - \"The cat sat\"\n"
                 "  attn-cli run -m fable --npz all.npz --tidy all.csv \"The cat sat\"\n"
                 "  attn-cli run -m fable --json - \"The cat sat\" | head -n 4\n"},
    {.name = "figures",
     .summary = "pictures of patterns and tables",
     .text = "--svg, --png and --pdf draw a figure into a file, --html writes a page for a\n"
             "browser, --heatmap of a run prints it in the terminal. PNG and PDF need cairo and\n"
             "pango. --figure chooses what a figure shows:\n",
     .make_row = make_figure,
     .column = 17,
     .heading = "Figures",
     .examples = "  attn-cli run --heads 2.6 --svg head.svg \"The cat sat because it was tired\"\n"
                 "  attn-cli run --figure arcs --heads 2.5 --queries -1 --svg a.svg \"The keys\"\n"
                 "  attn-cli ablate --target ' are' --svg a.svg \"The keys to the cabinet\"\n"},
    {.name = "measures",
     .summary = "the numbers of a head, and their limits",
     .text = "The measures of a head in the tables of 'attn-cli heads' and `attend\n"
             "--measures`. A is the pattern, i a query, j a key; a measure is a mean over the\n"
             "rows of a head. They measure where a head looks. They do not measure what it\n"
             "copies from there, or whether the answer depends on it: 'attn-cli ablate',\n"
             "`patch` and `attribute` do.\n",
     .make_row = make_measure,
     .column = 17,
     .examples =
         "  attn-cli heads --sort entropy_norm --limit 5 \"The cat sat on the mat\"\n"
         "  attn-cli probe induction --sort induction --limit 4\n"
         "  printf 'A cat' | attn-cli heads --items - --items-format lines --measures far,first\n"},
    {.name = "options",
     .summary = "how options are written, and defaults in a file",
     .text =
         "--name VALUE and --name=VALUE are the same. Names are never abbreviated. -- ends the\n"
         "options. --no-name turns a flag off, as --no-quiet.\n"
         "\n"
         "Some options have settings: --style 'theme=dark dpi=300'. The option may be given\n"
         "several times, each setting once. A value with blanks stands in quotation marks:\n"
         "--style 'font=\"DejaVu Sans\"'. ATTN_CLI_STYLE has default settings.\n"
         "\n"
         "ATTN_CLI_CONFIG names a file with default options: one a line, --name or\n"
         "--name=VALUE; # begins a comment. The command line comes first, then variables,\n"
         "then the file. A line is skipped if the command does not have the option, or not\n"
         "with this value, and if it needs an option that is not given. An error about a\n"
         "default names the file and the line.\n",
     .examples =
         "  attn-cli run --heads 2.5 --style 'theme=dark colormap=magma' --svg a.svg \"The keys\"\n"
         "  ATTN_CLI_STYLE='theme=dark' attn-cli run --heatmap \"The keys\"\n"
         "  echo --quiet >rc; ATTN_CLI_CONFIG=rc attn-cli run --no-quiet \"The keys\"\n"},
    {.name = "other",
     .summary = "threads, notes and help",
     .text = "Notes go to standard error, so that standard output holds data only.\n",
     .heading = "Other",
     .examples = "  attn-cli run --threads 2 --top 2 \"The keys to the cabinet\"\n"
                 "  attn-cli run --quiet --ablate 2.5 --top 2 \"The keys to the cabinet\"\n"
                 "  attn-cli run --verbose --top 2 \"The keys to the cabinet\"\n"},
};

const size_t n_topic = sizeof topics / sizeof *topics;

bool topic_row(const struct topic *topic, size_t i, struct topic_row *row)
{
    if (topic->make_row)
        return topic->make_row(i, row);
    if (i >= topic->n_row)
        return false;
    snprintf(row->name, sizeof row->name, "%s", topic->rows[i][0]);
    row->text = topic->rows[i][1];
    return true;
}

/* Chapters of the manual that are neither a command nor a topic. `file` is set if it differs from
 * the names, "view|show"; `see` are the arguments of attn-cli that show more, or NULL. */
static const struct {
    const char *names, *file, *see;
} chapters[] = {
    {"adapters", NULL, "inspect --adapter"},
    {"arrays", NULL, "attend --help"},
    {"attn-format", NULL, "init --help"},
    {"bos", "tokens", "help input"},
    {"classifiers", NULL, NULL},
    {"class|story|stories", "class", "run --live --story"},
    {"clusters", NULL, "run --help"},
    {"csv|json", "for-programs", "help formats"},
    {"embed|embeddings", "classifiers", "run --sites sentence_embed"},
    {"encoders", NULL, NULL},
    {"for-programs", NULL, "help --json"},
    {"gallery", NULL, "help figures"},
    {"gguf", NULL, "inspect --help"},
    {"glossary", "explanation/glossary", NULL},
    {"gradients", NULL, "run --grad"},
    {"image|images", "images", "help pictures"},
    {"induction", "probes", "probe induction"},
    {"live|live-page", "live-page", "run --live"},
    {"item-tensors", NULL, "help items"},
    {"make-a-model", NULL, "init --help"},
    {"pages", NULL, "run --html"},
    {"metrics", "predictions", "help answer"},
    {"pictures-and-questions|vision", "pictures-and-questions", "help pictures"},
    {"perplexity|surprisal", "predictions", "score TEXT"},
    {"precision", "formats", "help output"},
    {"predictions", NULL, "score --help"},
    {"probes", NULL, "probe needle"},
    {"proteins", NULL, NULL},
    {"similarity", "classifiers", "run --label TEXT TEXT"},
    {"statistics", NULL, "help items"},
    {"steer|steering", "interventions", "generate --steer"},
    {"study", "tutorial/a-study", "help items"},
    {"tables", NULL, "help rows"},
    {"tokens", NULL, "tokenize --help"},
    {"translation", NULL, "align --help"},
    {"transformer-lens", NULL, NULL},
    {"two-sequences", NULL, "run --source"},
    {"windows|windows-and-macos|macos", "windows-and-macos", NULL},
    {"without-attention", NULL, "run --sites mixing"},
    {"heatmap", "pictures", "run --heatmap TEXT"},
    {"plot|draw", "pictures", "run --svg FILE TEXT"},
    {"view|show|visualize", "pages", "run --html FILE TEXT"},
    {"serve", "pages", "run --live --html FILE TEXT"},
};

const struct topic *topic_find(const char *name)
{
    for (size_t i = 0; i < sizeof chapters / sizeof *chapters; i++)
        if (word_find(chapters[i].names, name) >= 0 && chapters[i].see &&
            strncmp(chapters[i].see, "help ", 5) == 0)
            name = chapters[i].see + 5;
    for (size_t i = 0; i < n_topic; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

const char *topic_of_heading(const char *heading)
{
    for (size_t i = 0; i < n_topic; i++)
        if (topics[i].heading && strcmp(topics[i].heading, heading) == 0)
            return topics[i].name;
    return NULL;
}

/* Returns true if COMMAND has an option under HEADING with the name and help of LIKE. LIKE may be
 * NULL: any option. */
static bool has_option(const struct command *command, const char *heading,
                       const struct option_walk *like)
{
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.name && strcmp(walk.heading, heading) == 0 &&
            (!like || (strcmp(walk.name, like->name) == 0 &&
                       strcmp(walk.param->help, like->param->help) == 0)))
            return true;
    return false;
}

/* Appends which commands with this heading have OPTION, " (run, heads)", or which of them lack it,
 * " (not heads)", whichever list is shorter. Appends nothing if all have it. */
static void append_commands(const char *heading, const struct option_walk *option, char *text,
                            size_t size)
{
    size_t used = strlen(text), n = 0, n_all = 0, n_listed = 0;
    bool lists_others;

    for (size_t i = 0; command_at(i); i++) {
        n += has_option(command_at(i), heading, option);
        n_all += has_option(command_at(i), heading, NULL);
    }
    lists_others = n > n_all / 2;
    for (size_t i = 0; n < n_all && command_at(i); i++)
        if (has_option(command_at(i), heading, NULL) &&
            has_option(command_at(i), heading, option) != lists_others)
            attn_fixed_text_append(text, size, &used, "%s%s",
                                   n_listed++ > 0 ? ", "
                                   : lists_others ? " (not "
                                                  : " (",
                                   command_at(i)->name);
    if (n_listed > 0)
        attn_fixed_text_append(text, size, &used, ")");
}

bool topic_is_own(const struct option_walk *option)
{
    bool is_own = true;

    if (!topic_of_heading(option->heading))
        return true;
    for (size_t i = 0; is_own && command_at(i); i++)
        is_own =
            command_at(i) == option->command || !has_option(command_at(i), option->heading, option);
    return is_own;
}

bool topic_option_next(const struct topic *topic, struct topic_walk *walk)
{
    if (!topic->heading)
        return false;
    for (; command_at(walk->command); walk->command++, walk->options = (struct option_walk){0}) {
        walk->options.command = command_at(walk->command);
        while (option_next(&walk->options)) {
            const struct option_walk *option = &walk->options;
            bool is_new = option->name && !option->param->prefix &&
                          strcmp(option->heading, topic->heading) == 0;

            for (size_t i = 0; is_new && i < walk->command; i++)
                is_new = !has_option(command_at(i), topic->heading, option);
            if (!is_new)
                continue;
            option_help(option, false, walk->help, sizeof walk->help);
            append_commands(topic->heading, option, walk->help, sizeof walk->help);
            return true;
        }
    }
    return false;
}

void topic_print(struct attn_sink *out, const struct topic *topic)
{
    struct topic_row row;
    struct topic_walk walk = {0};

    print(out, "attn-cli help %s: %s\n\n", topic->name, topic->summary);
    print_text(out, topic->text);
    for (size_t i = 0; topic_row(topic, i, &row); i++) {
        if (i == 0)
            print_text(out, "\n");
        help_row(out, row.name, row.text, topic->column);
    }
    for (size_t i = 0; topic_option_next(topic, &walk); i++) {
        if (i == 0)
            print_text(out, "\nOptions:\n");
        help_option(out, &walk.options, walk.help);
    }
    print_text(out, "\nExamples:\n");
    print_text(out, topic->examples);
}

bool topic_hint(const char *name, char hint[TOPIC_HINT_SIZE])
{
    for (size_t i = 0; i < sizeof chapters / sizeof *chapters; i++) {
        const char *see = chapters[i].see, *file = chapters[i].file ? chapters[i].file : name;

        if (word_find(chapters[i].names, name) < 0)
            continue;
        snprintf(hint, TOPIC_HINT_SIZE, "see %s%s%scmd/manual/%s.md of the manual",
                 see ? "'attn-cli " : "", see ? see : "", see ? "' and " : "", file);
        return true;
    }
    if (topic_find(name))
        snprintf(hint, TOPIC_HINT_SIZE, "'attn-cli help %s' explains it", name);
    return topic_find(name);
}
