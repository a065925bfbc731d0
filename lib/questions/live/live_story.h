/* live_story.h - checks the story of a live page. */
#pragma once

#include "formats/json.h"
#include "run/host.h"
#include "run/request.h"

/* Files that steps read, each listed once: pictures, and vectors for steering. */
struct attn_live_paths {
    struct attn_live_path {
        char *name; /* owns; as written in the steps */
        bool is_image;
    } * items; /* [n] owns */
    size_t n, capacity;
};

/* Checks the story JSON without computing: prepares each of its steps on HOST, and each of its
 * edits alone, as the page of REQUEST would. ATTN_FORMAT names the file, the step (from 1), key,
 * value and what was expected. Adds to PATHS, which the caller frees after a failure too. */
enum attn_status attn_live_story_check(const struct attn_json *json, struct attn_host *host,
                                       const struct attn_request *request,
                                       struct attn_live_paths *paths, struct attn_error *err);

/* Sets *TEXT to the text of the first step of the story PATH, which the caller frees; if that has
 * none, it stays. */
enum attn_status attn_live_story_text(const char *path, char **text, struct attn_error *err);
