/* former.c - see former.h. Add a row when an option is renamed. */
#include "cmd/line/former.h"

#include "cmd/line/options_internal.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

#define SINCE "since 0.4.0: "

/* Commands that print tables. */
#define TABLES "heads|sinks|lens|spans|align|examples|ablate|patch|circuit|attribute|score|diff"

/* An option of version 0.3.0, or of other programs. */
static const struct {
    const char *names;       /* "input|items"; for one letter, the option -o */
    const char *commands;    /* commands for which the row holds, "align|score"; NULL: all */
    const char *placeholder; /* a word of `form` that is replaced by the typed value; NULL: none */
    const char *form;        /* what to write instead */
} formers[] = {
    {"prompt", "patch", NULL, SINCE "--clean TEXT --corrupted TEXT"},
    {"prompt", NULL, "TEXT", SINCE "--sentence TEXT"},
    {"texts", "score", "FILE", SINCE "--items FILE --by token"}, /* the mean of a token, as then */
    {"texts", "ablate|attribute|heads|lens", "FILE", SINCE "--items FILE"},
    {"lines", "ablate|attribute|heads|lens|run|score", NULL, SINCE "--items-format lines"},
    {"ablate-mean", NULL, "HEADS", SINCE "--ablate mean:HEADS"},
    {"ablate-pattern", NULL, NULL,
     SINCE "--ablate pattern:L.H, or uniform:HEADS for equal weights"},
    {"parts", "ablate", NULL, SINCE "--by head|attn|mlp|layer|neuron:L"},
    {"order", "heads", NULL,
     SINCE "heads come by layer; order --csv FILE with scipy.cluster.hierarchy"},
    {"headvis", "examples", NULL, SINCE "data/recipes/headvis.py writes the folder from --json"},
    {"layers", "ablate|heads", NULL, "--heads '2.*' for all heads of layer 2"},
    {"tolerance|relative-tolerance", "diff", NULL,
     SINCE "numpy.allclose compares the arrays of two .npz files"},
    {"per", "score", NULL, SINCE "--by text|token|word"},
    {"layer", "align", "SPEC", SINCE "--layers SPEC"},
    {"site", "heads", NULL, SINCE "attn-cli run --sites mixing|mixing_norm has the numbers"},
    {"rows", "align", NULL, SINCE "--shifted for the row of the token before; both in two runs"},
    {"unit", "align", NULL, SINCE "--by token|word"},
    {"compare", NULL, "KIND", SINCE "attn-cli diff --with-attention KIND"},
    {"live-limit", "run", "MIB", SINCE "--live=MIB"},
    {"max-span", "run", NULL, SINCE "spans of --top have at most 15 tokens"},
    {"add", NULL, NULL, SINCE "each run has a DIR of its own"},
    {"full", "run|attend|generate", NULL, SINCE "--csv DIR, --tidy FILE or --npz FILE writes all"},
    {"hide-first", NULL, NULL, SINCE "--hide first"},
    {"raw", NULL, NULL, SINCE "a text may end in a newline: --sentence $'TEXT\\n'"},
    {"a-ids", "diff", "LIST", SINCE "--ids LIST"},
    {"id", "run|attend|generate", NULL, SINCE "--items FILE has an id for each text"},
    {"cell|color-scale|font|values", NULL, NULL,
     SINCE "figures choose it by their size: --style figure-width=85mm"},
    {"one-based", "align", NULL, SINCE "--gold FILE:1"},
    {"sync", NULL, NULL, SINCE "--resume goes on with the rows that are there"},
    {"jacobian|fit|skip|first", "lens", NULL, SINCE "--map DIR reads what other programs fitted"},
    /* of `batch`, which is `run --items` now */
    {"fields", "run", NULL,
     SINCE "--jsonl FILE has the ids, tokens, and what --sites, --top, --next ask for"},
    {"edges|edges-per-query", "run", NULL, SINCE "--items FILE --sites pattern --csv FILE"},
    {"labels|id-key|text-key", "run", NULL,
     SINCE "items have 'id' and 'text', and all else are labels"},
    {"max-line|progress", "run", NULL, SINCE "items need it no more"},
    {"sites", "patch", "SITE", SINCE "--site SITE, one in each run"},
    {"max-tokens", "generate", NULL, "-n N for the tokens to write; --max-input N for the text"},
    {"max-tokens", NULL, "N", SINCE "--max-input N"},
    {"max-new-tokens", "generate", "N", "-n N"},
    {"max-new-tokens", NULL, NULL, "attn-cli generate -n N"},
    {"temp", NULL, "X", "--temperature X"},
    {"jsonl|tidy", "tokenize|inspect|help", NULL, "--json FILE"},
    {"format|output-format", NULL, NULL, "--csv FILE, --json FILE; - is standard output"},
    {"rollout", NULL, NULL, "--sites rollout"},
    {"rollout", NULL, NULL, "attn-cli run --sites rollout"},
    {"output-attentions|attentions", "run", NULL, "--npz FILE, --json FILE write the patterns"},
    {"output-attentions|attentions", NULL, NULL, "attn-cli run --npz FILE"},
    {"output-hidden-states", NULL, NULL, "--sites 'resid_*'"},
    {"names-filter|hook|hooks|cache", NULL, NULL, "--sites LIST"},
    {"query|tokens|positions", "run", "LIST", "--queries LIST"},
    {"heatmap", TABLES, NULL, SINCE "--svg FILE, --png FILE or --html FILE draws the table"},
    {"color", TABLES, NULL, SINCE "tables have no colors; --style theme=dark for pictures"},
    {"plot|show|view|visualize|draw", NULL, NULL, "--heatmap, --svg FILE, --html FILE"},
    {"plot|show|view|visualize|draw", NULL, NULL, "--svg FILE, --html FILE"},
    {"serve|interactive|browser|ui", NULL, NULL, "--live --html FILE"},
    {"model-path|model-name|model-id|pretrained|hf-repo|checkpoint", NULL, "MODEL", "-m MODEL"},
    {"gpu|cuda|n-gpu-layers|device-map", NULL, NULL, "it runs on the CPU; --threads N"},
    {"torch-dtype|bf16|precision-type", NULL, NULL, "--compute f32|bf16"},
    {"top-k|topk", NULL, "K", "--top K"},
    {"n-predict|max-length|n-tokens", "generate", "N", "-n N"},
    {"n-predict|max-length|n", NULL, NULL, "attn-cli generate -n N"},
    {"output|out|save|o", NULL, NULL, "--csv, --json and other outputs name a file each"},
    {"at", "lens", "POS", "--queries POS"},
    {"seed", "run|attend", "SEED", "--attention dropout=P:SEED"},
    {"device", NULL, NULL, "it runs on the CPU; --threads N sets the number of threads"},
    {"dtype", NULL, NULL, "--compute f32|bf16"},
    {"lora", NULL, "DIR", "--adapter DIR"},
    {"induction", NULL, NULL, "attn-cli probe induction"},
    {"probe", "heads", "KIND", SINCE "attn-cli probe KIND"},
    {"runs", "heads", "N", SINCE "attn-cli probe induction --runs N"},
    {"span", "spans", "SPEC", "--positions NAME=SPEC gives the span a name"},
    {"span", NULL, "SPEC", "attn-cli spans --positions NAME=SPEC"},
    {"input", NULL, "FILE", "--file FILE for a text, --items FILE for many"},
    {"input", NULL, "FILE", "--file FILE"},
    {"texts", NULL, "FILE", "--items FILE"},
    {"text|p", "patch", NULL, "--clean TEXT --corrupted TEXT"},
    {"text", NULL, "TEXT", "--sentence TEXT, or the text alone"},
    {"ids", "patch", NULL, "--clean ids:LIST --corrupted ids:LIST"},
    {"parts", "patch", NULL, "--site SITE names what is patched, --by head|position the rows"},
};

