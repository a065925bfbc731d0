#!/usr/bin/env python3
"""Write English sentences and their Chinese to standard output: what models/interpreter is trained on.

    python3 data/corpus/pairs.py --seed 1 --sentences 100000 > pairs.tsv
    python3 data/corpus/pairs.py --seed 1 --sentences 500 --held-out

A line is English, Chinese and what came from what, by tabs: "1-0 2-1" says that word 1 of the English
is the character 0 of the Chinese. Words count from 0, and so do characters; a mark is a word and a
character. Only words with a meaning of their own have a link: nouns, names, verbs, adjectives, words of
time. The same seed gives the same bytes. The constructions are those of generate.py, as far as one
translation of each is the right one; the words are in lexicon.py and chinese.py.

One in 16 of all pairs of nouns, names and adjectives is held out: the two never stand in one sentence
here, whatever the construction, unless --held-out is given: then each sentence has such a pair.
"""

import argparse
import itertools
import random
import re
import sys
import zlib

import chinese
from lexicon import ANIMAL_ADJECTIVES, DID, MEN, PLACE_ADJECTIVES, PLURAL, SAID_OF, SENSES, TRAITS

HELD_OUT_OF = 16
QUOTED = {("cat", "mat"), ("cabinet", "key"), ("chicken", "road"), ("John", "Mary")}
TOKEN = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|[^A-Za-z ]")


def held_out(one, two):
    """Whether training never sees these two words in one sentence. Verbs meet all words, a word of
    two senses meets all that tells which one it has, and one that is said of one noun meets it."""
    key = tuple(sorted((one, two)))
    if not {one, two} <= HELD_APART:
        return False
    return key in QUOTED or zlib.crc32(" ".join(("pair", *key)).encode()) % HELD_OUT_OF == 0


class Word:
    """What stands in the English text, and what in the Chinese. KEY is the word without its number;
    None for words without a meaning of their own."""

    def __init__(self, english, chinese_text, key=None):
        self.english, self.chinese, self.key = english, chinese_text, key


def content(english, chinese_text, key=None):
    return Word(english, chinese_text, key or english)


class Sentence:
    """English and Chinese as lists of words and plain texts; a word stands in both."""

    def __init__(self, english, chinese_text):
        at = {}
        tokens = []
        for item in english:
            text = item if isinstance(item, str) else item.english
            pieces = TOKEN.findall(text)
            if not isinstance(item, str):
                at[id(item)] = range(len(tokens), len(tokens) + len(pieces))
            tokens += pieces
        text = re.sub(r" ([.,?])", r"\1", " ".join(tokens))
        self.english = text[0].upper() + text[1:]
        self.chinese, self.links = "", []
        for item in chinese_text:
            piece = item if isinstance(item, str) else item.chinese
            if not isinstance(item, str) and item.key is not None:
                characters = range(len(self.chinese), len(self.chinese) + len(piece))
                self.links += list(itertools.product(at[id(item)], characters))
            self.chinese += piece
        self.keys = [item.key for item in chinese_text if not isinstance(item, str) and item.key]
        self.meanings = [
            item.chinese for item in chinese_text if not isinstance(item, str) and item.key
        ]

    def is_clear(self):
        """No word twice, and no two words with one translation: what came from what is certain."""
        return len(set(self.keys)) == len(self.keys) and len(set(self.meanings)) == len(
            self.meanings
        )

    def is_held_out(self):
        return any(held_out(one, two) for one, two in itertools.combinations(self.keys, 2))

    def line(self):
        links = " ".join(f"{word}-{character}" for word, character in sorted(self.links))
        return f"{self.english}\t{self.chinese}\t{links}"


# --- Parts of a sentence --------------------------------------------------------------------------

LIVING = {**chinese.PERSONS, **chinese.ANIMALS}
COUNTED = {**chinese.THINGS, **LIVING, **chinese.GIFTS}
NOUNS = {**COUNTED, **chinese.PLACES, **chinese.SEATS, **chinese.SHOPS, **chinese.CUES}


def meaning(noun):
    return NOUNS[noun][0] if isinstance(NOUNS[noun], tuple) else NOUNS[noun]


HELD_APART = set(NOUNS) | set(chinese.NAMES) | set(chinese.ADJECTIVES) - {"ripe", "sneaky"}


ANYBODY_DID = "slept ate laughed smiled rested danced waited sang ran jumped".split()


