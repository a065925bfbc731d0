/*
 * charsmap.c - SentencePiece's charsmaps, as the library tokenizers applies them; and
 * SentencePiece's own normalizer, which also replaces spaces by U+2581.
 *
 * The trie is a double array of darts-clone (github.com/s-yata/darts-clone). Unit u has the label u
 * & 0x800000ff. Its child for byte c is the unit at place ^ offset ^ c, where place is that of u,
 * if that unit has the label c. If bit 8 of u is set, a string ends here, and the unit at place ^
 * offset contains its place.
 */
#include "tokenizer/stages/stages_internal.h"

#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "base/text/utf8.h"
#include "formats/quoting.h"
#include "tokenizer/regex.h"
#include "tokenizer/vocabulary.h"

#include <string.h>

enum { CLUSTER_MAX = 5 }; /* maximum bytes of a cluster that is replaced as a whole */

#define VALUE_BIT UINT32_C(0x80000000)

struct charsmap {
    struct attn_regex *cluster; /* owns; NULL: SentencePiece's own normalizer */
    unsigned char *bytes;       /* owns; [n_byte] the whole charsmap */
    size_t n_byte;
    uint32_t *units; /* owns; [n_unit] */
    size_t n_unit;
    const char *strings; /* [n_string], within `bytes`; the last byte is NUL */
    size_t n_string;
    struct attn_sentence_rule rule; /* for SentencePiece's own normalizer */
};

/* --- Reading ---------------------------------------------------------------------------------- */

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

static bool has_leaf(uint32_t unit)
{
    return (unit >> 8 & 1) != 0;
}

/* Whether all units lead to existing units, and all strings begin with a character. */
static bool is_closed(const struct charsmap *map)
{
    for (size_t i = 0; i < map->n_unit; i++) {
        const uint32_t unit = map->units[i];
        const size_t base = i ^ offset_of(unit);
        size_t at;

        if (unit & VALUE_BIT)
            continue;
        if (base >= map->n_unit)
            return false;
        if (!has_leaf(unit))
            continue;
        at = map->units[base] & ~VALUE_BIT;
        if (at >= map->n_string || ((unsigned char)map->strings[at] & 0xc0) == 0x80)
            return false;
    }
    return true;
}

/* Parses `bytes`. *problem describes what is wrong; NULL if nothing is. */
static enum attn_status read_units(struct charsmap *map, const char **problem,
                                   struct attn_error *err)
{
    const size_t n = map->n_byte;
    uint32_t n_trie = 0;

    if (n >= sizeof n_trie)
        memcpy(&n_trie, map->bytes, sizeof n_trie);
    *problem = n < 4 ? "has no size" : "has a trie of another size than it says";
    if (n < 4 || n_trie == 0 || n_trie % 4 != 0 || n_trie > n - 4)
        return ATTN_OK;
    *problem = "has strings that are not UTF-8, or do not end with NUL";
    map->strings = (const char *)map->bytes + 4 + n_trie;
    map->n_string = n - 4 - n_trie;
    if (map->n_string == 0 || map->strings[map->n_string - 1] != '\0' ||
        attn_utf8_valid_length(map->strings, map->n_string) != map->n_string)
        return ATTN_OK;
    map->n_unit = n_trie / 4;
    ATTN_TRY(ATTN_NEW(map->units, attn_alloc_uninitialized(map->n_unit, sizeof *map->units, err)));
    memcpy(map->units, map->bytes + 4, n_trie);
    *problem = is_closed(map) ? NULL : "has a trie that leads out of it";
    return ATTN_OK;
}

/* Reads the charsmap in TEXT [size], which is base64, or bytes if the map has a rule. */
static enum attn_status read_map(struct charsmap *map, const char *text, size_t size,
                                 const char *name, struct attn_error *err)
{
    const char *problem = "is not base64";

    ATTN_TRY(ATTN_NEW(map->bytes, attn_alloc_uninitialized(size, 1, err)));
    if (!map->cluster)
        memcpy(map->bytes, text, map->n_byte = size);
    if (!map->cluster || attn_base64_decode(text, size, map->bytes, &map->n_byte))
        ATTN_TRY(read_units(map, &problem, err));
    return problem ? attn_error_set(err, ATTN_FORMAT, "the charsmap in '%s' %s",
                                    attn_quote_string(name).text, problem)
                   : ATTN_OK;
}

static void free_map(void *data)
{
    struct charsmap *map = data;

    attn_regex_free(map->cluster);
    attn_free(map->bytes);
    attn_free(map->units);
    attn_free(map);
}

/* --- The stage -------------------------------------------------------------------------------- */