/* Returns true if a shell takes TEXT as it is. */
static bool is_plain(const char *text)
{
    return !text[strcspn(text, " \t\n\"$&();<>|*?[]#~`\\")];
}

/* Appends FORM. PLACEHOLDER in it is replaced by VALUE, quoted if necessary. */
static void append_form(const char *form, const char *placeholder, const char *value,
                        char hint[FORMER_HINT_SIZE], size_t *used)
{
    const char *at = placeholder && value ? strstr(form, placeholder) : NULL;
    const char *quote = !at || is_plain(value) ? "" : "'";
    const bool is_one = at && strcmp(placeholder, "SITE") == 0; /* the first of a list */
    const size_t n = !at ? 0 : is_one ? strcspn(value, ",") : strlen(value);

    if (!at || strlen(value) > FORMER_HINT_SIZE / 4 || value[strcspn(value, "'\n\r\t\033")])
        attn_fixed_text_append(hint, FORMER_HINT_SIZE, used, "%s", form);
    else
        attn_fixed_text_append(hint, FORMER_HINT_SIZE, used, "%.*s%s%.*s%s%s", (int)(at - form),
                               form, quote, (int)n, value, quote, at + strlen(placeholder));
}

/* Returns true if COMMAND has all options that FORM names, or FORM is another command. */
static bool fits(const struct command *command, const char *form)
{
    struct option_walk walk;
    size_t size;

    if (strstr(form, "attn-cli "))
        return true;
    for (const char *at = form; (at = strstr(at, "--")) != NULL; at += size + 2) {
        size = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
        walk = (struct option_walk){.command = command};
        if (!option_find(&walk, NULL, at + 2, size))
            return false;
    }
    return true;
}

