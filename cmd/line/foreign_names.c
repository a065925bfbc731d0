/* foreign_names.c - see foreign_names.h. */
#include "cmd/line/foreign_names.h"

#include "cmd/line/options_internal.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

/* Commands that print tables. */
#define TABLES "heads|sinks|lens|spans|align|examples|ablate|patch|circuit|attribute|score|diff"

/* An option of other programs, or one that people try first. */
static const struct {
    const char *names;       /* "input|items"; for one letter, the option -o */
    const char *commands;    /* commands for which the row holds, "align|score"; NULL: all */
    const char *placeholder; /* a word of `form` that is replaced by the typed value; NULL: none */
    const char *form;        /* what to write instead */
} foreign[] = {
    {"layers", "ablate|heads", NULL, "--heads '2.*' for all heads of layer 2"},
    {"merge-words", "score", NULL, "--by word; of items --by word --measures surprisal"},
    {"max-tokens", "generate", NULL, "-n N for the tokens to write; --max-input N for the text"},
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
    {"plot|show|view|visualize|draw", NULL, NULL, "--heatmap, --svg FILE, --html FILE"},
    {"plot|show|view|visualize|draw", NULL, NULL, "--svg FILE, --html FILE"},
    {"serve|interactive|browser|ui", NULL, NULL, "--live --html FILE"},
    {"model-path|model-name|model-id|pretrained|hf-repo|checkpoint", NULL, "MODEL", "-m MODEL"},
    {"gpu|cuda|device|n-gpu-layers|device-map", NULL, NULL, "it runs on the CPU; --threads N"},
    {"torch-dtype|dtype|bf16|precision-type", NULL, NULL, "--compute f32|bf16"},
    {"top-k|topk", NULL, "K", "--top K"},
    {"n-predict|max-length|max-new-tokens|n-tokens", "generate", "N", "-n N"},
    {"n-predict|max-length|max-new-tokens|n", NULL, NULL, "attn-cli generate -n N"},
    {"output|out|save|o", NULL, NULL, "--csv, --json and other outputs name a file each"},
    {"at", "lens", "POS", "--queries POS"},
    {"seed", "run|attend", "SEED", "--attention dropout=P:SEED"},
    {"lora", NULL, "DIR", "--adapter DIR"},
    {"induction", NULL, NULL, "attn-cli probe induction"},
    {"span", "spans", "SPEC", "--positions NAME=SPEC gives the span a name"},
    {"span", NULL, "SPEC", "attn-cli spans --positions NAME=SPEC"},
    {"input", NULL, "FILE", "--file FILE for a text, --items FILE for many"},
    {"input", NULL, "FILE", "--file FILE"},
    {"texts", NULL, "FILE", "--items FILE"},
    {"text|p|prompt", "patch", NULL, "--clean TEXT --corrupted TEXT"},
    {"text|prompt", NULL, "TEXT", "--sentence TEXT, or the text alone"},
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
                        char hint[FOREIGN_HINT_SIZE], size_t *used)
{
    const char *at = placeholder && value ? strstr(form, placeholder) : NULL;
    const char *quote = !at || is_plain(value) ? "" : "'";
    const size_t n = at ? strlen(value) : 0;

    if (!at || strlen(value) > FOREIGN_HINT_SIZE / 4 || value[strcspn(value, "'\n\r\t\033")])
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, used, "%s", form);
    else
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, used, "%.*s%s%.*s%s%s", (int)(at - form),
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

/* Writes the form of a setting, --style 'dpi=300'. */
static void form_setting(const struct option_walk *setting, const char *value,
                         char hint[FOREIGN_HINT_SIZE])
{
    const bool is_flag = setting->param->type == ATTN_PARAM_FLAG;
    const struct attn_param *param = setting->param;
    /* What followed the option of this name need not be its value. */
    const bool may_be = value && (param->type == ATTN_PARAM_TEXT ||
                                  (!strchr(value, ' ') && (param->type != ATTN_PARAM_CHOICE ||
                                                           word_find(param->words, value) >= 0)));
    const char *shown =
        !may_be || strlen(value) > FOREIGN_HINT_SIZE / 4 || value[strcspn(value, "'\"\n\r\t\033")]
            ? option_argument(param)
            : value;
    const char *quote = !is_flag && strchr(shown, ' ') ? "\"" : "";
    size_t used = 0;

    attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, &used, "--%s ", setting->param->of);
    if (is_flag)
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, &used, "%s", setting->name);
    else
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, &used, "'%s=%s%s%s'", setting->name, quote,
                               shown, quote);
}

bool foreign_hint(const struct command *command, const char *name, size_t size, const char *value,
                  char hint[FOREIGN_HINT_SIZE])
{
    struct option_walk setting = {.command = command};
    char dashed[32];
    size_t used = 0;

    snprintf(dashed, sizeof dashed, "%.*s", (int)size, name);
    for (char *at = dashed; (at = strchr(at, '_')) != NULL;)
        *at = '-';
    while (option_next(&setting))
        if (setting.param->of && !setting.param->prefix && strlen(setting.name) == size &&
            memcmp(setting.name, name, size) == 0) {
            form_setting(&setting, value, hint);
            return true;
        }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const char *commands = foreign[i].commands;

        if (word_find(foreign[i].names, dashed) < 0 ||
            (commands && word_find(commands, command->name) < 0) || !fits(command, foreign[i].form))
            continue;
        append_form(foreign[i].form, foreign[i].placeholder, value, hint, &used);
        return true;
    }
    return false;
}
