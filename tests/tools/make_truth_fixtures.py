#!/usr/bin/env python3
"""Makes tests/fixtures/truth-*: models whose truth is known.

    python tests/tools/make_truth_fixtures.py TRUTH_FOLDER

TRUTH_FOLDER holds a GPT that sorts letters, a small Llama, programs compiled to transformers, and models of
TransformerLens, each with what it must compute; tests/fixtures/PROVENANCE.md says whose they are. The arrays
get the names of attn-cli's archives and, as K/bounds, what a difference may be: of patterns, the residual
stream, the final norm and logits, and a share of the largest value of any other site.
"""
import io, json, shutil, sys, zipfile
from pathlib import Path

import numpy as np

OUT = Path("tests/fixtures")


def save(path, arrays):
    """Writes an archive whose bytes depend on ARRAYS alone."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(arrays[name]), version=(1, 0))
            archive.writestr(zipfile.ZipInfo(name + ".npy"), data.getvalue())


def begin(source, name, files=("config.json", "model.safetensors")):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(source / file, folder / file)
    return folder


def add(arrays, k, ids, sites, bounds):
    arrays[f"{k}/ids"] = np.asarray(ids, np.int64)
    arrays[f"{k}/bounds"] = np.asarray(bounds, np.float64)
    for site, values in sites.items():
        arrays[f"{k}/{site}"] = np.asarray(values, np.float32)


def largest(values):
    return float(np.abs(values[np.isfinite(values)]).max())


def patterns(values):
    return {f"blocks.{layer}.attn.hook_pattern": row for layer, row in enumerate(values)}


def make_tl(source):
    info = json.loads((source / "info.json").read_text())
    expected = np.load(source / "expected.npz")
    off, arrays = info["float32_minus_float64"], {}
    bounds = {k: 4 * off[k] + 1e-6 * largest(expected[k]) for k in ("patterns", "logits")}
    add(arrays, 0, info["ids"], patterns(expected["patterns"]) | {"logits": expected["logits"]},
        [bounds["patterns"], 0, 0, bounds["logits"], 0])
    save(begin(source, f"truth-tl-{source.name.replace('_', '-')}") / "expected.npz", arrays)


def make_sort(source):
    partials, arrays = np.load(source / "partials.npz"), {}
    for k, ids in enumerate(partials["ids"]):
        sites = {site: partials[site][k] for site in partials.files if site != "ids"}
        others = [largest(v) for site, v in sites.items() if "attn.hook_" in site or "mlp" in site]
        add(arrays, k, ids, sites, [1e-5, 1e-5, 1e-5, 1e-5, 1e-5 / min(others)])
    save(begin(source, "truth-letters") / "expected.npz", arrays)


def make_llama(source):
    expected, arrays = np.load(source / "expected.npz"), {}
    add(arrays, 0, expected["ids"], patterns(expected["patterns"]) |
        {"blocks.3.hook_resid_post": expected["resid_post_last"], "logits": expected["logits"]},
        [1e-5, 1e-4, 0, 1e-4, 0])
    files = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer.model", "tokenizer_config.json")
    folder = begin(source, "truth-llama", files)
    save(folder / "expected.npz", arrays)
    texts = json.loads((source / "expected.json").read_text())
    (folder / "texts.jsonl").write_text("".join(json.dumps(t, ensure_ascii=False) + "\n" for t in texts["tokenizer"]))
    (folder / "greedy.json").write_text(json.dumps({k: texts[k] for k in ("prompt", "greedy", "text")}) + "\n")


def make_program(source):
    program = json.loads((source / "program.json").read_text())
    expected, arrays = np.load(source / "expected.npz"), {}
    for k in range(3):
        sites, scores = {}, expected[f"{k}.attn_logits"]
        for layer in range(program["layers"]):
            sites[f"blocks.{layer}.hook_resid_mid"] = expected[f"{k}.residuals"][2 * layer]
            sites[f"blocks.{layer}.hook_resid_post"] = expected[f"{k}.residuals"][2 * layer + 1]
            sites[f"blocks.{layer}.attn.hook_attn_scores"] = scores[layer]
        ids = program["cases"][k]["ids"]
        if program["causal"]:
            for layer in range(program["layers"]):
                scores[layer][:, ~np.tri(len(ids), dtype=bool)] = -np.inf
        add(arrays, k, ids, sites, [1e-5, 1e-5, 0, 0, 1e-5 / largest(scores)])
    labels = [label.split(":")[-1] for label in program["output_labels"]]
    answers = [[labels.index(a) if len(labels) > 1 else float(a) for a in case["output"][1:]]
               for case in program["cases"]]
    longest = max(len(case["ids"]) for case in program["cases"])
    arrays["cases/ids"] = np.asarray([case["ids"] + [-1] * (longest - len(case["ids"])) for case in program["cases"]], np.int64)
    arrays["cases/answers"] = np.asarray([row + [-1] * (longest - 1 - len(row)) for row in answers], np.float64)
    arrays["cases/components"] = np.asarray(
        [program["labels_of_residual"].index(label) for label in program["output_labels"]], np.int64)
    folder = begin(source, f"truth-program-{source.name.replace('_', '-')}", ("config.json", "model.safetensors"))
    config = json.loads((source / "config.json").read_text()) | {"output": "stream", "labels": program["labels_of_residual"]}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "vocab.json").write_text(json.dumps(program["vocabulary"]) + "\n")
    save(folder / "expected.npz", arrays)


def main():
    truth = Path(sys.argv[1])
    for source in sorted((truth / "tl").iterdir()):
        make_tl(source)
    make_sort(truth / "nano_sort")
    make_llama(truth / "dreams260k")
    for source in sorted((truth / "compiled").iterdir()):
        make_program(source)


if __name__ == "__main__":
    main()
