#!/usr/bin/env python3
"""Write the probes: prompts of held-out combinations, with the right and the wrong next token.

    python3 data/probes/make_probes.py data/probes

One file a probe: lines of prompt, right, wrong, kind, right_at, wrong_at, separated by tabs.
right_at is the position of the token that a head should look at from the last row of the prompt,
wrong_at those that it should not (with commas), "-" where there is none. Each word of a prompt is
one token of models/fable. Only the standard library is used.
"""

import collections
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))

from generate import BRACKETS, SPOTS, SUBJECTS, VERBS, article, number_of, upper  # noqa: E402
from lexicon import (  # noqa: E402
    ANIMAL_ADJECTIVES,
    ANIMAL_NAMES,
    BEFORE,
    DID,
    GAVE,
    GIFTS,
    MEN,
    NAMES,
    NEAR,
    PERSON_NAMES,
    PLACE_ADJECTIVES,
    PLACE_DID,
    PLACE_NAMES,
    SAID_OF,
    SENSES,
    SHOPS,
    THING_NAMES,
    TRAITS,
    WOMEN,
    held_out,
    names_held_out,
)

Item = collections.namedtuple("Item", "prompt right wrong kind right_at wrong_at")
PIECE = re.compile(
    r"'t| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+"
)  # GPT-2's rule, as far as the corpus needs it
SEED = 7
ITEMS = 300


def at(prompt, *words):
    """Positions of the pieces that are one of the words."""
    return [i for i, piece in enumerate(PIECE.findall(prompt)) if piece.strip() in words]


def pairs(kind, firsts, seconds):
    return [(a, b) for a in firsts for b in seconds if a != b and held_out(kind, a, b)]


def agreement(rng, attractors):
    """The keys to the cabinet -> are, not is; the nouns between are not of the subject's number."""
    verb = rng.choice([("is", "are"), ("was", "were"), ("seems", "seem"), ("has", "have")])
    plural = rng.random() < 0.5
    if attractors == 0:
        word, noun = rng.choice(pairs("adjective", BEFORE, SUBJECTS))
        start = rng.choice(
            ["The", f"{rng.choice(NAMES)} {rng.choice(['said', 'knew', 'thought'])} that the"]
        )
        prompt, others = f"{start} {word} {number_of(noun, plural)}", []
    else:
        noun, first = rng.choice(pairs("agreement", SUBJECTS, SUBJECTS))
        seconds = [
            other
            for other in SUBJECTS
            if other not in (noun, first) and held_out("agreement", noun, other)
        ]
        others = [first] + ([rng.choice(seconds)] if attractors == 2 and seconds else [])
        if len(others) < attractors:
            return agreement(rng, attractors)
        others = [number_of(other, not plural) for other in others]
        prompt = f"The {number_of(noun, plural)}"
        joins = [rng.choice(["to", "of", "with"] + NEAR)] + [rng.choice(NEAR)]
        for join, other in zip(joins, others):
            prompt += f" {join} the {other}"
    right_at = at(prompt, number_of(noun, plural))[:1]
    return Item(
        prompt,
        " " + verb[plural],
        " " + verb[not plural],
        str(attractors),
        right_at if others else [],
        at(prompt, *others),
    )


def coreference(rng):
    kind = rng.choice(["crossing", "cue_first", "giving"])
    if kind == "giving":
        while True:
            giver, taker = rng.sample(NAMES, 2)
            if names_held_out(giver, taker) and (giver in MEN) != (taker in MEN):
                break
        who, other = rng.sample((giver, taker), 2)
        trait = rng.choice(TRAITS)
        prompt = (
            f"{giver} {rng.choice(GAVE)} the {rng.choice(GIFTS)} to {taker} because "
            f"{'he' if who in MEN else 'she'} was {trait}. The {trait} one was"
        )
        return Item(prompt, " " + who, " " + other, kind, at(prompt, who), at(prompt, other))
    animal, place = rng.choice(pairs("coreference", ANIMAL_NAMES, PLACE_NAMES))
    noun, other = rng.sample((animal, place), 2)
    adjective = rng.choice(ANIMAL_ADJECTIVES if noun == animal else PLACE_ADJECTIVES[place])
    if kind == "crossing":
        verb = rng.choice(
            ["didn't cross", "couldn't cross", "did not cross", "didn't enter", "didn't leave"]
        )
        prompt = f"The {animal} {verb} the {place} because it was too {adjective}."
        prompt += f" The {adjective} one was the"
        return Item(prompt, " " + noun, " " + other, kind, at(prompt, noun), at(prompt, other))
    did = {animal: DID[animal], place: PLACE_DID[place]}
    start = rng.choice(["Because the", "When the", "The"])
    prompt = f"{start} {noun} {rng.choice(['near', 'by', 'beside'])} the {other} was {adjective},"
    prompt += " so it" if start == "The" else " it"
    return Item(
        prompt,
        " " + rng.choice(did[noun]),
        " " + rng.choice(did[other]),
        kind,
        at(prompt, noun),
        at(prompt, other),
    )