class Writer:
    """Draws words and puts phrases together; a phrase is (English list, Chinese list)."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *options):
        return self.rng.choice(options)

    def any_of(self, words):
        return self.rng.choice(list(words))

    def noun(self, noun, is_plural=False):
        return content(PLURAL.get(noun, noun + "s") if is_plural else noun, meaning(noun), noun)

    def adjective(self, word, noun):
        text = chinese.ADJECTIVES[word]
        if noun in LIVING:
            text = chinese.OF_LIVING.get(word, text)
        elif noun in chinese.PLACES:
            text = chinese.OF_PLACES.get(word, text)
        return content(word, text)

    def adjective_of(self, noun):
        """One that may be said of the noun."""
        if noun in chinese.ANIMALS:
            words = ANIMAL_ADJECTIVES + ["old", "small", "fast", "strong"]
        elif noun in chinese.PLACES:
            words = PLACE_ADJECTIVES[noun]
        else:
            words = SAID_OF.get(noun, ["old", "small", "new"])
        return self.adjective(self.rng.choice(words), noun)

    def the(self, noun, is_plural=False, p=0.25):
        """the old key: 旧的钥匙."""
        word = self.noun(noun, is_plural)
        if self.chance(p):
            adjective = self.adjective_of(noun)
            return ["the", adjective, word], [adjective, "的", word]
        return ["the", word], [word]

    def counted(self, noun):
        """a key, three old keys: 一把钥匙, 三把旧的钥匙."""
        counter = COUNTED[noun][1]
        is_plural = self.chance(0.3)
        word = self.noun(noun, is_plural)
        adjective = [self.adjective_of(noun)] if self.chance(0.2) else []
        first = (adjective + [word])[0].english
        if is_plural:
            number = self.any_of(chinese.NUMBERS)
            english, count = number, chinese.NUMBERS[number]
        else:
            english, count = "an" if first[0] in "aeiou" else "a", "一"
        after = adjective + ["的"] if adjective else []
        return [english] + adjective + [word], [count, counter] + after + [word]

    def object_of(self, noun):
        return self.counted(noun) if self.chance(0.35) and noun in COUNTED else self.the(noun)

    def name(self):
        name = self.any_of(chinese.NAMES)
        return content(name, chinese.NAMES[name])

    def someone(self):
        """A name, the boy, or a pronoun."""
        kind = self.rng.random()
        if kind < 0.45:
            name = self.name()
            return [name], [name]
        if kind < 0.8:
            return self.the(self.any_of(chinese.PERSONS))
        english, text = self.pick(
            ("I", "我"), ("we", "我们"), ("she", "她"), ("he", "他"), ("they", "他们")
        )
        return [english], [text]

    def said(self, adjective, degree=""):
        """What follows the noun: 很旧, 非常旧, 太旧了, 是红的."""
        if degree == "too":
            return ["太", adjective, "了"]
        if degree == "very":
            return ["非常", adjective]
        return ["是", adjective, "的"] if adjective.key in chinese.STATES else ["很", adjective]

    def degree(self, adjective, *choices):
        """very, too or nothing; what is or is not has no degree."""
        return "" if adjective.key in chinese.STATES else self.rng.choice(choices)

    def deed(self, animal=None):
        """What the animal did, or what anybody may have done."""
        verb = self.rng.choice(DID[animal] if animal else ANYBODY_DID)
        return content(verb, chinese.DEEDS[verb])

    def end(self):
        return (["."], ["。"]) if self.chance(0.6) else ([], [])


def words_of(degree):
    return [degree] if degree else []


# --- Sentences ------------------------------------------------------------------------------------

PLACED = {
    "on": "mat rug floor bed table chair box stone".split(),
    "under": "table chair bed tree window ladder blanket".split(),
    "behind": "door gate wall tree table box wagon".split(),
    "beside": "door gate wall tree table chair lamp bed".split(),
    "near": "door gate wall tree window lamp table bed".split(),
    "in": list(chinese.PLACES)[9:] + ["garden", "market", "forest", "field", "valley", "yard"],
}


def where(w, *avoid):
    """on the mat: (English, Chinese without 在)."""
    preposition = w.any_of(PLACED)
    place = w.rng.choice([noun for noun in PLACED[preposition] if noun not in avoid])
    english, text = w.the(place, p=0.15)
    return [preposition] + english, text + [chinese.PREPOSITIONS[preposition]]


def sitting(w):
    """The cat sat on the mat: 猫坐在垫子上."""
    who = w.any_of(LIVING)
    english, text = w.counted(who) if w.chance(0.15) else w.the(who, w.chance(0.2))
    verb = content(
        *w.pick(("sat", "坐"), ("lay", "躺"), ("stood", "站"), ("slept", "睡"), ("hid", "躲"))
    )
    place = where(w)
    tail = ([], [])
    if w.chance(0.25):
        deed = w.deed(who if who in chinese.ANIMALS else None)
        tail = (["and", deed], ["，", deed, "了"])
    return english + [verb] + place[0] + tail[0], text + [verb, "在"] + place[1] + tail[1]


def agreement(w):
    """The key to the cabinet is rusty: 柜子的钥匙是生锈的."""
    noun = w.any_of({**chinese.THINGS, **chinese.PERSONS})
    is_plural = w.chance(0.5)
    english, text = w.the(noun, is_plural, p=0.2)
    between, front = [], []
    if w.chance(0.75):
        kind = w.rng.random()
        other = w.any_of({**chinese.THINGS, **chinese.PERSONS} if kind < 0.7 else chinese.PERSONS)
        second = w.the(other, w.chance(0.4), p=0.1)
        if kind < 0.35:
            between, front = ["to" if w.chance(0.5) else "of"] + second[0], second[1] + ["的"]
        elif kind < 0.7:
            near = w.pick("near", "behind", "beside", "under", "on")
            between = [near] + second[0]
            front = second[1] + [chinese.PREPOSITIONS[near], "的"]
        else:
            verb = content(
                *w.pick(("saw", "看见"), ("found", "找到"), ("liked", "喜欢"), ("wanted", "想要"))
            )
            between, front = ["that"] + second[0] + [verb], second[1] + [verb, "的"]
    adjective = w.adjective_of(noun)
    degree = w.degree(adjective, "", "", "", "very")
    verb = w.pick(("is", "are"), ("was", "were"))[is_plural]
    english += between + [verb] + words_of(degree) + [adjective]
    return english, front + text + w.said(adjective, degree)


def crossing(w):
    """The chicken didn't cross the road because it was too tired: 鸡没有过马路，因为它太累了."""
    animal, place = w.any_of(chinese.ANIMALS), w.any_of(chinese.PLACES)
    one, two = w.the(animal, p=0.15), w.the(place, p=0.15)
    not_, verb_text, no = w.pick(
        (["didn't"], ("cross", "过"), "没有"),
        (["couldn't"], ("cross", "过"), "不能"),
        (["did", "not"], ("cross", "过"), "没有"),
        (["didn't"], ("enter", "进入"), "没有"),
        (["didn't"], ("leave", "离开"), "没有"),
        (["didn't"], ("like", "喜欢"), "不"),
    )
    verb = content(*verb_text)
    adjective = w.adjective_of(w.pick(animal, place))
    degree = w.degree(adjective, "too", "too", "too", "", "very")
    return (
        one[0] + not_ + [verb] + two[0] + ["because", "it", "was"] + words_of(degree) + [adjective],
        one[1] + [no, verb] + two[1] + ["，因为它"] + w.said(adjective, degree),
    )


