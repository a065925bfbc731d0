"""Values of wrong types for every argument of every question, run and function of the module: each is a TypeError or a
ValueError that names the argument, an error of this module, or means something. A sample of all calls, drawn by a seed;
ATTN_SWEEP=full makes them all, in about two minutes."""
import contextlib
import inspect
import io
import os
import pathlib
import random
import tempfile
import unittest
import warnings

import numpy as np

import attn
from attn.items import OPTIONS
from attn.request import ATTENTION, Request
from attn.request import OPTIONS as OF_LISTS
from support import KEYS, TestCase, model

KEY = "The key to the cabinet"
ARE = {"target": " are"}
N_CALL = 12000


class Nothing:
    pass


VALUES = (
    None, True, -1, 0, 3, 2**70, 10**400, 1.5, float("nan"), float("inf"), 1j, "", "pattern", "\0", "\ud800", b"x", b"\xff", bytearray(b"x"),
    memoryview(b"x"), memoryview(np.zeros((2, 2), np.float32)), [], (), {}, [None], ["a", 3], [1, 2], [[1, 2], [3]], (1, 2), (1, 2, 3), {"a": 1}, {3: 4}, {1, 2}, range(3), slice(0, 2), object(), Nothing,
    lambda *_: None, attn.zero("z", head="2.1"), np.ones(3), np.ones((2, 2), complex), np.zeros((0, 3)), np.array(3), np.array(["a"]),
    np.array([None]), np.array(["2020"], "M8[D]"), np.float32(1.5), np.True_)

# Methods of a model with arguments that are right; each argument in turn becomes wrong.
CALLS = [
    ("tokenize", (KEYS,), {}), ("decode", ([1, 2],), {}), ("run", (KEYS,), {}), ("run", (KEYS,), {**ARE, "sites": "pattern_grad"}),
    ("map", ([KEYS],), {}), ("map", ([{"text": KEYS}],), {"measures": "entropy"}),
    ("heads", (KEYS,), {}), ("probe", ("induction:4",), {}), ("heads", (KEYS,), {**ARE, "effect": True}), ("ablate", (KEYS,), ARE),
    ("ablate", (KEYS,), {**ARE, "replacement": "mean", "references": [KEY]}), ("patch", (KEYS, KEY), ARE),
    ("patch", (KEYS, KEY), {**ARE, "site": "z", "estimate": "atp"}), ("patch", (KEYS, KEY), {**ARE, "site": "z", "control": 1}),
    ("lens", (KEYS,), {}), ("lens", (KEYS,), ARE), ("attribute", (KEYS,), ARE), ("attribute", (KEYS,), {**ARE, "method": "ig:2"}),
    ("attribute", (KEYS,), {**ARE, "by": "token"}), ("attribute", (KEYS,), {"generated": 1, "method": "saliency"}),
    ("score", (KEYS,), {}), ("diff", (KEYS, KEY), {}), ("diff", (KEYS,), {"with_attention": "window:2"}), ("diff", (KEYS,), {"with_model": model()}),
    ("generate", (KEYS, 2), {}),
    ("generate", (KEYS, 2), {"temperature": 1}), ("align", (KEYS,), {"source": KEY, "method": "argmax"}),
]
ITEM = {"text": KEYS, "target": " are", "foil": " is", "label": "a"}
ITEMS = {"patch": {"clean": KEYS, "corrupted": KEY, **ARE}, "diff": {"a": KEYS, "b": KEY}, "align": {"source": KEY, "text": KEYS}}
OF_A_RUN = (*(name for name in inspect.signature(Request).parameters if name not in ("text", "host", "given", "asked")), *OF_LISTS)
PICTURE = ("figure", "colormap", "title", "theme", "dpi", "font_size", "figure_width", "width", "hide", "renormalize", "merge_words", "precision", "heads", "layers", "queries", "live", "story")

# What a message may name instead: a part of the argument. Else it says what does not go together.
ALSO = {"items": ("item 0", "item 1"), "source": ("a sound",), **dict.fromkeys(("clean", "a", "b", "texts"), ("text is", "text has", "text holds")),
        **dict.fromkeys(("on_event", "on_token", "on_progress"), ("Nothing() takes",))}


def arguments_of(function):
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind != one.VAR_KEYWORD and name != "self"]