def indirect_object(rng):
    """When Mary and John went to the store, John gave a drink to -> Mary."""
    while True:
        one, two = rng.sample(NAMES, 2)
        if names_held_out(one, two):
            break
    giver, taker = rng.sample((one, two), 2)
    went, shop = rng.choice(["went to", "were at", "came to", "walked to"]), rng.choice(SHOPS)
    gave = f"{giver} {rng.choice(GAVE)} {article(rng.choice(GIFTS))} to"
    start = rng.choice(["When ", "After ", "While ", ""])
    prompt = f"{start}{one} and {two} {went} the {shop}{',' if start else '.'} {gave}"
    return Item(
        prompt,
        " " + taker,
        " " + giver,
        "first" if taker == one else "second",
        at(prompt, taker),
        at(prompt, giver),
    )


def sense(rng):
    """I saw the pond and the cup. The bank was -> muddy, not rich."""
    word = rng.choice(list(SENSES))
    which = rng.randrange(2)
    cues, may_be = SENSES[word][which]
    combinations = pairs("sense", cues, may_be)
    if not combinations:
        return sense(rng)
    cue, right = rng.choice(combinations)
    wrong = rng.choice(SENSES[word][1 - which][1])
    who = rng.choice(["I", "We", "She", "He", rng.choice(NAMES), "The " + rng.choice(PERSON_NAMES)])
    saw = rng.choice(["saw", "noticed", "found", "thought about", "looked at"])
    other = rng.choice(THING_NAMES)
    was = rng.choice(["was", "looked", "seemed"])
    prompt = rng.choice(
        [
            f"{who} {saw} the {cue}. The {word} {was}",
            f"{who} {saw} the {cue} and the {other}. The {word} {was}",
            f"{who} {saw} the {other} and the {cue}. The {word} {was}",
            f"{who} {saw} the {other} and the {cue}, and the {word} {was}",
        ]
    )
    wrong_at = at(prompt, other)
    return Item(
        prompt, " " + right, " " + wrong, word, at(prompt, cue) if wrong_at else [], wrong_at
    )


def induction(rng):
    """Words in no order, said twice: in the second half each is followed by what followed it in the
    first."""
    words = (
        SUBJECTS
        + ANIMAL_NAMES
        + NAMES
        + PLACE_NAMES
        + TRAITS
        + sorted({w for words in SAID_OF.values() for w in words})
    )
    words = rng.sample(sorted(set(words)), rng.randint(8, 40))
    cut = rng.randint(1, len(words) - 1)
    prompt = "The " + " ".join(words + words[:cut])
    right, last = words[cut], cut
    wrong = rng.choice([word for word in words if word != right])
    return Item(prompt, " " + right, " " + wrong, "words", [1 + cut], [last])


def brackets(rng):
    """What was opened last is closed first; quotes close after the full stop, where one was
    opened."""
    kind = rng.choice(["inner", "outer", "quote", "no_quote"])
    if kind.endswith("quote"):
        name, verb = rng.choice(NAMES), rng.choice(["said", "answered"])
        noun, plural = rng.choice(SUBJECTS), rng.random() < 0.5
        word = rng.choice(BEFORE)
        while not held_out("adjective", word, noun):
            word, noun = rng.choice(BEFORE), rng.choice(SUBJECTS)
        verb_of_noun = rng.choice(VERBS[:2])[plural]
        said = f"the {word} {number_of(noun, plural)} {verb_of_noun} {rng.choice(SAID_OF[noun])}"
        if kind == "quote":
            return Item(f'{name} {verb}, "{upper(said)}', '."', ".", kind, [], [])
        return Item(f"{name} {verb} that {said}", ".", '."', kind, [], [])
    one, two = rng.choice(pairs("inside", THING_NAMES, THING_NAMES))
    outer, inner = rng.sample(BRACKETS, 2)
    prompt = f"The {one} {outer[0]}with the {two} {inner[0]}the {rng.choice(SAID_OF[two])} one"
    if kind == "inner":
        return Item(prompt, inner[1], outer[1], kind, at(prompt, inner[0]), at(prompt, outer[0]))
    three = rng.choice([noun for noun in THING_NAMES if noun not in (one, two)])
    prompt += f"{inner[1]} and the {three}"
    return Item(
        prompt, outer[1], inner[1], kind, at(prompt, outer[0]), at(prompt, inner[0], inner[1])
    )


def distinct(make, rng, count):
    """So many items, no prompt twice; right and wrong differ."""
    items = {}
    while len(items) < count:
        item = make(rng)
        if item.right != item.wrong:
            items.setdefault(item.prompt, item)
    return list(items.values())


def all_probes(seed=SEED, items=ITEMS):
    rng = random.Random(seed)
    return {
        "agreement": [
            item
            for count in range(3)
            for item in distinct(lambda r, count=count: agreement(r, count), rng, items)
        ],
        "coreference": distinct(coreference, rng, items),
        "indirect_object": distinct(indirect_object, rng, items),
        "sense": distinct(sense, rng, items),
        "induction": distinct(induction, rng, items),
        "brackets": distinct(brackets, rng, items),
    }


def main():
    for name, items in all_probes().items():
        with open(os.path.join(sys.argv[1], name + ".tsv"), "w", encoding="utf-8") as file:
            file.write("prompt\tright\twrong\tkind\tright_at\twrong_at\n")
            for item in items:
                places = [
                    ",".join(map(str, place)) or "-" for place in (item.right_at, item.wrong_at)
                ]
                file.write(
                    "\t".join([item.prompt, item.right, item.wrong, item.kind, *places]) + "\n"
                )


if __name__ == "__main__":
    main()
