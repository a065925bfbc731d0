/*
 * page_files.S - the files of the page, byte for byte; policies are made in the build folder.
 */
#include "base/embed.inc"

    embed attn_page_html, "lib/page/viewer.html"
    embed attn_page_css, "lib/page/viewer.css"
    embed attn_page_js, "lib/page/viewer.js"
    embed attn_page_policy, "lib/page/viewer.policy"
    embed attn_page_live_css, "lib/page/live.css"
    embed attn_page_live_js, "lib/page/live.js"
    embed attn_page_live_policy, "lib/page/live.policy"
    embed attn_page_worker_js, "lib/page/live_worker.js"
    embed attn_page_wasi_js, "lib/page/wasi.js"
    embed attn_page_experiment_css, "lib/page/experiment.css"
    embed attn_page_experiment_js, "lib/page/experiment.js"
    embed attn_page_neurons_css, "lib/page/neurons.css"
    embed attn_page_neurons_js, "lib/page/neurons.js"
    embed attn_page_gradients_js, "lib/page/gradients.js"
    embed attn_page_picture_css, "lib/page/picture.css"
    embed attn_page_picture_js, "lib/page/picture.js"
    embed attn_page_more_policy, "lib/page/more.policy"