/* Returns the replacement, which is terminated, for the shortest prefix of TEXT [size] in the trie,
 * or NULL. If LENGTH is given, uses the longest prefix instead, and stores its size. */
static const char *find(const struct charsmap *map, const char *text, size_t size, size_t *length)
{
    const char *found = NULL;
    size_t at = offset_of(map->units[0]);

    for (size_t i = 0; i < size && text[i] != '\0'; i++) {
        uint32_t unit;

        at ^= (unsigned char)text[i];
        if (at >= map->n_unit)
            return found;
        unit = map->units[at];
        if ((unit & (VALUE_BIT | 0xff)) != (unsigned char)text[i])
            return found;
        at ^= offset_of(unit);
        if (!has_leaf(unit))
            continue;
        found = map->strings + (map->units[at] & ~VALUE_BIT);
        if (!length)
            return found;
        *length = i + 1;
    }
    return found;
}

/* The last character, which is not written yet, because the deletion of later characters may be
 * added to it. */
struct pending {
    struct attn_rewrite *rewrite;
    uint32_t code_point;
    int change;
    bool is_there;
};

static void push(struct pending *last, uint32_t code_point, int change)
{
    if (last->is_there)
        attn_rewrite_put(last->rewrite, last->code_point, last->change);
    last->code_point = code_point;
    last->change = change;
    last->is_there = true;
}

static int count(const char *text, size_t size)
{
    int n = 0;

    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Writes STRING for N_OLD characters, as the library does. If it has more characters, the last ones
 * count as inserted. If it has fewer, the deletion of the rest is added to the last character
 * written, which may belong to another string. A deletion before any character is lost, and all
 * later characters correspond to text before them. */
static void replace(struct pending *last, const char *string, int n_old)
{
    const size_t size = strlen(string);
    const int n_new = count(string, size);
    int i = 0;

    for (size_t at = 0; at < size; i++) {
        uint32_t code_point = 0;

        at += attn_utf8_decode(string + at, size - at, &code_point);
        push(last, code_point, i >= n_old ? 1 : 0);
    }
    if (n_new < n_old && last->is_there)
        last->change -= n_old - n_new;
}

static enum attn_status find_cluster(struct attn_match_scratch *scratch, const char *text,
                                     size_t size, size_t at, size_t *end, struct attn_error *err)
{
    const unsigned char next = at + 1 < size ? (unsigned char)text[at + 1] : 0;
    struct attn_match_range found;

    *end = at + 1;
    if ((unsigned char)text[at] < 0x80 && next < 0x80 && !(text[at] == '\r' && next == '\n'))
        return ATTN_OK;
    ATTN_TRY(attn_match_find(scratch->match, text, size, at, &found, err));
    *end = found.begin == at && found.end > at ? found.end : at + 1;
    return ATTN_OK;
}

/* Writes the cluster TEXT [size]. Returns whether the trie replaced anything. */
static bool write_cluster(const struct charsmap *map, struct pending *last, const char *text,
                          size_t size)
{
    const char *string = size <= CLUSTER_MAX ? find(map, text, size, NULL) : NULL;
    bool is_changed = string;

    if (string) {
        replace(last, string, count(text, size));
        return true;
    }
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code_point;

        length = attn_utf8_decode(text + at, size - at, &code_point);
        string = find(map, text + at, length, NULL);
        is_changed = is_changed || string;
        if (string)
            replace(last, string, 1);
        else
            push(last, code_point, 0);
    }
    return is_changed;
}

static enum attn_status run_charsmap(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     struct attn_error *err)
{
    const struct charsmap *map = walk->pipeline->stages[at].data;
    struct attn_match_scratch *scratch = walk->scratch[at];
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    struct attn_rewrite rewrite = {&scratch->layer, text, size, 0, 0};
    struct pending last = {.rewrite = &rewrite};
    bool is_changed = false;

    if (!attn_match_scratch_begin(scratch, walk, slice))
        return attn_walk_next(walk, at, slice, err);
    for (size_t i = 0, end; i < size; i = end) {
        ATTN_TRY(find_cluster(scratch, text, size, i, &end, err));
        if (write_cluster(map, &last, text + i, end - i))
            is_changed = true;
    }
    if (!is_changed)
        return attn_walk_next(walk, at, slice, err);
    if (last.is_there)
        attn_rewrite_put(&rewrite, last.code_point, last.change);
    return attn_walk_next_layer(walk, at, &scratch->layer, err);
}

static enum attn_status begin_scratch(const void *data, size_t n, void **out,
                                      struct attn_error *err)
{
    const struct charsmap *map = data;

    return attn_match_scratch_create(map->cluster, n, out, err);
}

/* --- SentencePiece's own normalizer ----------------------------------------------------------- */