def each_argument(function, arguments, keywords, *names):
    """FUNCTION with one argument in turn wrong: (name, call of a value)."""
    first = arguments_of(function)
    for name in dict.fromkeys((*first, *names)):
        if name in first[:len(arguments)]:
            at = first.index(name)
            yield name, lambda value, at=at: function(*arguments[:at], value, *arguments[at + 1:], **keywords)
        else:
            yield name, lambda value, name=name: function(*arguments, **{**keywords, name: value})


def calls_of_a_model(m):
    for name, arguments, keywords in CALLS:
        more = () if name in ("tokenize", "decode") else OF_A_RUN if name in ("run", "map") else (*OF_A_RUN, *OPTIONS)
        for argument, call in each_argument(getattr(m, name), arguments, keywords, *more):
            yield f"{name}({argument})", call
    for name in ("heads", "ablate", "lens", "score", "attribute", "generate", *ITEMS):
        item, method = ITEMS.get(name, ITEM), getattr(m, name)
        for argument, call in each_argument(method, (), {"items": [item]}, *OPTIONS, "positions", "edits"):
            yield f"{name}(items, {argument})", call
        for key in (*item, "id", "at"):
            yield f"{name}(item, {key})", lambda value, key=key, item=item, method=method: method(items=[{**item, key: value}])


def calls_of_the_module(m):
    q = np.ones((3, 4), np.float32)
    for name, arguments, more in (("open", ("fable",), ()), ("attend", (q, q, q), ATTENTION), ("zero", ("z",), ()), ("scale", ("z", 2), ()),
                                  ("replace", ("z", q), ()), ("add", ("z", q), ()), ("mask", (), ())):
        for argument, call in each_argument(getattr(attn, name), arguments, {}, *more):
            yield f"attn.{name}({argument})", call
    table, result = m.heads(KEYS), m.run(KEYS)
    for name in ("sort", "plot", "render", "to_latex"):
        for argument, call in each_argument(getattr(table, name), (), {}, *(PICTURE[:11] if name == "plot" else ())):
            if (name, argument) not in (("plot", "rows"), ("plot", "columns"), ("plot", "values")):  # a KeyError names the columns
                yield f"Table.{name}({argument})", lambda value, call=call: getattr(call(value), "svg", None)
    for argument, call in each_argument(result.render, ("svg",), {}, *PICTURE):
        yield f"Result.render({argument})", call
    for argument, call in each_argument(table.plot().save, ("a.svg",), {}):
        yield f"Picture.save({argument})", call


class WrongTypes(TestCase):
    def attempt(self, where, call, value):
        """Whatever comes back must be gone through: map gives an iterator."""
        name = where.rstrip(")").replace("(", " ").replace(",", "").split()[-1].rstrip("_")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found = call(value)
                if hasattr(found, "__next__"):
                    list(found)
        except attn.Error:
            pass
        except (TypeError, ValueError) as problem:
            if not any(word in str(problem) for word in (name, *ALSO.get(name, ()), "given", "go with", "no text", "one text")):
                return f"{where} is {value!r:.60}: {type(problem).__name__} without its name: {problem}"
        except Exception as problem:
            return f"{where} is {value!r:.60}: {type(problem).__name__}: {problem}"
        return None

    def test_each_is_an_error_that_names_the_argument(self):
        m = model()
        calls = [(where, call, value) for calls in (calls_of_a_model(m), calls_of_the_module(m)) for where, call in calls
                 for value in VALUES]
        if os.environ.get("ATTN_SWEEP") != "full":
            calls = random.Random(1).sample(calls, N_CALL)
        before, folder = os.getcwd(), tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        pathlib.Path("in.jsonl").write_text('{"text": "The keys"}\n')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [self.attempt(*call) for call in calls]
        problems = [problem for problem in found if problem]
        self.assertEqual(problems[:20], [], f"{len(problems)} of {len(calls)}")

    def test_another_model(self):
        for value in ("pattern", 3, [], object()):
            self.assert_raises(TypeError, ("with_model", "expected a Model"), model().diff, KEYS, with_model=value)

    def test_a_number_is_no_path(self):
        self.assert_raises(TypeError, "path is int", model().heads(KEYS).render, "csv", 3)


if __name__ == "__main__":
    unittest.main()
