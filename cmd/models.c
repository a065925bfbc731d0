/* models.c - attn-cli models: lists the models that -m finds by name, and says which of them can be
 * run. */
#include "cmd/args/model.h"
#include "cmd/args/outputs.h"
#include "cmd/line/command.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>

struct models_args {
    struct tables_args tables;
};

static const struct attn_param_part parts[] = {
    {&attn_table_order_params, offsetof(struct models_args, tables.order)},
    TABLES_OPTIONS(offsetof(struct models_args, tables.output)),
};

static enum attn_status tabulate(size_t i, struct command_table *shown, struct attn_error *err)
{
    shown->has_row_types = true;
    return i == 0 ? attn_catalog_list(NULL, &shown->table, err) : ATTN_OK;
}

/* The columns of the text. ABOUT also shows the column PROBLEM if the model cannot be run, or else
 * its size. JSON and CSV have all columns of the table. */
enum {
    NAME,
    ORIGIN,
    FAMILY,
    PARAMETERS,
    ABOUT,
    N_COLUMN,
    PROBLEM = N_COLUMN,
    BITS = PROBLEM + 3,
    BYTES
};

/* Appends a printable text, or a number in groups of three digits. A missing value is left
 * empty. */
static void add_cell(struct attn_text_table *text, const struct attn_cell *cell)
{
    char count[ATTN_QUANTITY_SIZE];

    if (cell->type == ATTN_VALUE_INTEGER)
        attn_text_table_string(text, attn_quantity_count((uint64_t)cell->integer, count));
    else
        attn_text_table_string(text, attn_quote(cell->text ? cell->text : "", cell->size).text);
}

/* Appends what is known about a model, for example "trained on English", "cannot read: mamba" or
 * "4.83 bits a weight, 770.3 MiB". */
static void add_about(struct attn_text_table *text, const struct attn_table *table, size_t row)
{
    struct attn_cell cell = attn_table_cell(table, row, ABOUT);
    const struct attn_cell bytes = attn_table_cell(table, row, BYTES);
    char size[ATTN_QUANTITY_SIZE], about[ATTN_QUANTITY_SIZE + 40];

    if (cell.type == ATTN_VALUE_MISSING)
        cell = attn_table_cell(table, row, PROBLEM);
    if (cell.type == ATTN_VALUE_MISSING && bytes.type == ATTN_VALUE_INTEGER) {
        snprintf(about, sizeof about, "%.3g bits a weight, %s",
                 attn_table_cell(table, row, BITS).real,
                 attn_quantity_bytes((uint64_t)bytes.integer, size));
        attn_text_table_string(text, about);
    } else {
        add_cell(text, &cell);
    }
}

static enum attn_status print_text_table(const struct attn_table *table, struct attn_sink *out,
                                         struct attn_error *err)
{
    struct attn_text_table text = {0};
    enum attn_status status;

    attn_text_table_begin(&text, N_COLUMN);
    for (size_t column = 0; column < N_COLUMN; column++) {
        if (column != PARAMETERS)
            attn_text_table_flush_left(&text, column);
        attn_text_table_string(&text, attn_table_column(table, column)->name);
    }
    for (size_t row = 0; row < attn_table_n_row(table); row++)
        for (size_t column = 0; column < N_COLUMN; column++) {
            struct attn_cell cell = attn_table_cell(table, row, column);

            if (column == ABOUT)
                add_about(&text, table, row);
            else
                add_cell(&text, &cell);
        }
    status = attn_text_table_write(&text, out, err);
    attn_text_table_release(&text);
    return status;
}

static enum attn_status print_models(const struct model_catalog *catalog,
                                     const struct tables_args *args, struct attn_sink *out,
                                     struct attn_error *err)
{
    struct attn_table *table = NULL;
    enum attn_status status =
        at_stage(ATTN_STAGE_NONE, attn_catalog_list(&catalog->catalog, &table, err), err);

    ATTN_THEN(status, tables_sort(args, &table, err));
    ATTN_THEN(status, outputs_are_wanted(&args->output) || args->order.columns
                          ? tables_write(args, table, &(struct attn_table_picture){.model = NULL},
                                         0, out, err)
                          : at_stage(ATTN_STAGE_OUTPUT, print_text_table(table, out, err), err));
    attn_table_free(table);
    return status;
}

