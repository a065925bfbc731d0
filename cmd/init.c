/* init.c - attn-cli init: makes a model directory with seeded random weights, and a vocabulary from
 * a text. */
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

struct init_args {
    struct text_list directories; /* exactly one */
    const char *config;
    struct text_list settings;
    const char *text; /* its words are the vocabulary */
    const char *drop;
    int split; /* index in "word|char" */
    struct text_list draws;
    uint64_t seed;
    size_t embedding_rows;
};

static const struct attn_param architecture_rows[] = {
    OPTION_TEXTS(NULL, "DIR", struct init_args, directories, NULL),
    ATTN_PARAM(TEXT, "config", "FILE", struct init_args, config,
               "begin with this config.json; default: model_type attn alone"),
    OPTION_TEXTS("set", "KEY=VALUE", struct init_args, settings,
                 "set a key of the config: d_model=3, causal=false, norm=layernorm, "
                 "blocks=self,cross; may be given several times"),
};

static const struct attn_param vocabulary_rows[] = {
    ATTN_PARAM(TEXT, "vocab-from", "TEXT", struct init_args, text,
               "make a vocabulary of the words of TEXT, sorted by code point and numbered; "
               "without a vocabulary the model takes ids only"),
    ATTN_PARAM(TEXT, "drop", "CHARS", struct init_args, drop,
               "characters that are dropped, here and in every text of the model"),
    ATTN_PARAM(CHOICE, "split", NULL, struct init_args, split,
               "split texts at white space (word, default), or into characters (char)",
               .words = "word|char"),
};

static const struct attn_param weights_rows[] = {
    OPTION_TEXTS("draw", "GROUP=DIST[@SEED]", struct init_args, draws,
                 "draw a group of weights; groups are drawn in the given order, then all others "
                 "as gpt2. May be repeated"),
    ATTN_PARAM(SEED, "seed", "S", struct init_args, seed, "seed of the generator; default: 0",
               .most = INT64_MAX),
    ATTN_PARAM(COUNT, "embedding-rows", "N", struct init_args, embedding_rows,
               "draw an embedding of N rows and keep the first ones, one for each token: the "
               "numbers depend on the size of the table",
               .least = 1, .most = INT32_MAX),
};

static const struct attn_param_part parts[] = {
    {OPTION_LIST("Architecture", architecture_rows), 0},
    {OPTION_LIST("Vocabulary", vocabulary_rows), 0},
    {OPTION_LIST("Weights", weights_rows), 0},
};

static enum attn_status check(const struct init_args *args, struct attn_error *err)
{
    if (args->directories.n == 0)
        return refuse(err, "attn-cli init toy --set d_model=8 --vocab-from \"a b c\"",
                      "no directory given");
    if (args->directories.n > 1)
        return refuse(err, NULL, "'init' makes one directory, got '%s' and '%s'",
                      args->directories.items[0], args->directories.items[1]);
    if ((args->drop || args->split) && !args->text)
        return refuse(err, "--vocab-from TEXT gives the vocabulary",
                      "'`%s`' is given without a vocabulary", args->drop ? "drop" : "split");
    return ATTN_OK;
}

/* Reads the words of the text that ARGS name. Without a text there are no words. */
static enum attn_status read_words(const struct init_args *args, struct attn_word_list *words,
                                   struct attn_error *err)
{
    if (!args->text)
        return ATTN_OK;
    return at_stage(
        ATTN_STAGE_INPUT,
        attn_word_list_read(words, args->text, strlen(args->text),
                            args->split ? ATTN_TOKENIZER_CHARACTER : ATTN_TOKENIZER_WORD,
                            args->drop ? args->drop : "", err),
        err);
}

static enum attn_status work(const struct init_args *args, struct attn_word_list *words,
                             struct attn_draw *draws, struct attn_error *err)
{
    struct attn_init_options options = {
        .size = sizeof options,
        .config = args->config,
        .settings = args->settings.items,
        .n_setting = args->settings.n,
        .draws = draws,
        .n_draw = args->draws.n,
        .seed = args->seed,
        .n_embedding_row = args->embedding_rows,
    };
    struct attn_init *made;
    enum attn_status status;

    ATTN_TRY(check(args, err));
    ATTN_TRY(read_words(args, words, err));
    options.words = words->n > 0 ? words : NULL;
    for (size_t i = 0; i < args->draws.n; i++)
        ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS, attn_draw_parse(args->draws.items[i], &draws[i], err),
                          err));
    status = attn_init_create(&options, &made, err);
    if (status != ATTN_OK) /* only a file can be unreadable */
        return at_stage(args->config && status != ATTN_INVALID ? ATTN_STAGE_MODEL
                                                               : ATTN_STAGE_OPTIONS,
                        status, err);
    interrupt_catch(); /* from here on, temporary files must be removed on an interrupt */
    status = attn_init_write(made, args->directories.items[0], err);
    attn_init_free(made);
    return at_stage(ATTN_STAGE_OUTPUT, status, err);
}

static enum attn_status init(struct call *call, struct attn_error *err)
{
    const struct init_args *args = call->args;
    struct attn_word_list words = {0};
    struct attn_draw *draws = calloc(args->draws.n + 1, sizeof *draws);
    const enum attn_status status =
        draws ? work(args, &words, draws, err) : attn_error_no_memory(err);

    attn_word_list_release(&words);
    free(draws);
    return status;
}

const struct command command_init = {
    .name = "init",
    .summary = "make a model directory with seeded weights",
    .usage = "DIR [OPTIONS]",
    .description =
        "Writes config.json, vocab.json and model.safetensors into DIR, which must be\n"
        "absent or empty. The numbers are those of PyTorch's CPU generator (a build\n"
        "without AVX2) after torch.manual_seed(SEED).\n"
        "\n"
        "GROUP is embed, pos, heads (W_Q, W_K, W_V of one head after the other), qkv (W_Q\n"
        "of all heads, then W_K, then W_V), W_O, mlp or unembed. DIST is randn or\n"
        "randn:STD, normal:MEAN:STD, rand (from 0 to 1), randperm (0 to n-1 in any order,\n"
        "for each matrix), linear (as nn.Linear begins, with its bias) or gpt2 (normal,\n"
        "0.02). With @SEED the generator begins anew, otherwise it goes on.\n"
        "Norms begin as 1 and 0, biases as 0; --set bias=true gives every map one.\n",
    .examples =
        "  attn-cli init toy --set d_model=8 --set n_head=2 --vocab-from \"to be or not\"\n"
        "  attn-cli init life --vocab-from \"Life is short, eat dessert first\" --drop , \\\n"
        "      --set d_model=3 --set d_head=2 --set d_value=4 \\\n"
        "      --draw embed=randn@123 --embedding-rows 50000 --draw heads=rand@123\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct init_args),
    .work = init,
};