def cue_first(w):
    """Because the cow near the river was tired, it rested: 因为河附近的牛很累，所以它休息了."""
    animal, place = w.any_of(chinese.ANIMALS), w.any_of(chinese.PLACES)
    one, two = w.the(animal, p=0), w.the(place, p=0)
    near = w.pick("near", "beside")
    adjective, deed = w.adjective_of(animal), w.deed(animal)
    degree = w.degree(adjective, "", "", "very")
    front = two[1] + [chinese.PREPOSITIONS[near], "的"] + one[1] + w.said(adjective, degree)
    english = one[0] + [near] + two[0] + ["was"] + words_of(degree) + [adjective, ","]
    if w.chance(0.5):
        return ["because"] + english + ["it", deed], ["因为"] + front + ["，所以它", deed, "了"]
    return english + ["so", "it", deed], front + ["，所以它", deed, "了"]


def he_of(name):
    return ("he", "him", "his", "他") if name.key in MEN else ("she", "her", "her", "她")


def giving(w):
    """John gave the ball to Mary because she was kind: 约翰把球送给了玛丽，因为她很善良."""
    one, two = w.name(), w.name()
    gift = w.any_of(chinese.GIFTS)
    what = w.object_of(gift)
    verb = content(*w.pick(("gave", "送"), ("handed", "递"), ("sold", "卖"), ("brought", "带")))
    english, text = [one, verb] + what[0] + ["to", two], [one, "把"] + what[1] + [verb, "给了", two]
    if w.chance(0.5):
        he = he_of(w.pick(one, two))
        trait = w.adjective(w.rng.choice(TRAITS), "boy")
        english += ["because", he[0], "was", trait]
        text += ["，因为" + he[3]] + w.said(trait)
    return english, text


