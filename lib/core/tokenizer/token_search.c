/* token_search.c - see token_search.h. */
#include "tokenizer/token_search.h"

#include "base/hash.h"
#include "base/memory.h"

/* Returns the slot of the edge from NODE by BYTE, or the free slot where it would be. */
static struct attn_search_edge *find_edge(const struct attn_search *search, uint32_t node,
                                          unsigned char byte)
{
    const uint32_t key = (node << 8 | byte) + 1;
    size_t slot = (size_t)attn_hash_mix(key ^ search->seed) & search->mask;

    while (search->edges[slot].key != 0 && search->edges[slot].key != key)
        slot = (slot + 1) & search->mask;
    return &search->edges[slot];
}

/* Returns the node after NODE by BYTE, or 0. */
static uint32_t child_of(const struct attn_search *search, uint32_t node, unsigned char byte)
{
    return node == 0 ? search->root[byte] : find_edge(search, node, byte)->child;
}

/* Returns the node that the automaton reaches from NODE when it reads BYTE. */
static uint32_t step(const struct attn_search *search, uint32_t node, unsigned char byte)
{
    uint32_t child;

    while ((child = child_of(search, node, byte)) == 0 && node != 0)
        node = search->nodes[node].fail;
    return child;
}

static unsigned char byte_from_end(const struct attn_search_word *word, size_t i)
{
    return (unsigned char)word->text[word->size - 1 - i];
}

static void add_word(struct attn_search *search, const struct attn_search_word *word,
                     int32_t number)
{
    uint32_t node = 0;

    for (size_t i = 0; i < word->size; i++) {
        const unsigned char byte = byte_from_end(word, i);
        uint32_t child = child_of(search, node, byte);

        if (child == 0) {
            child = search->n++;
            search->nodes[child] = (struct attn_search_node){.parent = node, .word = -1};
            if (node == 0)
                search->root[byte] = child;
            else
                *find_edge(search, node, byte) =
                    (struct attn_search_edge){(node << 8 | byte) + 1, child};
        }
        node = child;
    }
    search->nodes[node].word = number;
}

/* Sets the fallback link of each node, shorter nodes first, because links depend on them. */
static enum attn_status link_nodes(struct attn_search *search, const struct attn_search_word *words,
                                   size_t n, struct attn_error *err)
{
    uint32_t *at = attn_alloc(n, sizeof *at, err); /* the current node of each word */
    /* Indices of words that are longer than the current depth. */
    size_t *open = attn_alloc(n, sizeof *open, err);
    size_t n_open = n;

    if (!at || !open) {
        attn_free(at);
        attn_free(open);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        open[i] = i;
    for (size_t depth = 0; n_open > 0; depth++) {
        size_t n_left = 0;

        for (size_t i = 0; i < n_open; i++) {
            const size_t word = open[i];
            const unsigned char byte = byte_from_end(&words[word], depth);

            struct attn_search_node *node;

            at[word] = child_of(search, at[word], byte);
            node = &search->nodes[at[word]];
            node->fail =
                node->parent == 0 ? 0 : step(search, search->nodes[node->parent].fail, byte);
            node->found = node->word >= 0 ? at[word] : search->nodes[node->fail].found;
            if (words[word].size > depth + 1)
                open[n_left++] = word;
        }
        n_open = n_left;
    }
    attn_free(at);
    attn_free(open);
    return ATTN_OK;
}

enum attn_status attn_search_build(struct attn_search *search, const struct attn_search_word *words,
                                   size_t n, struct attn_error *err)
{
    size_t n_byte = 1, n_slot = 2;

    for (size_t i = 0; i < n; i++) {
        if (words[i].size > ATTN_SEARCH_MAX - n_byte)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "the added tokens have more than %d bytes in all",
                                  ATTN_SEARCH_MAX);
        n_byte += words[i].size;
    }
    while (n_slot < n_byte * 2)
        n_slot *= 2;
    ATTN_TRY(ATTN_NEW(search->nodes, attn_alloc_uninitialized(n_byte, sizeof *search->nodes, err)));
    ATTN_TRY(ATTN_ALLOC(search->edges, n_slot, err));
    ATTN_TRY(ATTN_NEW(search->sizes, attn_alloc_uninitialized(n, sizeof *search->sizes, err)));
    search->mask = n_slot - 1;
    search->seed = attn_hash_seed();
    search->nodes[0] = (struct attn_search_node){.word = -1};
    search->n = 1;
    for (size_t i = 0; i < n; i++) {
        search->sizes[i] = words[i].size;
        add_word(search, &words[i], (int32_t)i);
    }
    return link_nodes(search, words, n, err);
}

void attn_search_release(struct attn_search *search)
{
    attn_free(search->nodes);
    attn_free(search->edges);
    attn_free(search->sizes);
    *search = (struct attn_search){0};
}

enum attn_status attn_search_find(const struct attn_search *search, const char *text, size_t size,
                                  struct attn_search_hits *hits, struct attn_error *err)
{
    uint32_t node = 0, found;

    hits->n = 0;
    for (size_t at = size; at-- > 0;) {
        if (node == 0) /* by far the most frequent case */
            node = search->root[(unsigned char)text[at]];
        else
            node = step(search, node, (unsigned char)text[at]);
        found = search->nodes[node].found;
        if (found == 0)
            continue;
        ATTN_TRY(ATTN_GROW(hits->list, hits->capacity, hits->n + 1, err));
        hits->list[hits->n++] = (struct attn_search_hit){at, search->nodes[found].word};
    }
    return ATTN_OK;
}
