#!/usr/bin/env python3
"""headvis.py - writes what HeadVis's page (github.com/anthropics/headvis) shows, from the examples of attn-cli.

    data/recipes/headvis.py FOLDER LINES [-m MODEL] [--heads 2.5,3.*] [--bins N] [--top K]

LINES is a file with a text a line. Put FOLDER beside the page as data/. Each row of a text has its 8 largest weights of
at least 0.005. There are no projections and no attributions. Needs attn-cli.
"""
import argparse
import json
import pathlib
import subprocess

N_KEY, LEAST = 8, 0.005
AXES = "self,previous,entropy,distance,first,max"


def ask(*command):
    """The JSON of a command of attn-cli."""
    return json.loads(subprocess.run(["attn-cli", *command], check=True, stdout=subprocess.PIPE).stdout)


def sequence(row, run):
    """An example: its tokens, and the largest weights of each row."""
    layer = run["tensors"][f"blocks.{row['layer']}.attn.hook_pattern"]
    pattern = layer[run["tensors"][f"blocks.{row['layer']}.heads"].index(row["head"])]
    cells = []
    for query, weights in enumerate(pattern):
        kept = [(-weight, key) for key, weight in enumerate(weights) if weight is not None and weight >= LEAST]
        cells += [(query * len(pattern) + key, weights[key]) for key in sorted(key for _, key in sorted(kept)[:N_KEY])]
    return {"sequence_id": int(row["id"]), "interval": row["bin"], "tokens": run["tokens"],
            "attention_indices": [index for index, _ in cells], "attention_values": [round(w, 4) for _, w in cells],
            "seq_len": len(pattern), "max_activation": round(row["value"], 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("lines")
    parser.add_argument("-m", "--model", default="fable")
    parser.add_argument("--heads", default="all")
    parser.add_argument("--bins", default="10")
    parser.add_argument("--top", default="3")
    args = parser.parse_args()
    how = ["-q", "-m", args.model, "--heads", args.heads, "--json", "-"]
    items = ["--items", args.lines, "--items-format", "lines"]
    shown = ask("examples", *how, *items, "--bins", args.bins, "--top", args.top)["rows"]
    means = ask("heads", *how, *items, "--measures", AXES)["rows"]
    with open(args.lines) as file:
        texts = file.read().split("\n")
    runs = {number: ask("run", *how, "--sites", "pattern", texts[int(number)])
            for number in sorted({row["id"] for row in shown}, key=int)}
    heads = sorted({(row["layer"], row["head"]) for row in shown})
    files = {f"heads/L{layer}H{head}.json": {"sequences": [sequence(row, runs[row["id"]]) for row in shown
                                                           if (row["layer"], row["head"]) == (layer, head)]}
             for layer, head in heads}
    files["scatter_data.json"] = [{name: row[name] for name in ["layer", "head", *AXES.split(",")]} for row in means]
    files["server_config.json"] = files["attributions/manifest.json"] = {}
    config = ask("inspect", args.model, "--json")["config"]
    files["config.json"] = {"model_name": args.model, "heads": heads, "n_layers": config["n_layer"],
                            "n_heads": config["n_head"], "n_intervals": int(args.bins), "metrics": AXES.split(","),
                            "head_data_pattern": "L{layer}H{head}.json", "has_umap": False, "umap_heads": []}
    for name, content in files.items():
        path = args.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


if __name__ == "__main__":
    main()