/* Text that replaces the next FROM_SIZE bytes of the slice. */
struct unit {
    const char *text; /* [size] */
    size_t size, from_size;
};

/* The last character that was read. It is written when the next one is known, because it stands for
 * the slice up to the next one. */
struct held {
    const char *text; /* [size] */
    size_t size, from;
};

/* Returns the first unit of TEXT [size], which is not empty: a user-defined token, the longest
 * match, or a character. */
static struct unit next_unit(const struct charsmap *map, const char *text, size_t size)
{
    const struct attn_sentence_rule *rule = &map->rule;
    size_t n = size < rule->n_longest ? size : rule->n_longest;
    const char *string;
    uint32_t code_point;

    for (; n > 0; n--)
        if (attn_vocabulary_find(rule->users, text, n) >= 0)
            return (struct unit){text, n, n};
    string = map->n_unit > 0 ? find(map, text, size, &n) : NULL;
    if (string)
        return (struct unit){string, strlen(string), n};
    n = attn_utf8_decode(text, size, &code_point);
    n = n > 0 ? n : 1;
    return (struct unit){text, n, n};
}

/* Writes the held character, which stands for the slice up to AT, and then holds TEXT [size]. */
static void hold(struct attn_layer *layer, struct held *held, const char *text, size_t size,
                 size_t at)
{
    if (held->size > 0)
        attn_layer_put(layer, held->text, held->size, held->from, at - held->from);
    *held = (struct held){text, size, at};
}

/* Writes the characters of UNIT, which begins at AT of the slice. Spaces become U+2581. */
static void write_unit(const struct charsmap *map, struct attn_layer *layer, struct held *held,
                       const struct unit *unit, size_t at)
{
    const struct attn_sentence_rule *rule = &map->rule;
    uint32_t code_point;

    for (size_t i = 0, n; i < unit->size; i += n) {
        n = attn_utf8_decode(unit->text + i, unit->size - i, &code_point);
        n = n > 0 ? n : 1;
        if (code_point == ' ')
            hold(layer, held, rule->space, strlen(rule->space), at);
        else
            hold(layer, held, unit->text + i, n, at);
    }
}

static enum attn_status run_sentence(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     struct attn_error *err)
{
    const struct charsmap *map = walk->pipeline->stages[at].data;
    const struct attn_sentence_rule *rule = &map->rule;
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice), n_space = strlen(rule->space);
    struct attn_layer *layer = walk->scratch[at];
    struct attn_buffer *copy = &layer->copy;
    struct held held = {0};
    bool is_after_space = rule->drops_spaces, has_text = false;

    attn_layer_begin(layer, slice);
    for (size_t i = 0; i < size;) {
        struct unit unit = next_unit(map, text + i, size - i);

        if (!has_text && rule->drops_spaces && unit.size == 1 && *unit.text == ' ') {
            i += unit.from_size; /* a space before any text */
            continue;
        }
        if (!has_text && rule->has_prefix && walk->options->place != ATTN_TEXT_CONTINUES)
            hold(layer, &held, rule->space, n_space, i);
        has_text = true;
        while (is_after_space && unit.size > 0 && *unit.text == ' ')
            unit.text++, unit.size--;
        write_unit(map, layer, &held, &unit, i);
        if (unit.size > 0)
            is_after_space = rule->drops_spaces && unit.text[unit.size - 1] == ' ';
        i += unit.from_size;
    }
    hold(layer, &held, "", 0, size);
    while (rule->drops_spaces && copy->size >= n_space &&
           memcmp(copy->data + copy->size - n_space, rule->space, n_space) == 0)
        copy->size -= n_space;
    return attn_walk_next_layer(walk, at, layer, err);
}

/* --- Adding a stage --------------------------------------------------------------------------- */

enum attn_status attn_charsmap_add(struct attn_pipeline *pipeline,
                                   const struct attn_sentence_rule *rule, const char *text,
                                   size_t size, const char *name, struct attn_error *err)
{
    static const struct attn_text_stage_kind kinds[] = {
        {.run = run_charsmap,
         .begin = begin_scratch,
         .end = attn_match_scratch_free,
         .free = free_map},
        {.run = run_sentence, .free = free_map, .makes_layer = true}};
    struct charsmap *map;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_ALLOC(map, 1, err));
    if (rule)
        map->rule = *rule;
    else
        status = attn_regex_create_cluster(&map->cluster, err);
    if (status == ATTN_OK && (size > 0 || !rule))
        status = read_map(map, text, size, name, err);
    if (status == ATTN_OK)
        return attn_pipeline_add(pipeline, &kinds[rule != NULL], map, err);
    free_map(map);
    return status;
}
