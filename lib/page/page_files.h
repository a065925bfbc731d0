/*
 * page_files.h - the files of page/, which are part of the library (page_files.S): the document
 * with marks @NAME@ where something is put, its style, its script, and what a policy of the
 * document says of both by their hashes, which is made when the library is built.
 */
#ifndef ATTN_PAGE_PAGE_FILES_H
#define ATTN_PAGE_PAGE_FILES_H

extern const char attn_page_html[], attn_page_html_end[];
extern const char attn_page_css[], attn_page_css_end[];
extern const char attn_page_js[], attn_page_js_end[];
extern const char attn_page_policy[], attn_page_policy_end[];

#endif