def when(w):
    """When Mary went to the store, John gave a drink to her: 玛丽去商店的时候，约翰把一杯饮料送给了她."""
    one, two = w.name(), w.name()
    shop = w.noun(w.any_of(chinese.SHOPS))
    gift = w.any_of(chinese.GIFTS)
    what = w.object_of(gift)
    went = content(*w.pick(("went to", "去"), ("came to", "来到")), "go")
    verb = content(*w.pick(("gave", "送"), ("handed", "递"), ("sold", "卖"), ("brought", "带")))
    him, he = he_of(one)[1], he_of(one)[3]
    return (
        ["when", one, went, "the", shop, ",", two, verb] + what[0] + ["to", him],
        [one, went, shop, "的时候，", two, "把"] + what[1] + [verb, "给了" + he],
    )


def pronouns(w):
    """Mary looked for her hat: 玛丽寻找她的帽子."""
    one, two = w.name(), w.name()
    he, _, his, text = he_of(one)
    _, him_of_two, _, two_text = he_of(two)
    thing = w.noun(w.any_of({**chinese.GIFTS, **chinese.THINGS}))
    trait = w.adjective(w.rng.choice(TRAITS), "boy")
    animal = w.noun(w.any_of(chinese.ANIMALS))
    relative = w.noun(
        w.pick("friend", "mother", "father", "brother", "sister", "teacher", "neighbor")
    )
    shop = w.noun(w.any_of(chinese.SHOPS))
    deed = w.deed()
    looked = content(
        *w.pick(("looked for", "寻找"), ("found", "找到"), ("wanted", "想要"), ("opened", "打开"))
    )
    saw, met, went = content("saw", "看见"), content("met", "遇见"), content("went to", "去", "go")
    said = content(*w.pick(("said", "说"), ("thought", "想"), ("knew", "知道")))
    thanked = content("thanked", "感谢")
    return w.pick(
        ([one, looked, his, thing], [one, looked, text + "的", thing]),
        (
            [one, "was", trait, ",", "so", he, deed],
            [one] + w.said(trait) + ["，所以" + text, deed, "了"],
        ),
        (
            ["because", one, "was", trait, ",", he, deed],
            ["因为", one] + w.said(trait) + ["，所以" + text, deed, "了"],
        ),
        (
            [one, saw, "the", animal, "and", he, deed],
            [one, saw, "了", animal, "，" + text, deed, "了"],
        ),
        (
            [one, "and", his, relative, went, "the", shop],
            [one, "和" + text + "的", relative, went, "了", shop],
        ),
        ([one, "and", two, went, "the", shop], [one, "和", two, went, "了", shop]),
        ([one, said, "that", he, "was", trait], [one, said, text] + w.said(trait)),
        (
            [one, met, two, "and", thanked, him_of_two],
            [one, met, "了", two, "，", thanked, "了" + two_text],
        ),
        ([one, deed, "because", he, "was", trait], [one, deed, "了，因为" + text] + w.said(trait)),
    )


def sense(w):
    """Mary saw the loan. The bank was rich: 玛丽看见了贷款。银行很富有."""
    word = w.pick("bank", "bank", "bat", "trunk")
    which = w.pick(0, 1)
    cues, may_be = SENSES[word][which]
    cue = w.noun(w.rng.choice(cues))
    ambiguous = content(word, chinese.SENSES[word][which])
    adjective = w.adjective(w.rng.choice(may_be), "bank")
    who = w.someone()
    saw = content(*w.pick(("saw", "看见"), ("noticed", "注意到"), ("found", "找到")))
    was = w.degree(adjective, "", "", "very")
    kind = w.rng.random()
    start = who[0] + [saw, "the", cue], who[1] + [saw, "了", cue]
    if kind < 0.5:
        return (
            start[0] + [".", "The", ambiguous, "was"] + words_of(was) + [adjective],
            start[1] + ["。", ambiguous] + w.said(adjective, was),
        )
    if kind < 0.75:
        return start[0] + ["and", "the", ambiguous], start[1] + ["和", ambiguous]
    return (
        start[0] + [",", "and", "the", ambiguous, "was"] + words_of(was) + [adjective],
        start[1] + ["，", ambiguous] + w.said(adjective, was),
    )