/* Writes the form of a setting, --style 'dpi=300', or of an input, --target ids:5. */
static void form_setting(const struct option_walk *setting, const char *value,
                         char hint[FORMER_HINT_SIZE])
{
    const bool is_flag = setting->param->type == ATTN_PARAM_FLAG;
    const struct attn_param *param = setting->param;
    /* What followed the option of this name need not be its value. */
    const bool may_be = value && (param->type == ATTN_PARAM_TEXT || param->prefix ||
                                  (!strchr(value, ' ') && (param->type != ATTN_PARAM_CHOICE ||
                                                           word_find(param->words, value) >= 0)));
    const char *shown =
        !may_be || strlen(value) > FORMER_HINT_SIZE / 4 || value[strcspn(value, "'\"\n\r\t\033")]
            ? option_argument(param)
            : value;
    const char *quote = !is_flag && strchr(shown, ' ') ? "\"" : "";
    size_t used = 0;

    attn_fixed_text_append(hint, FORMER_HINT_SIZE, &used, SINCE "--%s ", setting->param->of);
    if (param->prefix)
        attn_fixed_text_append(hint, FORMER_HINT_SIZE, &used, "%s%s%s%s",
                               is_plain(shown) ? "" : "'", param->prefix, shown,
                               is_plain(shown) ? "" : "'");
    else if (is_flag)
        attn_fixed_text_append(hint, FORMER_HINT_SIZE, &used, "%s", setting->name);
    else
        attn_fixed_text_append(hint, FORMER_HINT_SIZE, &used, "'%s=%s%s%s'", setting->name, quote,
                               shown, quote);
}

const char *former_command(const char *name)
{
    return strcmp(name, "bench") == 0 ? SINCE
               "make bench-parts BENCH_ARGS='--model fable' in the source tree"
                                      : NULL;
}

bool former_hint(const struct command *command, const char *name, size_t size, const char *value,
                 char hint[FORMER_HINT_SIZE])
{
    struct option_walk setting = {.command = command};
    char dashed[32];
    size_t used = 0;

    snprintf(dashed, sizeof dashed, "%.*s", (int)size, name);
    for (char *at = dashed; (at = strchr(at, '_')) != NULL;)
        *at = '-';
    while (option_next(&setting))
        if (setting.param->of && strlen(setting.name) == size &&
            memcmp(setting.name, name, size) == 0) {
            form_setting(&setting, value, hint);
            return true;
        }
    for (size_t i = 0; i < sizeof formers / sizeof *formers; i++) {
        const char *commands = formers[i].commands;

        if (word_find(formers[i].names, dashed) < 0 ||
            (commands && word_find(commands, command->name) < 0) || !fits(command, formers[i].form))
            continue;
        append_form(formers[i].form, formers[i].placeholder, value, hint, &used);
        return true;
    }
    return false;
}
