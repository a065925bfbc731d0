"""Arguments that do not fit, or do not go together: errors that name them, where they were ignored or wrapped."""
import inspect
import tempfile
import unittest

import numpy as np

import attn
from support import KEYS, TEXT, TestCase, model

KEY = "The key to the cabinet"
ARE = {"target": " are"}


class Arguments(TestCase):
    def test_unknown_keywords_have_the_nearest_one(self):
        m = model()
        for meant, ask in (
                ("sites", lambda: m.run(KEYS, site="z")), ("target", lambda: m.ablate(KEYS, targett=" are")),
                ("group_by", lambda: m.ablate(items=[{"text": KEYS}], group="x")), ("n", lambda: m.generate(KEYS, max_new_tokens=3)),
                ("n", lambda: m.generate(KEYS, max_tokens=3)), ("top_k", lambda: m.generate(KEYS, topk=3)),
                ("temperature", lambda: m.generate(KEYS, temp=1)), ("layers", lambda: list(m.map([KEYS], layer=1))),
                ("measures", lambda: list(m.map([KEYS], measure="max"))), ("heads", lambda: m.run(KEYS).svg(headss="1.1")),
                ("colormap", lambda: m.heads(KEYS).plot(colourmap="x").svg()), ("scale", lambda: attn.attend(scal="off"))):
            self.assert_raises(TypeError, f"did you mean '{meant}'?", ask)
        with self.assertRaisesRegex(TypeError, "^unexpected keyword argument 'zzzz'$"):
            m.run(KEYS, zzzz=1)

    def test_questions_are_about_conversations(self):
        """messages= is an input of every question, as on the command line."""
        m, talk = model(), [{"role": "user", "content": "The keys to the cabinet near the door"}, {"role": "assistant", "content": " are"}]
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
            file.write("{% for m in messages %}{{ m.content }}{% endfor %}")
            file.flush()
            how = {"messages": talk, "chat": file.name}
            text = "".join(message["content"] for message in talk)
            for ask in (lambda **given: m.heads(heads="1.0", **given), lambda **given: m.ablate(target="the", by="layer", **given),
                        m.sinks, m.lens, lambda **given: m.attribute(target="the", **given)):
                self.assertEqual(list(ask(**how)), list(ask(text=text)))
            self.assertEqual(m.generate(n=2, **how).continuation, m.generate(text, n=2).continuation)
            self.assertEqual(m.score(**how)["token"].tolist(), [" are"])
            self.assertEqual(m.spans(by="span", **how)["span"].tolist()[0], "0_user")

    def test_lists_of_messages_are_conversations(self):
        m, talk = model(), [{"role": "user", "content": KEYS}]
        self.assert_raises(attn.InvalidError, "'fable' has no chat template", lambda: m.run(messages=talk))
        self.assert_raises(TypeError, "text is a list of messages, expected a text: give it as messages=", lambda: m.run(talk))
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
            file.write("{{ messages[0].content }}{{ tools[0].name }}{{ quick is false }}")
            file.flush()
            one = m.run(messages=talk, chat=file.name, chat_set={"quick": False}, tools=[{"name": " are"}], sites=[], top=1)
        self.assertEqual("".join(one.tokens), talk[0]["content"] + " areTrue")
        self.assert_raises(TypeError, "text is a list of texts, expected one; Model.map takes many", lambda: m.run([KEYS, KEY]))
        self.assert_raises(TypeError, "text is a list, expected one text: [model.tokenize(", lambda: m.tokenize([KEYS, KEY]))
        self.assert_raises(TypeError, "target is the list [' are'], expected one text or one token id", lambda: m.run(KEYS, target=[" are"]))

    def test_numbers_are_whole_and_in_range(self):
        m = model()
        for name, least, call in (
                ("top", 0, lambda x: m.run(KEYS, top=x)), ("seed", 0, lambda x: m.run(KEYS, dropout=0.1, seed=x)),
                ("target", 0, lambda x: m.run(KEYS, target=x)), ("threads", 0, lambda x: attn.open("fable", threads=x)),
                ("limit", 0, lambda x: m.heads(KEYS, limit=x)), ("runs", 1, lambda x: m.probe("induction", runs=x)),
                ("top", 1, lambda x: m.lens(KEYS, top=x)), ("control", 0, lambda x: m.ablate(KEYS, **ARE, control=x)),
                ("control", 0, lambda x: m.patch(KEYS, KEY, **ARE, site="z", control=x)),
                ("verify", 0, lambda x: m.patch(KEYS, KEY, **ARE, site="z", estimate="atp", verify=x)),
                ("top", 0, lambda x: m.lens(KEYS, top=x)), ("stride", 0, lambda x: m.score(KEYS, stride=x)),
                ("limit", 0, lambda x: m.attribute(KEYS, **ARE, method="attn_x_grad", limit=x)),
                ("limit", 0, lambda x: m.heads(KEYS, by="pair", limit=x)), ("n", 1, lambda x: m.generate(KEYS, x)),
                ("top_k", 0, lambda x: m.generate(KEYS, temperature=1, top_k=x)),
                ("bootstrap", 0, lambda x: m.score(items=[{"text": KEYS}], bootstrap=x)),
                ("max_errors", 0, lambda x: m.score(items=[{"text": KEYS}], max_errors=x)),
                ("precision", -1, lambda x: m.heads(KEYS).render("csv", precision=x)),
                ("limit", 0, lambda x: m.heads(KEYS).sort(limit=x))):
            for value in (least - 1, 2**70):
                self.assert_raises(ValueError, (name, f"is {value}, expected"), call, value)
            self.assert_raises(TypeError, (name, "is 1.5, expected a whole number"), call, 1.5)
            self.assert_raises(TypeError, (name, "expected a whole number"), call, np.True_)
        self.assert_same(m.run(KEYS, target=np.int64(7)).predictions.metric["value"],
                         m.run(KEYS, target=7).predictions.metric["value"])

    def test_choices(self):
        m = model()
        for method in ("ig:0", "ig:x", "ig:", "saliency:3", "ig:-1", "saliences", 3):
            self.assert_raises(ValueError, ("method", "'ig:N'"), m.attribute, KEYS, **ARE, method=method)
        self.assert_raises(ValueError, ("estimate", "'ig:N'"), m.patch, KEYS, KEY, **ARE, site="z", estimate="atp:3")
        for by in ("neuron", "neuron:x", "neuron:L", "neuron:-1", "head:1", "heads"):
            self.assert_raises(ValueError, ("by", "neuron:L"), m.ablate, KEYS, **ARE, by=by)
        self.assert_raises(ValueError, ("special", "'parse', 'text'"), m.tokenize, TEXT, special="all")

    def test_what_would_be_ignored_is_refused(self):
        m, two = model(), (KEYS, KEY)
        for words, call in (
                ("there is no text, expected one of a text, image, messages, items", lambda: m.heads()),
                ("there is no text", lambda: m.heads(by="pair")),
                ("a text and items are given", lambda: m.lens(KEYS, items=[KEY])),
                ("unexpected keyword argument 'probe'", lambda: m.heads(KEYS, probe="induction")),
                ("item 1 is int, expected a text or a dict", lambda: m.heads(items=[KEYS, 1])),
                ("references is one text", lambda: m.ablate(
                    KEYS, **ARE, replacement="mean", references=KEY)),
                ("unexpected keyword argument 'runs'", lambda: m.heads(KEYS, runs=2)), ("metric need effect", lambda: m.heads(KEYS, **ARE)),
                ("references needs replacement", lambda: m.ablate(KEYS, **ARE, references=[KEY])),
                ("verify needs estimate", lambda: m.patch(*two, **ARE, verify=3)),
                ("positions is 'keys', expected a dict", lambda: m.patch(*two, **ARE, positions="keys")),
                ("metric needs a method", lambda: m.attribute(KEYS, **ARE, metric="prob")),
                ("merge_words needs a method", lambda: m.attribute(KEYS, **ARE, merge_words=True)),
                ("baseline is for method ig", lambda: m.attribute(KEYS, **ARE, method="saliency", baseline="zero")),
                ("there is one text, expected a second", lambda: m.diff(KEYS)),
                ("compare one text, two are given", lambda: m.diff(*two, with_attention="window:2"))):
            self.assert_raises(TypeError, words, call)
        self.assert_same(m.ablate(KEYS, **ARE, sets="3.6")["value"], m.ablate(KEYS, **ARE, sets=["3.6"])["value"])

    def test_questions_are_told_by_the_library(self):
        for name in ("ablate", "align", "attribute", "diff", "heads", "lens", "patch", "score"):
            method = getattr(attn.Model, name)
            taken = list(inspect.signature(method).parameters)
            for argument in taken[1 if name == "patch" else 0:]:
                if argument not in ("self", "text", "clean", "corrupted", "a", "b"):
                    self.assertRegex(method.__doc__, rf"\n *{argument} +\S", (name, argument))
        self.assertEqual(inspect.signature(attn.Model.ablate).parameters["by"].default, "head")
        m = model()
        self.assert_same(m.patch(KEYS, KEY, **ARE, site="z", direction="restore")["effect"],
                         m.patch(KEYS, KEY, **ARE, site="z")["effect"])
        self.assert_same(m.patch(KEYS, KEY, **ARE, site="z", estimate="atp", verify=0)["estimate"],
                         m.patch(KEYS, KEY, **ARE, site="z", estimate="atp", verify=2)["estimate"])
        self.assert_raises(ValueError, "by is 'mean', expected 'text', 'token', 'word'",
                           m.score, items=[{"text": KEYS}], by="mean")

    def test_no_sites_are_no_tensors(self):
        m = model()
        r = m.run(KEYS, sites=[], top=1)
        self.assertEqual((dict(r.cache), r.tokens[1], len(r.predictions.top)), ({}, " keys", 1))
        self.assertIn("<svg", r.svg())
        self.assertEqual(dict(attn.attend(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)), sites=[]).cache), {})
        self.assert_raises(TypeError, "sites is empty", m.run, KEYS, sites=[], on_event=print)
        self.assert_raises(ValueError, "sites is empty", r.svg, sites=[])

    def test_ids_are_the_text(self):
        for name in ("ids", "embeddings"):
            self.assert_raises(TypeError, (f"'{name}'", "in place of the text"), model().run, **{name: [1, 2]})

    def test_projections_take_a_direction_out(self):
        m, v = model(), np.random.default_rng(6).normal(size=128).astype("f4")
        for queries in (None, "keys"):
            at = slice(None) if queries is None else 1
            out = m.run(KEYS, sites="resid_post", layers=1, edits=attn.project("resid_post", v, layer=1, queries=queries, offset=-4))
            np.testing.assert_allclose((out.resid_post[1] @ v)[at] / np.linalg.norm(v), -4, rtol=1e-5)
        out = m.run(KEYS, sites="resid_post", layers=1, edits=attn.project("resid_post", v, layer=1, factor=0))
        self.assert_same(out.resid_post[1], m.run(KEYS, sites="resid_post", layers=1).resid_post[1])

    def test_queries_of_edits_are_words(self):
        m, rows = model(), np.random.default_rng(5).normal(size=(2, 128))
        one = m.run(KEYS, edits=attn.add("resid_pre", rows[0], layer=1, queries="keys"))
        self.assert_same(one.logits, m.run(KEYS, edits=attn.add("resid_pre", rows[0], layer=1, queries=1)).logits)
        self.assertTrue((one.logits[1] != m.run(KEYS).logits[1]).any())
        two = m.run(KEYS, edits=attn.replace("resid_pre", rows, layer=1, queries="keys,-1")).logits
        parts = [attn.replace("resid_pre", rows[i], layer=1, queries=at) for i, at in enumerate((1, 4))]
        self.assert_same(two, m.run(KEYS, edits=parts).logits)
        both = m.run(KEYS, edits=attn.add("resid_pre", rows[0], layer=1, queries="keys,cabinet")).logits
        parts = [attn.add("resid_pre", rows[0], layer=1, queries=at) for at in (1, 4)]
        self.assert_same(both, m.run(KEYS, edits=parts).logits)
        off = attn.zero("z", head="2.5", queries="cabinet")
        self.assert_same(m.run(KEYS, edits=off).logits, m.run(KEYS, edits=attn.zero("z", head="2.5", queries=4)).logits)
        self.assertNotEqual(one.svg(sites="z"), m.run(KEYS).svg(sites="z"))
        self.assert_raises(ValueError, ("2 rows", "'keys'"), m.run, KEYS, edits=attn.add("resid_pre", rows, queries="keys"))
        self.assert_raises(attn.InvalidError, "'dog' does not occur", m.run, KEYS, edits=attn.zero("z", queries="dog"))
        self.assert_raises(TypeError, ("'keys'", "Model.run"), lambda: list(m.map([KEYS], edits=attn.zero("z", queries="keys"))))

    def test_what_goes_with_one_text_is_given_with_it(self):
        m = model()
        for given in ({"pair": "a"}, {"key_mask": [1]}, {"types": [0]}):
            for call in (m.map, lambda x, **kw: m.heads(items=[{"text": KEYS}], **kw),
                         lambda x, **kw: m.probe("induction", **kw)):
                self.assert_raises(TypeError, (*given, "goes with one text"), lambda: list(call([KEYS], **given)))
        for given in ({"source": "a"}, {"image": "a.png"}):
            self.assert_raises(TypeError, (*given, "goes with one text"), lambda: list(m.map([KEYS], **given)))

    def test_arrays_are_alone(self):
        q = np.ones((3, 4), np.float32)
        for given in ({"key_mask": [1, 1, 0]}, {"image": "cat.png"}, {"pair": "b"}, {"types": [0, 0, 0]}, {"labels": ["a"]}):
            self.assert_raises(attn.InvalidError, "arrays are given beside", attn.attend, q, q, q, **given)

    def test_a_live_page_is_of_what_its_reader_types(self):
        m = model()
        for words, run, options in (
                ("ids or embeddings", m.run([1, 2]), {}), ("queries", m.run(KEYS, queries=0), {}),
                ("edits", m.run(KEYS, edits=attn.zero("z", head="2.1")), {}),
                ("grad", m.run(KEYS, **ARE, grad=True, sites="pattern"), {}), ("format is 'svg'", m.run(KEYS), {"format": "svg"})):
            self.assert_raises(TypeError, words, run.render, **{"format": "html", "live": True, **options})
        self.assert_raises(TypeError, "story needs live", m.run(KEYS).render, "html", story="story.json")
        self.assert_raises(TypeError, "live_words needs live", m.run(KEYS).render, "html", live_words="words.json")
        try:
            page = m.run(KEYS).render("html", live=True)
        except attn.FileError:
            self.skipTest("there is no attn.wasm")
        self.assertGreater(len(page), len(m.run(KEYS).render("html")) + (1 << 20))
        self.assertLess(len(m.run(KEYS).render("html", live=1)), len(page) - (1 << 20))
        translator = attn.open("interpreter")
        self.assertIn(b'"reading":[["source","The cat"]]', translator.run("", source="The cat").render("html", live=True))
        self.assert_raises(TypeError, "source", translator.run("", source=[1, 2]).render, "html", live=True)
        self.assert_raises(attn.FileError, "no-story", m.run(KEYS).render, "html", live=True, story="no-story")


if __name__ == "__main__":
    unittest.main()
