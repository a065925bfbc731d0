/* live_story.h - checks a story, the steps that a live page tells (cmd/manual/pages.md).
 * For the files of this layer. */
#ifndef ATTN_LIVE_LIVE_STORY_H
#define ATTN_LIVE_LIVE_STORY_H

#include "formats/json.h"
#include "host/host.h"
#include "run/request.h"

/* Files that steps read, each once: pictures, and vectors of steerings. */
struct attn_live_paths {
    struct attn_live_path {
        char *name; /* owns; as the steps have it */
        bool is_image;
    } * items; /* [n] owns */
    size_t n, capacity;
};

/* Prepares each step of the story JSON on HOST, and each of its changes alone, as the page of
 * REQUEST would; computes nothing. ATTN_FORMAT names file, step (from 1), key, value and what was
 * expected. Adds to PATHS, which the caller frees after a failure too. */
enum attn_status attn_live_story_check(const struct attn_json *json, struct attn_host *host,
                                       const struct attn_request *request,
                                       struct attn_live_paths *paths, struct attn_error *err);

#endif
