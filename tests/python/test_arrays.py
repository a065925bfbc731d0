"""attn.attend beside numpy in double precision; arrays of every type and layout."""
import unittest

import numpy as np

import attn
from support import TestCase

random = np.random.default_rng(7)


def reference(q, k, v, allowed=True):
    scores = np.einsum("...te,...se->...ts", q.astype(float), k.astype(float)) / np.sqrt(q.shape[-1])
    scores = np.where(allowed, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights, weights @ v.astype(float)


def arrays(*shape, n_key=None):
    q = random.standard_normal(shape).astype(np.float32)
    shape = (*shape[:-2], n_key or shape[-2], shape[-1])
    return q, random.standard_normal(shape).astype(np.float32), random.standard_normal((*shape[:-1], 5)).astype(np.float32)


class Attend(TestCase):
    def test_axes_are_those_of_the_arrays(self):
        for shape in ((6, 4), (3, 6, 4), (2, 3, 6, 4), (1, 1, 1, 1)):
            q, k, v = arrays(*shape)
            r = attn.attend(q, k, v)
            weights, z = reference(q, k, v)
            self.assertEqual(r.pattern.shape, weights.shape)
            np.testing.assert_allclose(r.pattern, weights, atol=1e-6)
            np.testing.assert_allclose(r.z, z, atol=1e-5)
            self.assertIsInstance(r.z, np.ndarray)

    def test_kinds_and_masks(self):
        q, k, v = arrays(3, 9, 4)
        i, j = np.indices((9, 9))
        drawn = random.random((9, 9)) < 0.6
        np.fill_diagonal(drawn, True)
        for options, allowed in ((dict(attention="window:3"), abs(i - j) < 3), (dict(mask="causal"), j <= i),
                                 (dict(mask=drawn), drawn), (dict(mask=drawn.astype(np.float64)), drawn),
                                 (dict(mask=np.asfortranarray(drawn.astype(int))), drawn),
                                 (dict(attention="block:4", mask="causal"), (i // 4 == j // 4) & (j <= i))):
            r = attn.attend(q, k, v, **options)
            weights, z = reference(q, k, v, allowed)
            np.testing.assert_allclose(r.pattern, weights, atol=1e-6)
            np.testing.assert_allclose(r.z, z, atol=1e-5)

    def test_other_types_and_layouts_give_the_same_bits(self):
        q, k, v = arrays(2, 3, 6, 4)
        want = attn.attend(q, k, v)
        wide = np.zeros((2, 3, 6, 8), np.float32)
        wide[..., ::2] = q
        turned = np.ascontiguousarray(q.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
        unaligned = np.frombuffer(b"x" + q.tobytes(), np.uint8)[1:].view(np.float32).reshape(q.shape)
        for other in (q.astype(np.float64), np.asfortranarray(q), wide[..., ::2], turned, q[::-1][::-1], unaligned,
                      q.astype(">f4"), q.tolist()):
            self.assert_same(attn.attend(other, k, v).pattern, want.pattern)
        half = q.astype(np.float16)
        self.assert_same(attn.attend(half, k, v).pattern, attn.attend(half.astype(np.float32), k, v).pattern)
        self.assertEqual(attn.attend(np.ones((3, 2), int), np.ones((3, 2)), np.ones((3, 2))).pattern[0, 0],
                         np.float32(1 / 3))

    def test_inputs_are_not_changed(self):
        q, k, v = arrays(3, 6, 4)
        before = q.copy(), k.copy(), v.copy()
        for array in (q, k, v):
            array.setflags(write=False)
        attn.attend(q, k, v)
        for a, b in zip((q, k, v), before):
            self.assert_same(a, b)

    def test_scores_and_sites(self):
        q, k, v = arrays(6, 4)
        scores = (q @ k.T).astype(np.float32)
        r = attn.attend(scores=scores, v=v, scale=False, sites="pattern,qk,z")
        self.assert_same(r.qk, scores)
        np.testing.assert_allclose(r.pattern.sum(-1), 1, rtol=1e-6)
        self.assertFalse(hasattr(attn.attend(scores=scores), "z"))
        self.assertEqual(attn.attend(*arrays(4, 6, 4), heads=[0, 2]).pattern.shape, (2, 6, 6))
        self.assertEqual(list(attn.attend(q, k, v).cache), ["pattern", "z"])
        self.assertEqual([a.shape for a in attn.attend(*arrays(3, 6, 4)).attentions], [(1, 3, 6, 6)])
        self.assertEqual([a.shape for a in attn.attend(q, k, v).attentions], [(1, 1, 6, 6)])

    def test_pictures_and_events(self):
        q, k, v = arrays(6, 4)
        self.assertIn("<svg", attn.attend(q, k, v).svg())
        events = []
        attn.attend(q, k, v, sites="z", on_event=lambda event: events.append(event.data.copy()))
        self.assert_same(np.concatenate(events), attn.attend(q, k, v).z)

    def test_what_cannot_be(self):
        q, k, v = arrays(6, 4)
        for words, arguments, options, kind in (
                ("q", (q.astype(complex), k, v), {}, TypeError), ("bool", (q > 0, k, v), {}, TypeError),
                ("<U", (np.full((6, 4), "a"), k, v), {}, TypeError), ("object", (q.astype(object), k, v), {}, TypeError),
                ("[T, E]", (q[0], k, v), {}, ValueError), ("[T, E]", (q[None, None, None], k, v), {}, ValueError),
                ("", (q, k[:, :3], v), {}, attn.InvalidError), ("", (q, k[:5], v), {}, attn.InvalidError),
                ("", (q[:0], k, v), {}, attn.InvalidError), ("", (q, None, v), {}, attn.InvalidError),
                ("", (), {}, attn.InvalidError), ("mask", (q, k, v), dict(mask=np.full((6, 6), 2)), ValueError),
                ("mask", (q, k, v), dict(mask="diagonal"), ValueError), ("mask", (q, k, v), dict(mask=np.ones(6)), ValueError),
                ("", (q, k, v), dict(mask=np.ones((5, 6))), attn.InvalidError),
                ("attention", (q, k, v), dict(attention=3), TypeError), ("unexpected", (q, k, v), dict(width=3), TypeError),
                ("masked", (np.ma.masked_less(q, 0), k, v), {}, TypeError),
                ("masked", (q, k, v), dict(mask=np.ma.masked_equal(np.eye(6), 0)), TypeError),
                ("window", (q, k, v), dict(attention="window:0"), attn.InvalidError),
                ("threads", (q, k, v), dict(threads=-1), ValueError)):
            self.assert_raises(kind, words, attn.attend, *arguments, **options)


if __name__ == "__main__":
    unittest.main()
