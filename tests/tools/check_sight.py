"""Type every case of the models of a folder that see, and compare what comes out with what must come out.

    python tests/tools/check_sight.py FOLDER build/release/attn-cli [NAME...]

A model has config.json, pictures, info.json (its prompts), cases.json (what to type) and expected/ in float64; the
README beside the folder says what is in them. A line for each section of a model: the worst share of the bound,
4 * the error of transformers in float32 + 1e-6 * the largest value, and what is not as it must be. Sections whose
runs the program refuses are printed as refused. Exits with 1 if anything differs or is refused. Needs numpy and torch.
"""
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree

import numpy as np
import peers

REGIONS = {letter: i for i, letter in enumerate("opqa")}
SITES = {"attn": "blocks.{}.attn.hook_pattern", "hidden": "blocks.{}.hook_resid_pre",
         "tower_attn": "tower.{}.attn.hook_pattern", "tower_hidden": "tower.{}.hook_resid_pre"}


def bound(yard, largest):
    return 4 * yard + 1e-6 * largest


def by_layer(kind, values, axis):
    """The arrays of an archive that VALUES of KIND ("attn", "tower_hidden"...) are, by name."""
    layers = np.moveaxis(values, axis, 0)
    found = {SITES[kind].format(i): x for i, x in enumerate(layers)}
    if kind.endswith("hidden"):  # the last is what comes out of the last block
        found[f"{SITES[kind].format(len(layers) - 2)}".replace("resid_pre", "resid_post")] = layers[-1]
        del found[SITES[kind].format(len(layers) - 1)]
    return found


def names_of(prompt):
    """The names of the positions that are cells: pairs (position, name)."""
    pictures = prompt["pictures"]
    names = [(f"{i}:{name}" if len(pictures) > 1 else name) if name != "-" else None
             for i, picture in enumerate(pictures) for name in picture["layout"].split()]
    places = [i for i, letter in enumerate(prompt["region"]) if letter == "p"]
    return list(zip(places, [name for name in names if name], strict=True))