def plain(w):
    """Mary saw a cat in the garden: 玛丽在花园里看见了一只猫."""
    who = w.someone()
    what = w.any_of({**chinese.THINGS, **chinese.ANIMALS})
    place = where(w, what)
    thing = w.object_of(what)
    animal = w.any_of(chinese.ANIMALS)
    deed = w.deed(animal)
    saw = content(*w.pick(("saw", "看见"), ("found", "找到")))
    put = content("put", "放")
    many = w.counted(animal)
    one = w.the(animal)
    some = w.counted(w.any_of(chinese.THINGS))
    the_thing = w.the(w.any_of(chinese.THINGS))
    verb = "are" if some[0][0] in chinese.NUMBERS else "is"
    return w.pick(
        (who[0] + [saw] + thing[0] + place[0], who[1] + ["在"] + place[1] + [saw, "了"] + thing[1]),
        (
            who[0] + [put] + the_thing[0] + place[0],
            who[1] + ["把"] + the_thing[1] + [put, "在了"] + place[1],
        ),
        (["there", verb] + some[0] + place[0], place[1] + ["有"] + some[1]),
        (many[0] + [deed], many[1] + [deed, "了"]),
        (one[0] + [deed], one[1] + [deed, "了"]),
        (one[0] + [deed] + place[0], one[1] + ["在"] + place[1] + [deed, "了"]),
    )


def everyday(w):
    """We will help her tomorrow: 我们明天会帮助她."""
    we, we_text = w.pick(
        ("we", "我们"), ("they", "他们"), ("I", "我"), ("you", "你"), ("he", "他"), ("she", "她")
    )
    us, us_text = w.pick(
        ("us", "我们"), ("me", "我"), ("him", "他"), ("her", "她"), ("them", "他们"), ("you", "你")
    )
    my, my_text = w.pick(
        ("my", "我的"),
        ("your", "你的"),
        ("his", "他的"),
        ("her", "她的"),
        ("our", "我们的"),
        ("their", "他们的"),
    )
    will, will_text = w.pick(("will", "会"), ("must", "必须"), ("should", "应该"), ("can", "能"))
    verb = content(
        *w.pick(
            ("help", "帮助"),
            ("find", "找到"),
            ("visit", "拜访"),
            ("meet", "遇见"),
            ("thank", "感谢"),
        )
    )
    time = w.any_of(chinese.TIMES)
    time = content(time, chinese.TIMES[time])
    person = w.noun(w.any_of(chinese.PERSONS))
    thing = w.noun(w.any_of(chinese.THINGS))
    food = w.any_of(chinese.FOODS)
    food = content(food, chinese.FOODS[food])
    made = content(*w.pick(("cooked", "煮"), ("bought", "买"), ("ate", "吃")))
    loved = content(*w.pick(("loved", "爱"), ("knew", "认识"), ("helped", "帮助"), ("met", "遇见")))
    place = where(w, thing.key)
    like = content(*w.pick(("like", "喜欢"), ("see", "看见"), ("want", "想要")))
    life, short, eat = content("life", "人生"), content("short", "短暂"), content("eat", "吃")
    options = [
        ([we, will, verb, us, time], [we_text, time, will_text, verb, us_text]),
        ([we, will, verb, my, person], [we_text + will_text, verb, my_text, person]),
        ([my, person, made, food], [my_text, person, made, "了", food]),
        ([my, person, loved, us], [my_text, person, loved, us_text]),
        (["where", "is", my, thing, "?"], [my_text, thing, "在哪里？"]),
        (["do", "you", like, my, thing, "?"], ["你", like, my_text, thing, "吗？"]),
        ([my, thing, "is"] + place[0], [my_text, thing, "在"] + place[1]),
        ([life, "is", short, ",", eat, food, "first"], [life, short, "，先", eat, food]),
    ]
    return w.rng.choice(options)


SENTENCES = [
    (sitting, 20),
    (agreement, 22),
    (crossing, 12),
    (cue_first, 8),
    (giving, 10),
    (when, 6),
    (pronouns, 10),
    (sense, 10),
    (plain, 16),
    (everyday, 12),
]
MAKERS, WEIGHTS = zip(*SENTENCES)


def sentences(seed, count, is_held_out=False):
    writer = Writer(seed)
    while count > 0:
        english, text = writer.rng.choices(MAKERS, WEIGHTS)[0](writer)
        if english[-1] != "?":
            mark = writer.end()
            english, text = english + mark[0], text + mark[1]
        made = Sentence(english, text)
        if made.is_clear() and made.is_held_out() == is_held_out:
            count -= 1
            yield made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--held-out", action="store_true")
    options = parser.parse_args()
    for made in sentences(options.seed, options.sentences, options.held_out):
        sys.stdout.write(made.line() + "\n")


if __name__ == "__main__":
    main()
