#!/usr/bin/env python3
"""Compares tables over items with what numpy makes of single runs.

    check_study.py FOLDER      FOLDER is made anew; attn-cli is the one in PATH

Each item is also asked about by itself. Means, standard deviations with n - 1, standard errors,
groups, pairs and bootstrap intervals must be numpy's to 1e-12; numbers are read with 17 digits.
"""
import contextlib
import csv
import importlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    sys.exit(f"check-study: {error}; install it with: pip install numpy")

N_RESAMPLE, SEED = 200, 7
NOUNS = ["key", "dog", "cat", "boy", "door", "teacher"]


def attn(*arguments):
    done = subprocess.run(["attn-cli", *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    return list(csv.DictReader(done.stdout.decode().splitlines()))


def make_items():
    items = []
    for i, noun in enumerate(NOUNS * 2):
        for number in ("sg", "pl"):
            s = "s" if number == "pl" else ""
            items.append({"id": f"i{i}", "text": f"The {noun}{s} near the {NOUNS[(i + 1) % 6]}",
                          "target": " are" if s else " is", "foil": " is" if s else " are",
                          "number": number, "near": i % 3})
    return items


def number(text):
    return float("nan") if text == "" else float(text)


def near(a, b, where, tolerance=1e-12):
    a, b = np.asarray(a, float), np.asarray(b, float)
    good = (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b)))
    assert good.all(), f"{where}: {a} and {b}"


def intervals(values, percent=95):
    """Of the mean over items: VALUES [n]."""
    n = len(values)
    generator = np.random.MT19937()
    generator._legacy_seeding(SEED)
    draws = generator.random_raw(N_RESAMPLE * n).reshape(N_RESAMPLE, n) % n
    tail = (100 - percent) / 2
    return np.percentile(values[draws].mean(axis=1), [tail, 100 - tail])


def check_rows(rows, singles, names, where):
    """ROWS over items against SINGLES, the tables of each item, row by row."""
    n = len(singles)
    for at, row in enumerate(rows):
        assert int(row["n"]) == n, f"{where}: n is {row['n']}, expected {n}"
        for name in names:
            x = np.array([number(single[at][name]) for single in singles])
            here = f"{where}, row {at}, {name}"
            near(number(row[name]), x.mean(), here)
            if name + "_sd" not in row:
                continue
            near(number(row[name + "_sd"]), x.std(ddof=1), here + "_sd")
            near(number(row[name + "_se"]), x.std(ddof=1) / np.sqrt(n), here + "_se")
            if name + "_low" in row:
                near([number(row[name + "_low"]), number(row[name + "_high"])], intervals(x), here)


def check_command(command, options, names, items, path):
    """COMMAND over ITEMS, whole, by group and by pair."""
    exact = [command, "-q", "--precision", "17", *options]
    singles = [attn(*exact, "--target", item["target"], "--foil", item["foil"], "--csv", "-",
                    item["text"]) for item in items]
    check_over([*exact, "--items", path, "--csv", "-"], singles, names, items, command)


def check_over(over, singles, names, items, command):
    """What OVER says of all ITEMS, by group and by pair, of which SINGLES are the tables."""
    bootstrap = ["--bootstrap", f"{N_RESAMPLE}:{SEED}"]

    check_rows(attn(*over, *bootstrap), singles, names, command)
    rows = attn(*over, *bootstrap, "--group-by", "number,near")
    groups = list(dict.fromkeys((item["number"], str(item["near"])) for item in items))
    assert groups == list(dict.fromkeys((row["number"], row["near"]) for row in rows))
    for group in groups:
        check_rows([row for row in rows if (row["number"], row["near"]) == group],
                   [single for item, single in zip(items, singles)
                    if (item["number"], str(item["near"])) == group], names,
                   f"{command} of {group}")
    differences = []
    for a, b in zip(singles[0::2], singles[1::2]): # sg, pl
        differences.append([{name: str(number(y[name]) - number(x[name])) for name in names}
                            for x, y in zip(a, b)])
    check_rows(attn(*over, *bootstrap, "--paired", "number=sg:pl"), differences, names,
               command + " in pairs")


