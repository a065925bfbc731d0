"""BertViz and CircuitsVis take what a result gives, as it is."""
import unittest

import numpy as np

from support import KEYS, TestCase, model


def module(name):
    try:
        return __import__(name, fromlist=["attention"])
    except ImportError as problem:
        raise unittest.SkipTest(f"there is no {name}: {problem}")


class BertViz(TestCase):
    def test_head_view(self):
        view = module("bertviz.head_view").head_view
        r = model().run(KEYS, sites="pattern")
        page = view(r.attentions, r.tokens, html_action="return")
        self.assertIn("cabinet", page.data)
        view(r.attentions, r.tokens, html_action="return", include_layers=[1, 2], heads=[3])

    def test_model_view(self):
        view = module("bertviz.model_view").model_view
        r = model().run(KEYS, sites="pattern")
        page = view(r.attentions, r.tokens, html_action="return")
        self.assertIn("cabinet", page.data)
        view(r.attentions, r.tokens, html_action="return", include_layers=[1], include_heads=[3, 4])


class CircuitsVis(TestCase):
    def test_attention_patterns(self):
        visual = module("circuitsvis.attention")
        r = model().run(KEYS, sites="pattern")
        for attention in (r.cache["blocks.2.attn.hook_pattern"], r.pattern[2], r.attentions[2][0]):
            page = visual.attention_patterns(tokens=r.tokens, attention=attention)
            self.assertIn("cabinet", str(page))
            visual.attention_heads(attention=attention, tokens=r.tokens)


class Torch(TestCase):
    def test_functions_of_torch_take_attentions(self):
        torch = module("torch")
        attentions = model().run(KEYS, sites="pattern").attentions
        stacked = torch.stack(attentions)
        self.assertEqual(tuple(stacked.shape), (4, 1, 8, 5, 5))
        np.testing.assert_array_equal(stacked[2, 0].numpy(), attentions[2][0])
        self.assertEqual(attentions[0].size(1), 8)
        self.assertEqual(attentions[0].size, 8 * 25)
        self.assertEqual(tuple(torch.mean(attentions[1], dim=1).shape), (1, 5, 5))


if __name__ == "__main__":
    unittest.main()