class Checker:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.info = json.loads((folder / "info.json").read_text())
        self.worst, self.faults, self.refused = {}, {}, {}

    def note(self, section, share, what):
        self.worst[section] = max(self.worst.get(section, 0), share)
        if not share <= 1:
            self.fault(section, f"{what} {share:.3g}")

    def fault(self, section, what):
        self.faults.setdefault(section, []).append(what)

    def ask(self, case, model, scratch):
        def place(word):
            if word.startswith("@"):
                return str(model / word[1:])
            return f"{scratch}/{word[1:]}" if word.startswith("&") else word
        return subprocess.run([self.tool, *map(place, case["args"])], capture_output=True, text=True, check=False)

    def same(self, section, name, found, expected, allowed, last=None):
        """Compares an array; NaN must be where NaN is."""
        if found is None:
            self.fault(section, f"no {name}")
            return
        found = found[-last:] if last else found
        expected = expected[-last:] if last else expected
        if found.shape != expected.shape:
            self.fault(section, f"{name} is {found.shape}, not {expected.shape}")
        elif not np.array_equal(np.isnan(found), np.isnan(expected)):
            self.fault(section, f"NaN elsewhere in {name}")
        else:
            is_number = ~np.isnan(expected)
            self.note(section, peers.share_of(found[is_number], expected[is_number], allowed), name)

    def forward(self, case, found, section):
        prompt = self.info["prompts"][case["forward"]]
        tokens = found["tokens"]
        if found["ids"].tolist() != prompt["ids"]:
            self.fault(section, f"{case['name']}: other ids")
            return
        if found["region"].tolist() != [REGIONS[letter] for letter in prompt["region"]]:
            self.fault(section, f"{case['name']}: other regions")
        if "pictures" in prompt:
            off = [name for place, name in names_of(prompt) if tokens[place] != name]
            if off:
                self.fault(section, f"{case['name']}: {off[0]} has another name")
        if len(prompt.get("images", [])) > 1 and "picture_of" not in found:
            self.fault(section, f"{case['name']}: no picture_of")
        yards = case.get("yard", prompt["float32_minus_float64"])
        rounding = yards.get("rounding", {})
        with np.load(self.folder / f"expected/{case['forward']}.npz") as file:
            for kind in file.files:
                values = file[kind].astype(np.float64)
                yard = max(yards.get(kind, prompt["float32_minus_float64"][kind]), rounding.get(kind, 0))
                allowed = bound(yard, prompt["max_abs"][kind])
                if kind in ("attn", "hidden"):
                    for name, x in by_layer(kind, values, 0).items():
                        self.same(section, name, found.get(name), x, allowed)
                elif kind.startswith("deepstack."):
                    name = f"blocks.{kind.partition('.')[2]}.hook_deepstack"
                    self.same(section, name, found.get(name), values, allowed)
                elif not kind.startswith("tower"):
                    self.same(section, kind, found.get(kind), values, allowed, len(values) if kind == "logits" else None)

    def tower(self, case, found, section):
        prompt = self.info["prompts"][case["tower"]]
        with np.load(self.folder / f"expected/{case['tower']}.npz") as file:
            for kind in ("tower_attn", "tower_hidden"):
                allowed = bound(prompt["float32_minus_float64"][kind], prompt["max_abs"][kind])
                for name, x in by_layer(kind, file[kind].astype(np.float64), 1).items():
                    self.same(section, name, found.get(name), x, allowed)

    def npz(self, case, found, section):
        with np.load(self.folder / case["npz"]) as file:
            for name in file.files:
                values = file[name].astype(np.float64)
                largest = np.abs(values[~np.isnan(values)]).max(initial=0)
                self.same(section, name, found.get(name), values, bound(case["yard"][name], largest), case.get("last"))

    def csv(self, case, text, section):
        def keyed(rows):
            return {tuple(row.get(key, "") for key in case["keys"]): row for row in rows}
        expected = keyed(csv.DictReader(io.StringIO((self.folder / case["csv"]).read_text())))
        found = keyed(csv.DictReader(io.StringIO(text)))
        for key in expected:
            if key not in found:
                self.fault(section, f"{case['name']}: no row {','.join(key)}")
                continue
            row, must = found[key], expected[key]
            for column in case["exact"]:
                if must[column] not in ("*", row.get(column)):
                    self.fault(section, f"{case['name']}: {column} of {','.join(key)} is {row.get(column)}, not {must[column]}")
            for column, (yard, largest) in case["numbers"].items():
                if must[column] == "*":
                    continue
                if not must[column] or not row.get(column):
                    if (row.get(column) or "") != must[column]:
                        self.fault(section, f"{case['name']}: {column} of {','.join(key)} is '{row.get(column)}', not '{must[column]}'")
                    continue
                self.note(section, abs(float(row[column]) - float(must[column])) / max(bound(yard, largest), 1e-12),
                          f"{case['name']}: {column} of {','.join(key)}")

    def one(self, case, scratch):
        section, model = case["section"], self.folder
        self.worst.setdefault(section, 0)
        if "edit" in case:
            model = pathlib.Path(scratch) / "edited"
            shutil.copytree(self.folder, model, ignore=shutil.ignore_patterns("expected", "pair*"))
            for name, changes in case["edit"].items():
                settings = json.loads((model / name).read_text())
                settings.update(changes)
                (model / name).write_text(json.dumps(settings))
        made = self.ask(case, model, scratch)
        if "exit" in case:
            if made.returncode != case["exit"]:
                self.fault(section, f"{case['name']}: exit {made.returncode}, not {case['exit']}")
            return
        if made.returncode != 0:
            self.refused.setdefault(section, []).append(f"{case['name']} ({made.stderr.partition(chr(10))[0]})")
            return
        if "csv" in case:
            self.csv(case, made.stdout, section)
        elif "ids" in case:
            new = json.loads(made.stdout)
            ids = new["continuation_ids"]
            if ids != case["ids"]:
                self.fault(section, f"{case['name']}: generates {ids}, not {case['ids']}")
        elif "svg" in case:
            texts = "".join(xml.etree.ElementTree.fromstring(made.stdout).itertext())
            if "<image" not in made.stdout or not re.search("layer", texts, re.IGNORECASE):
                self.fault(section, f"{case['name']}: no picture or no layer in the SVG")
        else:
            with np.load(f"{scratch}/o.npz") as file:
                found = dict(file)
            judge = self.forward if "forward" in case else self.tower if "tower" in case else self.npz
            judge(case, found, section)

    def check(self):
        for case in json.loads((self.folder / "cases.json").read_text()):
            with tempfile.TemporaryDirectory() as scratch:
                self.one(case, scratch)
        for section, share in self.worst.items():
            faults, refused = self.faults.get(section, []), self.refused.get(section, [])
            words = [f"{len(faults)} faults: " + "; ".join(faults[:4])] if faults else []
            words += [f"{len(refused)} refused, as " + refused[0]] if refused else []
            print(f"{self.folder.name:16} {section:10} {share:5.2f}  " + (", ".join(words) or "good"), flush=True)
        return not self.faults and not self.refused


if __name__ == "__main__":
    peers.check_folder(lambda tool, folder: Checker(tool, folder).check())