def check_heads(items, path):
    """Measures and pairs of words, through packs; changes, each item by itself."""
    exact = ["heads", "-q", "--precision", "17"]
    words = [["--from", item["text"].split()[3], "--to", item["text"].split()[1]] for item in items]
    measures = ["entropy", "max", "self", "first", "duplicate", "weight", "percentile"]
    asked = [dict(item, **{"from": own[1], "to": own[3]}) for item, own in zip(items, words)]
    path.write_text("".join(json.dumps(item) + "\n" for item in asked))
    over = [*exact, "--items", path, "--csv", "-"]

    singles = [attn(*exact, *own, "--csv", "-", item["text"]) for item, own in zip(items, words)]
    check_over(over, singles, measures, items, "heads")
    singles = [attn(*exact, *own, "--effect", "--target", item["target"], "--foil", item["foil"],
                    "--csv", "-", item["text"]) for item, own in zip(items, words)]
    check_over([*over, "--effect"], singles, [*measures, "change"], items, "heads --effect")


def score_words(exact, text, by):
    """ln p of TEXT, of the tokens or words that `score` gives a number."""
    options = ["--merge-words"] if by == "word" else []
    rows = attn(*exact, *options, "--csv", "-", text)
    nats = [number(row["nats"]) for row in rows if row["nats"]]
    return -sum(nats) / (1 if by == "text" else len(nats))


def check_score(items, path):
    """Targets, as the last token of a text that is scored; pairs; texts."""
    exact = ["score", "-q", "--precision", "17"]
    over = [*exact, "--items", path, "--csv", "-"]
    singles = []
    for item in items:
        last = [attn(*exact, "--csv", "-", item["text"] + item[which])[-1]
                for which in ("target", "foil")]
        metric = number(last[1]["nats"]) - number(last[0]["nats"])
        singles.append([{"right": str(float(metric > 0)), "rank": last[0]["rank"],
                         "prob": str(np.exp(-number(last[0]["nats"])))}])
    check_over(over, singles, ["right", "rank", "prob"], items, "score of targets")

    for by in ("text", "token", "word"):
        ends = [" and they said so.", " and he are so there."]
        pairs = [dict(item, good=item["text"] + ends[i % 2], bad=item["text"] + ends[1 - i % 2])
                 for i, item in enumerate(items)]
        for pair in pairs:
            del pair["text"], pair["target"], pair["foil"]
        path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
        singles = []
        for pair in pairs:
            good, bad = (score_words(exact, pair[which], by) for which in ("good", "bad"))
            singles.append([{"good": str(good), "bad": str(bad), "difference": str(good - bad),
                             "right": str(float(good > bad))}])
        check_over([*over, "--by", by], singles, ["good", "bad", "difference", "right"], items,
                   f"score of pairs by {by}")
        texts = [dict(id=pair["id"], text=pair["bad"], number=pair["number"], near=pair["near"])
                 for pair in pairs]
        path.write_text("".join(json.dumps(text) + "\n" for text in texts))
        singles = [[{"nats": str(-number(single[0]["bad"])),
                     "bits": str(-number(single[0]["bad"]) / np.log(2))}] for single in singles]
        check_over([*over, "--by", by], singles, ["nats", "bits"], items,
                   f"score of texts by {by}")


def make_pairs():
    pairs = []
    for i, noun in enumerate(NOUNS * 2):
        a, b = (noun, noun + "s") if i % 3 else (noun + "s", noun)
        pairs.append({"clean": f"The {a} near the {NOUNS[(i + 1) % 6]}",
                      "corrupted": f"The {b} near the {NOUNS[(i + 1) % 6]}",
                      "target": " is" if i % 3 else " are", "foil": " are" if i % 3 else " is",
                      "pos.noun": a, "pos.rest": "2-3,4"})
    return pairs


def check_patch(options, pairs, path):
    """Over PAIRS: means, and effects as ratios of means, of each resample too."""
    exact = ["patch", "-q", "--precision", "17", *options]
    singles = [attn(*exact, "--clean", pair["clean"], "--corrupted", pair["corrupted"], "--target",
                    pair["target"], "--foil", pair["foil"], "--csv", "-",
                    *(place for name in ("noun", "rest") if "z" not in options
                      for place in ("--positions", f"{name}={pair['pos.' + name]}")))
               for pair in pairs]
    rows = attn(*exact, "--items", path, "--csv", "-", "--bootstrap", f"{N_RESAMPLE}:{SEED}",
                "--stats", "interval=80")
    assert len(rows) == len(singles[0])
    n = len(pairs)
    generator = np.random.MT19937()
    generator._legacy_seeding(SEED)
    draws = generator.random_raw(N_RESAMPLE * n).reshape(N_RESAMPLE, n) % n
    values = np.array([[number(row["value"]) for row in single] for single in singles])
    changes = values - values[:, :1]
    for at, row in enumerate(rows):
        here = f"patch, row {at}"
        near(number(row["value"]), values[:, at].mean(), here)
        near(number(row["change"]), changes[:, at].mean(), here)
        near(number(row["change_se"]), changes[:, at].std(ddof=1) / np.sqrt(n), here)
        near(number(row["effect"]), changes[:, at].mean() / changes[:, 1].mean(), here)
        ratios = changes[:, at][draws].mean(axis=1) / changes[:, 1][draws].mean(axis=1)
        near([number(row["effect_low"]), number(row["effect_high"])],
             np.percentile(ratios, [10, 90]), here)


