#include "foreign/tensor_names.h"

#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "formats/tensor_files.h"
#include "model/weights.h"

#include <stdio.h>
#include <string.h>

/* What torch.compile, FSDP and checkpoints of activations put before any part of a name, and
 * DataParallel, peft, Lightning Fabric, DeepSpeed and trl in front of it. */
static const char *const wraps[] = {
    "_orig_mod.",       "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.",
    "module.",          "base_model.model.",     "_forward_module.",
    "pretrained_model."};

enum { N_ANYWHERE = 3, N_WRAP = sizeof wraps / sizeof *wraps };
static const char lightning[] = "model.", head[] = "lm_head.", connector[] = "connector.";

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Returns the number of the wrap that NAME begins with, or N_WRAP. */
static size_t find_wrap(const char *name, bool is_in_front)
{
    size_t i = 0;

    while (i < N_WRAP && !(begins(name, wraps[i]) && (is_in_front || i < N_ANYWHERE)))
        i++;
    return i;
}

/* An attn_tensor_rename_fn that leaves out all wraps. USER: whether each was found. */
static bool unwrap(void *user, const char *name, char *renamed)
{
    bool *found = user, is_in_front = true;

    while (*name) {
        const size_t i = find_wrap(name, is_in_front), size = strcspn(name, ".");
        const size_t n = size + (name[size] == '.');

        if (i < N_WRAP) {
            found[i] = true;
            name += strlen(wraps[i]);
            continue;
        }
        memcpy(renamed, name, n);
        renamed += n, name += n;
        is_in_front = false;
    }
    *renamed = '\0';
    return true;
}

static bool strip_lightning(void *user, const char *name, char *renamed)
{
    (void)user;
    name += begins(name, lightning) ? strlen(lightning) : 0;
    memcpy(renamed, name, strlen(name) + 1);
    return true;
}

static bool has_wraps(const struct attn_tensor_files *files)
{
    bool is_wrapped = false;

    for (size_t i = 0; i < attn_tensor_files_count(files) && !is_wrapped; i++) {
        const char *name = attn_tensor_files_entry(files, i).name;

        is_wrapped = find_wrap(name, true) < N_WRAP;
        for (; *name && !is_wrapped; name += strcspn(name, "."), name += *name == '.')
            is_wrapped = find_wrap(name, false) < N_WRAP;
    }
    return is_wrapped;
}

/* Refuses a model that peft wrapped and that still has its adapter beside the weights. */
static enum attn_status refuse_adapter(const struct attn_tensor_files *files,
                                       struct attn_error *err)
{
    for (size_t i = 0; i < attn_tensor_files_count(files); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);

        if (!strstr(entry.name, ".base_layer.") &&
            !(begins(entry.name, "base_model.model.") && strstr(entry.name, "lora_")))
            continue;
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is a model with an adapter inside ('%s'), expected one or the other",
                       attn_quote_string(attn_tensor_files_path(files, entry.shard)).text,
                       attn_quote_string(entry.name).text);
        attn_error_hint(err, "in peft, merge_and_unload() first, then save_pretrained()");
        return ATTN_UNSUPPORTED;
    }
    return ATTN_OK;
}

/* Whether all tensors of NAMING have lightning's prefix: the first has, and has no other. */
static bool is_of_lightning(const struct attn_tensor_files *files, const struct attn_family *naming)
{
    const char *prefix = naming->prefix ? naming->prefix : "";
    char with[ATTN_WEIGHT_NAME_SIZE];

    snprintf(with, sizeof with, "%s%s", lightning, prefix);
    return !attn_weights_are_named(naming, NULL, files) &&
           (attn_weights_are_named(naming, with, files) ||
            attn_weights_are_named(naming, lightning, files));
}

/* What may be in front of the names of a text part. The first that is found counts. */
static const char *const of_parts[] = {"model.language_model.",
                                       "language_model.model.",
                                       "model.language_model.model.",
                                       "language_model.model.model.",
                                       "model.text_model.",
                                       "model.llm.",
                                       "model.",
                                       "",
                                       "language_model.",
                                       "text_model."};
static const char *const of_heads[] = {"", "language_model.", "model.language_model."};

/* The same for the tower that reads pictures, and for its connector. */
static const char *const of_towers[] = {"model.vision_model.", "vision_model.",
                                        "model.visual.",       "visual.",
                                        "vision_tower.",       "vision_tower.vision_model.",
                                        "model.vision_tower.", "model.vision_tower.vision_model."};
static const char *const of_connectors[] = {
    "model.connector.", "connector.", "multi_modal_projector.", "model.multi_modal_projector."};
static const char *const of_line_ends[] = {"image_newline", "model.image_newline"};

enum {
    N_PART = sizeof of_parts / sizeof *of_parts,
    N_HEAD = sizeof of_heads / sizeof *of_heads,
    N_TOWER = sizeof of_towers / sizeof *of_towers,
    N_CONNECTOR = sizeof of_connectors / sizeof *of_connectors,
    N_LINE_END = sizeof of_line_ends / sizeof *of_line_ends
};

/* The beginnings of names in a file, and what takes their place. */
struct part_names {
    struct {
        char prefix[ATTN_WEIGHT_NAME_SIZE];
        const char *renamed;
    } parts[5];
    size_t n;
};