static enum attn_status list_models(struct call *call, struct attn_error *err)
{
    const struct models_args *args = call->args;
    struct model_catalog catalog;
    enum attn_status status;

    ATTN_TRY(tables_check(call, &args->tables, ATTN_FIGURE_DEFAULT, err));
    status = model_catalog_open(&catalog, err);
    ATTN_THEN(status, print_models(&catalog, &args->tables, call->out, err));
    model_catalog_release(&catalog);
    return status;
}

const struct command command_models = {
    .name = "models",
    .summary = "the models that -m finds by name, and what they are",
    .usage = "[OPTIONS]",
    .description =
        "Lists the models that -m finds by name: those built into the program, those\n"
        "shipped with it or in the folders of ATTN_CLI_MODEL_PATH, those in the Hugging\n"
        "Face cache (HF_HUB_CACHE, HF_HOME, ~/.cache/huggingface/hub), in the folder of\n"
        "LM Studio (~/.lmstudio/models) and in the stores of Ollama (OLLAMA_MODELS,\n"
        "~/.ollama/models). A GGUF file has a tag in its name, as in OWNER/NAME:Q4_K_M.\n"
        "Prints the family and the number of parameters of each, and what it is if it\n"
        "comes with the program, else the bits of a weight and the size of its files, or\n"
        "why it cannot be run. Only configs and the headers of weight files are read.\n"
        "In files a model also has its directory or GGUF file, and the whole message.\n"
        "\n"
        "Types of models, `model_type` in config.json, that can be read:\n"
        "gpt2, gpt_neo, gpt_neox, gptj, codegen, gpt_bigcode, opt, llama, mistral,\n"
        "ministral, qwen2, qwen3, gemma, gemma2, gemma3_text, gemma4_text, phi, phi3,\n"
        "smollm3, granite, olmo, olmo2, olmo3, stablelm, starcoder2, cohere, cohere2,\n"
        "glm, glm4, helium, exaone4, ministral3, ernie4_5, hunyuan_v1_dense, arcee,\n"
        "apertus, nemotron, seed_oss, internlm3, xglm, bloom, mpt, falcon, mixtral,\n"
        "qwen2_moe, qwen3_moe, olmoe, granitemoe, granitemoeshared, granitemoehybrid,\n"
        "phimoe, gpt_oss, lfm2, lfm3, qwen3_5_text, qwen3_next, bamba, falcon_h1,\n"
        "nemotron_h, nanochat; bert, roberta, xlm-roberta, camembert, mpnet, deberta-v2,\n"
        "distilbert, electra, albert, modernbert, nomic_bert, jina_embeddings_v3,\n"
        "eurobert, esm; t5, mt5, umt5, bart, mbart, marian, pegasus, m2m_100,\n"
        "blenderbot, whisper; vit, deit, dinov2, dinov2_with_registers, dinov3_vit,\n"
        "clip, clip_text_model, clip_vision_model, siglip, siglip_text_model,\n"
        "siglip_vision_model; attn; qwen2_vl_text, qwen2_5_vl_text, qwen3_vl_text,\n"
        "qwen3_vl_moe_text; with pictures beside texts smolvlm, idefics3, gemma3,\n"
        "paligemma, qwen2_vl, qwen2_5_vl, qwen3_vl, llava, llava_next, llava_onevision,\n"
        "internvl, mistral3. Of others that read pictures or sound, the part that reads\n"
        "texts: shieldgemma2, idefics2, vipllava, llava_next_video, video_llava, ovis2,\n"
        "qwen3_vl_moe, gemma4, qwen3_5, aya_vision, cohere2_vision, voxtral,\n"
        "qwen2_audio, granite_speech.\n",
    .examples = "  attn-cli models\n"
                "  attn-cli models --json - | jq -r '.rows[] | select(.problem == null) | .name'\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct models_args),
    .defaults = &(const struct models_args){.tables = TABLES_ARGS_DEFAULT},
    .work = list_models,
    .tabulate = tabulate,
};
