"""Questions take the keywords that the options of their commands are: a new option of a command is a keyword of the method
or stands here with a reason; and what sort and limit mean is the same."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import attn
from support import CLI, KEYS, TestCase, cli_table, model, needs_cli

KEY = "The key to the cabinet"
LONG = "The keys to the cabinet near the doors are rusty."
ARE = {"target": " are", "foil": " is"}
ITEMS = [{"text": KEYS, "number": "plural", **ARE}, {"text": KEY, "number": "singular", **ARE}]
PAIRS = [{"clean": KEYS, "corrupted": KEY, "a": KEYS, "b": KEY, "source": KEYS, "text": KEY, **ARE}]

# A call of each method for one text, and its items; without items where the command has none.
CALLS = {
    "heads": ((KEYS,), {}, ITEMS), "ablate": ((KEYS,), ARE, ITEMS), "patch": ((KEYS, KEY), ARE, [{**PAIRS[0], "a": None, "b": None}]),
    "circuit": ((KEYS, KEY), ARE, [{**PAIRS[0], "a": None, "b": None}]),
    "lens": ((KEYS,), {}, ITEMS), "attribute": ((KEYS,), ARE, ITEMS), "score": ((KEYS,), {}, ITEMS), "diff": ((KEYS, KEY), {}, PAIRS),
    "align": ((KEYS,), {"source": KEY, "method": "argmax"}, PAIRS), "generate": ((KEYS, 1), {}, ITEMS), "run": ((KEYS,), {}, ITEMS),
    "sinks": ((LONG,), {}, [{"text": LONG, "number": "plural"}, {"text": LONG, "number": "singular"}]),
    "spans": ((KEYS,), {"positions": {"a": 1}}, [{**item, "pos.a": 1} for item in ITEMS]),
    "attend": ((np.ones((2, 2)),) * 3, {}, None),
}

# Options with another name, for all commands that have them.
NAMES = {"from": "from_", "set": "sets", "reference": "references", "label": "labels",
         "tokens": "n", "diff --with": "with_model"}

# Options without a keyword, and where they are instead.
ELSEWHERE = {
    "the text or the array itself": "sentence file ids embeds x",
    "attn.open": "model config vocab weights adapter mmproj load compute threads",
    "with_model, a model that was opened with the adapter": "diff --with-adapter",
    "Table.render, Result.render": "csv tidy npy npz safetensors json jsonl latex markdown precision png svg pdf html",
    "Table.plot, Result.render": "column figure colormap dpi font-size figure-width title theme "
                                 "merge-words hide renormalize live story live-words",
    "their settings": "style stats",
    "the terminal": "heatmap width color quiet verbose help help-all",
    "Result.measures of Model.map": "attend --measures",
    "Model.map": "run --tower",
    "Table.sort, where and select of what attend gives": "attend --sort attend --limit attend --where attend --columns",
    "Model.run of what was generated": "generate --layers generate --heads generate --queries generate --sites "
                                       "generate --target generate --foil generate --at",
    "arrays and files, and no model": "align --times align --links",
    "the rows of soft=True": "align --npz",
    "dropout_mask": "attend --keep",
    "the figure of two texts": "diff --heads diff --queries",
    "the arithmetic of one row in words and figures": "explain",
    "labels in files and pictures": "attend --query-labels attend --key-labels",
    "a question before runs of hours, which a program does not ask": "max-input",
}


def complete(*words):
    lines = subprocess.run([CLI, "completion", "words", "--", *words], check=True, capture_output=True, text=True).stdout
    return [line.split("\t")[0] for line in lines.split("\n")[1:]]


def options_of(command):
    """Those that completion offers, and their settings."""
    names = [name[2:] for name in complete(command, "--") if name.startswith("--")]
    for option in ("style", "attention", "stats"):
        if option in names:
            names += [name.rstrip("=") for name in complete(command, f"--{option}", "") if name.endswith("=") or name == "contrast"]
    return names


def takes(method, arguments, keywords, items, name):
    """Whether METHOD knows the keyword NAME, with one text or with items."""
    for call in (arguments, keywords), ((), {**keywords, "items": items} if items else None):
        try:
            if call[1] is not None:
                method(*call[0], **{**call[1], name: object()})
        except Exception as problem:
            if f"unexpected keyword argument '{name}'" in str(problem):
                continue
        if call[1] is not None:
            return True
    return False


class Keywords(TestCase):
    @needs_cli
    def test_options_are_keywords(self):
        places = {}
        for place, words in ELSEWHERE.items():
            names = words.replace(" --", "--").split()
            places.update(dict.fromkeys((name.replace("--", " --") for name in names), place))
        used, problems = set(), []
        for command, (arguments, keywords, items) in CALLS.items():
            method = getattr(model(), command, None) or attn.attend
            for option in options_of(command):
                own = f"{command} --{option}"
                name = NAMES.get(own, NAMES.get(option, option.replace("-", "_")))
                if takes(method, arguments, keywords, items, name):
                    used |= {own, option} & NAMES.keys()
                elif own in places or option in places:
                    used.add(own if own in places else option)
                else:
                    problems.append(f"{own}, and no keyword '{name}'")
        self.assertEqual(problems, [])
        self.assertEqual((places.keys() | NAMES.keys()) - used, set(), "no option of these is without a keyword of its name")

    @needs_cli
    def test_sort_and_limit_are_those_of_the_command(self):
        m = model()
        options = ["--target", " are", "--foil", " is"]
        for name, arguments, keywords, command, column in (
                ("heads", (KEYS,), {}, [KEYS], "entropy"), ("ablate", (KEYS,), ARE, [*options, KEYS], "change:down"),
                ("patch", (KEYS, KEY), ARE, [*options, "--clean", KEYS, "--corrupted", KEY], "effect"),
                ("patch", (KEYS, KEY), {**ARE, "site": "mlp_post", "estimate": "atp"},
                 [*options, "--clean", KEYS, "--corrupted", KEY, "--site", "mlp_post", "--estimate", "atp"], "estimate:up"),
                ("lens", (KEYS,), {"queries": "0,4"}, ["--queries", "0,4", KEYS], "layer:down"),
                ("attribute", (KEYS,), ARE, [*options, KEYS], "attribution"),
                ("attribute", (KEYS,), {**ARE, "by": "token"}, [*options, "--by", "token", KEYS], "attribution:up"),
                ("attribute", (KEYS,), {**ARE, "method": "attn_x_grad"}, [*options, "--method", "attn_x_grad", KEYS], "layer"),
                ("score", (KEYS,), {}, [KEYS], "bits"), ("diff", (KEYS, KEY), {}, [KEYS, KEY], "js"),
                ("heads", (KEYS,), {"by": "pair"}, ["--by", "pair", KEYS], "js:down")):
            for sort, limit in ((column, 3), (column, None), (None, 3), (column, 0)):
                more = [*(["--sort", sort] if sort else []), *(["--limit", str(limit)] if limit is not None else [])]
                table = getattr(m, name)(*arguments, **keywords, sort=sort, limit=limit)
                self.assertEqual(json.loads(table.render("json"))["rows"], cli_table(name, "-q", *command, *more), (name, sort, limit))
        self.assert_raises(attn.InvalidError, "no column 'none'", m.ablate, KEYS, **ARE, sort="none")

    @needs_cli
    def test_groups_are_sorted_each(self):
        m = model()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "items")
            path.write_text("text,number,target,foil\n" + "".join(f"{item['text']},{item['number']}, are, is\n" for item in ITEMS))
            for name, column in (("ablate", "change"), ("heads", "entropy"), ("attribute", "attribution"), ("lens", "layer:down")):
                table = getattr(m, name)(items=path, items_format="csv", group_by="number", sort=column, limit=2)
                rows = cli_table(name, "-q", "--items", path, "--items-format", "csv", "--group-by", "number", "--sort", column, "--limit", 2)
                self.assertEqual(json.loads(table.render("json"))["rows"], rows, name)
                self.assertGreater(len(rows), 3)
            pairs = pathlib.Path(folder, "pairs.jsonl")
            pairs.write_text(json.dumps({"clean": KEYS, "corrupted": KEY, **ARE}) + "\n")
            for limit in (0, 3):  # of neurons the largest come first, 20 without a limit
                table = m.patch(items=pairs, site="mlp_post", estimate="atp", limit=limit)
                self.assertEqual(json.loads(table.render("json"))["rows"], cli_table(
                    "patch", "-q", "--items", pairs, "--site", "mlp_post", "--estimate", "atp", *(["--limit", limit] if limit else [])))
            self.assert_raises(attn.Error, "expected an object of JSON", m.ablate, items=path)
        self.assert_raises(TypeError, "items_format needs items of a file", m.ablate, items=ITEMS, items_format="csv")
        self.assert_raises(TypeError, "items_format needs items", m.ablate, KEYS, **ARE, items_format="csv")
        for given in ({"sort": "weight"}, {"limit": 1}):
            self.assert_raises(TypeError, (*given, "each item has its own links"), m.align, items=PAIRS, method="argmax", **given)


if __name__ == "__main__":
    unittest.main()