static bool take_part(void *user, const char *name, char *renamed)
{
    const struct part_names *names = user;

    for (size_t i = 0; i < names->n; i++)
        if (begins(name, names->parts[i].prefix)) {
            const char *rest = name + strlen(names->parts[i].prefix);
            const size_t n = strlen(names->parts[i].renamed);

            memcpy(renamed, names->parts[i].renamed, n);
            memcpy(renamed + n, rest, strlen(rest) + 1);
            return true;
        }
    return false;
}

/* Looks for NAME after LEAD and each of the N prefixes of LIST. Writes the first to PREFIX. */
static bool find_prefix(const struct attn_tensor_files *files, const char *lead,
                        const char *const *list, size_t n, const char *name,
                        char prefix[ATTN_WEIGHT_NAME_SIZE])
{
    char whole[2 * ATTN_WEIGHT_NAME_SIZE];

    for (size_t i = 0; i < n; i++) {
        snprintf(prefix, ATTN_WEIGHT_NAME_SIZE, "%s%s", lead, list[i]);
        snprintf(whole, sizeof whole, "%s%s", prefix, name);
        if (attn_tensor_files_find(files, whole, NULL))
            return true;
    }
    return false;
}

/* Appends to NAMES the prefixes of the tower TOWER, of its connector and of the row after each
 * line, if FILES has them. RENAMED is no longer than a prefix, as there is no more room for names.
 */
static void find_tower(const struct attn_tensor_files *files, const char *lead,
                       const struct attn_family *tower, struct part_names *names)
{
    const struct attn_weight_rule *rule = tower->rules, *end = rule + tower->n_rule;

    while (rule < end && rule->part != ATTN_PART_CONNECTOR)
        rule++;
    if (!find_prefix(files, lead, of_towers, N_TOWER, tower->rules[0].name,
                     names->parts[names->n].prefix))
        return;
    names->parts[names->n++].renamed = tower->prefix;
    if (find_prefix(files, lead, of_connectors, N_CONNECTOR, strchr(rule->name, '.') + 1,
                    names->parts[names->n].prefix))
        names->parts[names->n++].renamed = connector;
    if (find_prefix(files, lead, of_line_ends, N_LINE_END, "", names->parts[names->n].prefix))
        names->parts[names->n++].renamed = of_line_ends[0];
}

static enum attn_status read_part(struct attn_tensor_files *files, const struct attn_family *tower,
                                  struct attn_error *err)
{
    static const char *const leads[] = {"", lightning};
    struct part_names names = {.n = 0};

    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        char prefix[ATTN_WEIGHT_NAME_SIZE], *of_head = names.parts[0].prefix;

        if (!find_prefix(files, leads[i], of_parts, N_PART, "embed_tokens.weight", prefix))
            continue;
        if (!find_prefix(files, leads[i], of_heads, N_HEAD, "lm_head.weight", of_head))
            of_head[0] = '\0';
        snprintf(of_head + strlen(of_head), sizeof head, "%s", head);
        names.parts[names.n++].renamed = head;
        if (tower)
            find_tower(files, leads[i], tower, &names);
        memcpy(names.parts[names.n].prefix, prefix, sizeof prefix);
        names.parts[names.n++].renamed = ""; /* the last one: it may be empty, or "model." */
        return attn_tensor_files_rename(files, take_part, &names, err);
    }
    return attn_error_set(err, ATTN_FORMAT,
                          "'embed_tokens.weight' is missing in '%s', under '%s' and other prefixes "
                          "of a text part",
                          attn_quote_string(attn_tensor_files_path(files, 0)).text, of_parts[0]);
}

const char *attn_tensor_names_of_part(const char *name)
{
    size_t most = 0;

    for (size_t i = 0; i < N_PART; i++)
        if (begins(name, of_parts[i]) && strlen(of_parts[i]) > most)
            most = strlen(of_parts[i]);
    return name + most;
}

enum attn_status attn_tensor_names_read(struct attn_model *model,
                                        const struct attn_model_options *options,
                                        struct attn_error *err)
{
    struct attn_tensor_files *files = model->files;
    bool found[N_WRAP] = {false}, has_lightning;
    char text[300];
    size_t used = 0;

    ATTN_TRY(refuse_adapter(files, err));
    if (has_wraps(files))
        ATTN_TRY(attn_tensor_files_rename(files, unwrap, found, err));
    has_lightning = !model->part && is_of_lightning(files, model->naming);
    if (has_lightning)
        ATTN_TRY(attn_tensor_files_rename(files, strip_lightning, NULL, err));
    for (size_t i = 0; i <= N_WRAP; i++)
        if (i < N_WRAP ? found[i] : has_lightning)
            attn_fixed_text_append(text, sizeof text, &used, "%s'%s'", used > 0 ? ", " : "",
                                   i < N_WRAP ? wraps[i] : lightning);
    if (used > 0)
        attn_note(options->on_note, options->user, ATTN_NOTE_TENSOR_NAMES,
                  "left out of the names of tensors in '%s': %s",
                  attn_quote_string(attn_tensor_files_path(files, 0)).text, text);
    return model->part ? read_part(files, model->config.vision.tower, err) : ATTN_OK;
}