def optional(name):
    """The module NAME; None, with a line that says so, where it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"check-study: {name} is not there, skipped")
        return None


def check_agreement(pandas, folder, statistics):
    """The study of the manual: groups as pandas makes them, pairs and conditions as statsmodels."""
    path = pathlib.Path(__file__).parents[2] / "data/experiments/agreement.csv"
    items = pandas.read_csv(path)
    head = ["--sort", "change", "--limit", "1", "--precision", "17", "-q", "--csv", "-"]
    values = []
    for i in range(len(items)): # one by one
        items[i:i + 1].to_csv(folder / "item.csv", index=False)
        row, = attn("score", "-q", "--precision", "17", "--csv", "-", "--items",
                    folder / "item.csv")
        values.append(number(row["value"]))
    items["value"] = values
    items["right"] = items.value > 0
    rows = pandas.DataFrame(attn("score", "-q", "--items", path, "--group-by", "number,attractor",
                                 "--precision", "17", "--csv", "-"))
    groups = items.groupby(["number", "attractor"], sort=False)
    found = groups.value.agg(["mean", "std", "sem", "count"])
    for ours, theirs in zip(["value", "value_sd", "value_se", "n"], found.columns):
        near(rows[ours].map(number), found[theirs], f"agreement, {theirs}")
    near(rows.right.map(number), groups.right.mean(), "agreement, right")

    # A regression on both factors predicts the means of the four conditions.
    if not statistics:
        return
    fit = statistics.formula.ols("value ~ number * attractor", items).fit()
    near(rows.value.map(number), fit.predict(rows), "agreement, regression", 1e-9)
    paired = items.pivot(index="id", columns="attractor", values="value")
    test = statistics.stats.DescrStatsW(paired.other - paired.same)
    row, = [row for row in attn("ablate", "--items", path, "--paired", "attractor=same:other",
                                *head) if row["part"] == "base"]
    near(number(row["value"]), test.mean, "agreement, pairs")
    near(number(row["value_se"]), test.std_mean, "agreement, pairs")
    assert int(row["n"]) == test.nobs


def check_manual(folder):
    """The manual's lines of pandas and statsmodels run, and find the means of its table."""
    root = pathlib.Path(__file__).parents[2]
    items = root / "data/experiments/agreement.csv"
    manual = (root / "cmd/manual/tutorial/a-study.md").read_text("utf-8")
    block = re.search(r"^```py\n(.*?)^```$", manual, re.M | re.S).group(1)
    exact = ["ablate", "-q", "--precision", "17", "--items", items, "--csv", "-"]
    attn(*exact, "--each", folder / "each.csv")
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        names = {}
        exec(block, names)
    assert "Converged:" in printed.getvalue()
    groups = names["head"].groupby(["number", "attractor"], sort=False).change
    rows = [row for row in attn(*exact, "--group-by", "number,attractor")
            if row["layer"] == "2" and row["head"] == "5"]
    near([number(row["change"]) for row in rows], groups.mean(), "manual, means")
    near([number(row["change_se"]) for row in rows], groups.sem(), "manual, se")


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    items = make_items()
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    check_command("ablate", ["--by", "layer"], ["value", "change", "kl", "same_top"], items,
                  path)
    check_command("lens", ["--sites", "resid_mid"], ["target_rank", "prob", "logit", "value"], items,
                  path)
    check_command("attribute", [], ["attribution"], items, path)
    check_score(items, path)
    check_heads(items, path)
    pairs = make_pairs()
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    check_patch([], pairs, path)
    check_patch(["--site", "z"], pairs, path)
    pandas, statistics = optional("pandas"), optional("statsmodels.api")
    if pandas:
        check_agreement(pandas, folder, statistics)
    if pandas and statistics:
        check_manual(folder)
    print("check-study: tables over items are numpy's of single runs"
          + (", pandas's and statsmodels's of groups" if pandas and statistics else ""))


if __name__ == "__main__":
    main()
