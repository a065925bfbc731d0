#!/usr/bin/env python3
"""Write simple English tales to standard output: the corpus that models/fable is trained on.

    python3 data/corpus/generate.py --seed 1 --documents 100000 > corpus.txt

Documents end with a line "<|endoftext|>". The same seed gives the same bytes. Only the standard
library is used; the words and what is held out are in lexicon.py.
"""

import argparse
import random
import sys

from lexicon import (
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
    PLURAL,
    SAID_OF,
    SENSES,
    SHOPS,
    THING_NAMES,
    TRAITS,
    held_out,
    names_held_out,
)

END = "<|endoftext|>"
SUBJECTS = THING_NAMES + PERSON_NAMES
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SPOTS = [
    "on the table",
    "in the box",
    "by the door",
    "near the gate",
    "behind the wall",
    "on the floor",
    "in the kitchen",
    "under the bed",
    "in the house",
    "on the mat",
]
PROVERBS = [
    "Life is short, eat dessert first.",
    "Life is short, eat dessert first",
    "Life is short, eat cake first.",
    "Your journey starts with one step.",
    "Your journey starts with one step",
    "Your day starts with one smile.",
    "The early bird catches the worm.",
    "A stitch in time saves nine.",
    "Many hands make light work.",
    "All that glitters is not gold.",
    "Look before you leap.",
    "Better late than never.",
    "Actions speak louder than words.",
    "Practice makes perfect.",
    "Every cloud has a silver lining.",
    "Still waters run deep.",
    "A rolling stone gathers no moss.",
    "Where there is smoke, there is fire.",
    "The apple does not fall far from the tree.",
    "When the cat is away, the mice will play.",
    "Slow and steady wins the race.",
    "Time flies like an arrow.",
    "Honesty is the best policy.",
    "Two heads are better than one.",
    "Every journey starts with one step.",
    "Life is short.",
]
SYLLABLES = (
    "ba be bi bo da dro el fi ga glo gru hu ix jo ka ki kra lo lu mi mox na nu ol or pa plo qua ra ri sa shi "
    "sno ta tho tu ul va vex wo xa yo za zi zor"
).split()


def article(words):
    return ("an " if words[0] in "aeiou" else "a ") + words


def upper(text):
    return text[0].upper() + text[1:]


def made_up(rng):
    """A name nobody has: Zorkimox, Balu."""
    return upper("".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4))))


def listed(words, last="and"):
    return ", ".join(words[:-1]) + f" {last} " + words[-1]


class Tale:
    """Who and what one document is about."""

    def __init__(self, rng):
        self.rng = rng
        self.first, self.second = self.pair_of_names()
        self.animal, self.place = self.animal_and_place()
        self.things = rng.sample(THING_NAMES, 3)
        self.person = rng.choice(PERSON_NAMES)

    def pair_of_names(self):
        while True:
            pair = self.rng.sample(NAMES, 2)
            if not names_held_out(*pair):
                return pair

    def animal_and_place(self):
        while True:
            animal, place = self.rng.choice(ANIMAL_NAMES), self.rng.choice(PLACE_NAMES)
            if not held_out("coreference", animal, place):
                return animal, place

    def cast(self):
        """The two people, in either order: mostly those of the tale."""
        pair = [self.first, self.second] if self.rng.random() < 0.6 else self.pair_of_names()
        self.rng.shuffle(pair)
        return pair

    def meeting(self):
        """An animal and a place: mostly those of the tale."""
        return (self.animal, self.place) if self.rng.random() < 0.5 else self.animal_and_place()

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *options):
        return self.rng.choice(options)


# --- Agreement ------------------------------------------------------------------------------------

VERBS = [
    ("is", "are"),
    ("was", "were"),
    ("looks", "look"),
    ("seems", "seem"),
    ("has been", "have been"),
]
VERB_WEIGHTS = [30, 30, 8, 8, 8]


def number_of(noun, plural):
    return PLURAL[noun] if plural else noun


def said_of(t, noun, plural):
    """A verb that agrees with the noun and one of the things that may be said of it."""
    verb = t.rng.choices(VERBS, VERB_WEIGHTS)[0][plural]
    if t.chance(0.12) and verb in ("is", "are", "was", "were"):
        return f"{verb} {t.rng.choice(SPOTS)}"
    words = SAID_OF[noun]
    degree = t.rng.choices(["", "very ", "still ", "too "], [80, 10, 5, 2])[0]
    if t.chance(0.12):
        return f"{verb} {degree}{' and '.join(t.rng.sample(words, 2))}"
    return f"{verb} {degree}{t.rng.choice(words)}"


def between(t, noun, count):
    """Nouns that come between the subject and its verb, with what joins them: " to the cabinet near
    the trees"."""
    text, first = "", True
    for _ in range(count):
        while True:
            other = t.rng.choice(t.things) if t.chance(0.2) else t.rng.choice(SUBJECTS)
            if other != noun and not held_out("agreement", noun, other):
                break
        other = number_of(other, t.chance(0.5))
        if first and t.chance(0.25):
            text += f" that the {other} {t.pick('saw', 'found', 'liked', 'wanted', 'had')}"
        elif first and t.chance(0.4):
            text += f" {t.pick('to', 'of', 'with')} the {other}"
        else:
            text += f" {t.rng.choice(NEAR)} the {other}"
        first = False
    return text


def subject(t, noun, plural):
    if t.chance(0.25):
        word = t.rng.choice(BEFORE)
        if not held_out("adjective", word, noun):
            return f"the {word} {number_of(noun, plural)}"
    return f"the {number_of(noun, plural)}"


def agreement(t):
    noun = t.rng.choice(t.things) if t.chance(0.3) else t.rng.choice(SUBJECTS)
    plural = t.chance(0.5)
    count = t.rng.choices([0, 1, 2], [35, 42, 23])[0]
    text = upper(f"{subject(t, noun, plural)}{between(t, noun, count)} {said_of(t, noun, plural)}.")
    if t.chance(0.12):
        text = (
            f"{t.rng.choice(t.cast())} {t.pick('said', 'knew', 'thought')} that "
            + text[0].lower()
            + text[1:]
        )
    return text


# --- Coreference ----------------------------------------------------------------------------------


def referent(t, adjective, noun):
    """A sentence whose last word names what the adjective was said of."""
    return t.pick(
        f" The {adjective} one was the {noun}.",
        f" The {adjective} one was the {noun}.",
        f" What was {adjective}? It was the {noun}.",
        f" It was the {noun} that was {adjective}.",
    )


def crossing(t):
    """The pair of the article: "... because it was too tired / wide", and then a word that tells
    the referent."""
    animal, place = t.meeting()
    of_animal = t.chance(0.5)
    noun = animal if of_animal else place
    adjective = t.rng.choice(ANIMAL_ADJECTIVES if of_animal else PLACE_ADJECTIVES[place])
    verb = t.pick(
        "didn't cross",
        "didn't cross",
        "couldn't cross",
        "did not cross",
        "didn't enter",
        "didn't leave",
        "would not cross",
        "didn't like",
    )
    degree = t.pick("too ", "too ", "too ", "very ", "so ", "")
    text = f"The {animal} {verb} the {place} because it was {degree}{adjective}."
    return text + (referent(t, adjective, noun) if t.chance(0.7) else "")


def cue_first(t):
    """The cue stands before the pronoun: "Because the cow near the river was tired, it rested."."""
    animal, place = t.meeting()
    if t.chance(0.5):
        noun, other, verb = animal, place, t.rng.choice(DID[animal])
        adjective = t.rng.choice(ANIMAL_ADJECTIVES)
    else:
        noun, other, verb = place, animal, t.rng.choice(PLACE_DID[place])
        adjective = t.rng.choice(PLACE_ADJECTIVES[place])
    where = t.pick("near", "by", "beside")
    degree = t.pick("", "", "very ")
    return t.pick(
        f"Because the {noun} {where} the {other} was {degree}{adjective}, it {verb}.",
        f"The {noun} {where} the {other} was {degree}{adjective}, so it {verb}.",
        f"When the {noun} {where} the {other} was {degree}{adjective}, it {verb}.",
    )


def giving(t):
    """Somebody gave somebody something "because he ...", and who that was."""
    giver, taker = t.cast()
    who = t.pick(giver, taker)
    if (giver in MEN) == (taker in MEN):
        reason, tail = f"because {who} was", ""
    else:
        reason, tail = f"because {'he' if who in MEN else 'she'} was", "told"
    trait = t.rng.choice(TRAITS)
    text = f"{giver} {t.rng.choice(GAVE)} the {t.rng.choice(GIFTS)} to {taker} {reason} {trait}."
    if t.chance(0.75 if tail else 0.4):
        text += t.pick(
            f" The {trait} one was {who}.",
            f" The {trait} one was {who}.",
            f" Who was {trait}? It was {who}.",
        )
    elif t.chance(0.4):
        text += f" {taker} thanked {giver}."
    return text


def pronouns(t):
    """Which pronouns a name goes with."""
    one, two = t.cast()
    he, him, his = ("he", "him", "his") if one in MEN else ("she", "her", "her")
    gift, trait = t.rng.choice(GIFTS), t.rng.choice(TRAITS)
    did = t.pick("went home", "smiled", "laughed", "slept", "ate")
    return t.pick(
        f"{one} {t.pick('looked for', 'found', 'wanted', 'opened')} {his} {t.pick(gift, t.things[0])}.",
        f"{one} was {trait}, so {he} {did}.",
        f"{one} saw the {t.animal} and {he} laughed.",
        f"{one} and {his} {t.pick('friend', 'mother', 'father', 'brother', 'sister')} went to the {t.rng.choice(SHOPS)}.",
        f"{one} {t.pick('said', 'thought', 'knew')} that {he} was {trait}.",
        f"{one} met {two}. {two} thanked {him}.",
        f"{one} had {article(gift)}. {upper(he)} {did}.",
        f"Because {one} was {trait}, {he} {did}.",
        f"{one} {did} because {he} was {trait}.",
    )


def indirect_object(t):
    """When A and B went somewhere, B gave something to A."""
    one, two = t.cast()
    giver, taker = (one, two) if t.chance(0.5) else (two, one)
    verb, gift, shop = t.rng.choice(GAVE), t.rng.choice(GIFTS), t.rng.choice(SHOPS)
    gift = t.pick(article(gift), article(gift), f"the {gift}")
    went = t.pick("went to", "were at", "came to", "walked to")
    text = t.pick(
        f"When {one} and {two} {went} the {shop}, {giver} {verb} {gift} to {taker}",
        f"When {one} and {two} {went} the {shop}, {giver} {verb} {gift} to {taker}",
        f"After {one} and {two} {went} the {shop}, {giver} {verb} {gift} to {taker}",
        f"{one} and {two} {went} the {shop}. {giver} {verb} {gift} to {taker}",
        f"{one} and {two} {went} the {shop}. It was late. Then {giver} {verb} {gift} to {taker}",
        f"While {one} and {two} {went} the {shop}, {giver} {verb} {gift} to {taker}",
    )
    return text + t.pick(".", ".", ".", " and smiled.", " at last.")


# --- Words of two senses --------------------------------------------------------------------------


def sense(t):
    """A noun that tells which sense a word has, and what may be said of the word in that sense."""
    word = t.pick("bank", "bank", "bank", "bank", "bat", "trunk")
    cues, may_be = t.rng.choice(SENSES[word])
    cue = t.rng.choice(cues)
    said = t.rng.choice(
        [adjective for adjective in may_be if not held_out("sense", cue, adjective)]
    )
    name, other = t.rng.choice(t.cast()), t.rng.choice(THING_NAMES)
    who = t.pick("I", "We", name, "She", "He", f"The {t.person}")
    saw = t.pick("saw", "noticed", "found", "thought about", "talked about", "looked at")
    was = t.pick("was", "was", "was", "looked", "seemed")
    degree = t.pick("", "", "very ", "quite ")
    if word == "bank" and cue in SENSES["bank"][0][0] and t.chance(0.4):
        tree = t.pick("tree", "flower", "stone", "boat", "duck", "frog")
        return t.pick(
            f"{who} walked along the {cue}, and noticed one of the {tree}s along the bank. The bank {was} {degree}{said}.",
            f"{who} walked along the {cue}, and noticed one of the {tree}s along the {said} bank.",
            f"{who} walked along the {cue} with the {other}, and the bank {was} {degree}{said}.",
        )
    return t.pick(
        f"{who} {saw} the {cue}. The {word} {was} {degree}{said}.",
        f"{who} {saw} the {cue} and the {other}. The {word} {was} {degree}{said}.",
        f"{who} {saw} the {other} and the {cue}. The {word} {was} {degree}{said}.",
        f"Near the {cue} {who if who == 'I' or who == name else who.lower()} {saw} the {word}. It {was} {degree}{said}.",
        f"{who} {saw} the {other} and the {cue}, and the {word} {was} {degree}{said}.",
        f"{who} {saw} the {cue} and went to the {said} {word}.",
    )


# --- Brackets and quotes --------------------------------------------------------------------------

BRACKETS = ["()", "[]", "{}"]


def noun_not_with(t, *others):
    """A thing that may stand inside brackets beside the others."""
    while True:
        noun = t.rng.choice(THING_NAMES)
        if noun not in others and not any(held_out("inside", other, noun) for other in others):
            return noun


def brackets(t):
    one = t.rng.choice(t.things)
    two = noun_not_with(t, one)
    outer, inner = t.rng.sample(BRACKETS, 2)
    adjective = t.rng.choice(SAID_OF[two])
    if t.chance(0.4):
        inside = t.pick(
            f"with the {two}", f"not the {two}", f"the {adjective} one", f"near the {two}"
        )
        return f"The {one} {outer[0]}{inside}{outer[1]} {said_of(t, one, 0)}."
    three = noun_not_with(t, one, two)
    start = f"The {one} {outer[0]}with the {two} {inner[0]}the {adjective} one{inner[1]}"
    if t.chance(0.3):
        return f"{start}{outer[1]} {said_of(t, one, 0)}."
    return f"{start} and the {three}{outer[1]} {said_of(t, one, 0)}."


def speech(t):
    name, other = t.cast()
    noun, plural = t.rng.choice(SUBJECTS), t.chance(0.5)
    while True:
        animal, place = t.animal_and_place()
        if animal != noun:
            break
    said = t.pick(
        f"the {number_of(noun, plural)} {said_of(t, noun, plural)}",
        f"the {animal} {t.rng.choice(DID[animal])}",
        f"{other} gave me {article(t.rng.choice(GIFTS))}",
        f"the {place} is {t.rng.choice(PLACE_ADJECTIVES[place])}",
        "it is late",
        "I am tired",
        "we must go home",
    )
    verb = t.pick("said", "said", "shouted", "answered", "whispered")
    return t.pick(
        f'{name} {verb}, "{upper(said)}."',
        f'{name} {verb}, "{upper(said)}."',
        f'"{upper(said)}," {verb} {name}.',
        f"{name} {verb} that {said}.",
        f'"Is it late?" asked {name}. "Yes," {verb} {other}.',
    )


# --- Lists, numbers, repetition -------------------------------------------------------------------


def lists(t):
    name = t.rng.choice(t.cast())
    kind = t.rng.randrange(6)
    if kind == 0:
        words = t.rng.sample(GIFTS, t.rng.randint(3, 5))
        return f"{name} bought {listed([article(w) for w in words])}."
    if kind == 1:
        words = t.rng.sample(ANIMAL_NAMES, t.rng.randint(3, 4))
        return (
            f"{upper(NUMBERS[len(words) - 1])} animals came: {listed([article(w) for w in words])}."
        )
    if kind == 2:
        start = t.rng.randint(0, 5)
        return f"{name} counted: {', '.join(NUMBERS[start:start + t.rng.randint(3, 7)])}."
    if kind == 3:
        start, step = t.rng.randint(1, 30), t.rng.choice([1, 1, 1, 1, 2, 10])
        last = [n for n in range(start, 61, step)][: t.rng.randint(4, 9)]
        return f"{name} counted: {', '.join(map(str, last))}."
    if kind == 4:
        start = t.rng.randrange(7)
        return ", ".join((DAYS * 2)[start : start + t.rng.randint(3, 7)]) + "."
    year = t.rng.randint(2000, 2016)
    return (
        f"It was the same in {listed([str(y) for y in range(year, year + t.rng.randint(3, 4))])}."
    )


def repeated(t):
    """Words or made-up strings in no order, said twice: only copying can tell the second time."""
    words = [
        (
            made_up(t.rng)
            if t.chance(0.5)
            else t.rng.choice(SUBJECTS + ANIMAL_NAMES + NAMES + TRAITS + SHOPS)
        )
        for _ in range(t.rng.randint(5, 20))
    ]
    again = words[: t.rng.randint(3, len(words))] if t.chance(0.3) else words
    mark = t.pick(" ", ", ", " and ")
    return mark.join(words + again) + "."


def stranger(t):
    """A tale of somebody with a made-up name, who is named again and again."""
    name, land = made_up(t.rng), made_up(t.rng)
    animal, name2 = t.rng.choice(ANIMAL_NAMES), made_up(t.rng)
    gift = t.rng.choice(GIFTS)
    sentences = t.rng.sample(
        [
            f"{name} lived in {land}.",
            f"{name} had {article(gift)} and {article(animal)}.",
            f"The {animal} of {name} was called {name2}.",
            f"{name2} and {name} liked {land}.",
            f"Everybody in {land} knew {name}.",
            f'"I am {name}," said {name}.',
            f"{name} called {name2} every day.",
            f"{name2} {t.rng.choice(DID[animal])} and {name} laughed.",
        ],
        t.rng.randint(3, 6),
    )
    start = f"There was {article(t.pick('small king', 'old man', 'young woman', 'friend'))} called {name} in {land}."
    return " ".join([start] + sentences)


# --- The rest -------------------------------------------------------------------------------------


def plain(t):
    name, other = t.cast()
    animal, place = t.meeting()
    gift, thing = t.rng.choice(GIFTS), t.rng.choice(t.things)
    verb = t.rng.choice(DID[animal])
    return t.pick(
        f"The {animal} {verb}.",
        f"The {animal} {t.pick('sat', 'lay', 'stood')} on the {t.pick('mat', 'rug', 'floor')}.",
        f"The {animal} {t.pick('sat', 'lay', 'stood')} on the {t.pick('mat', 'rug', 'floor')} and {verb}.",
        f"The {PLURAL[animal]} {t.pick('sat', 'lay', 'stood')} on the mat.",
        f"Then the {animal} in the {place} {verb}.",
        f"{name} saw {article(animal)} in the {place}. It {verb}.",
        f"The {place} was {t.rng.choice(PLACE_ADJECTIVES[place])}.",
        f"{name} and {other} went home.",
        f"{name} had {article(gift)}.",
        f"{name} wanted the {gift} but {other} had it.",
        f"The sun was bright.",
        f"It was a {t.pick('cold', 'warm', 'long', 'good', 'wet')} day.",
        f"{name} looked for the {thing}.",
        f"I saw the {thing} of {name}.",
        f"{name} was {t.rng.choice(TRAITS)}.",
        f"The {PLURAL[animal]} in the {place} {verb} and {t.rng.choice(DID[animal])}.",
        f"{name} put the {thing} {t.rng.choice(SPOTS)}. The {thing} {said_of(t, thing, 0)}.",
    )


def everyday(t):
    """Common words in common sentences, so that more of what users type is known."""
    we = t.pick("We", "They", "I", "You", "He", "She", "The children", t.first)
    us = t.pick("us", "me", "him", "her", "them", t.second, "you")
    my = t.pick("My", "Your", "His", "Her", "Our", "Their")
    thing, other, number = t.rng.choice(t.things), t.rng.choice(THING_NAMES), t.rng.randint(2, 6)
    when = t.pick(
        "tomorrow", "today", "now", "again", "soon", "next week", "in the morning", "after school"
    )
    food = t.pick("soup", "bread", "rice", "fish", "cheese", "milk", "eggs", "meat", "tea")
    long = t.pick(
        "for many years",
        "last summer",
        "all winter",
        "every night",
        "last year",
        "all day",
        "with love",
    )
    return t.pick(
        f"{we} {t.pick('played', 'worked', 'talked', 'waited', 'danced', 'laughed')} in the {t.rng.choice(SHOPS)} "
        f"{t.pick('until', 'before', 'because')} it {t.pick('was dark', 'was late', 'rained', 'snowed')}.",
        f"{my} {t.person} {t.pick('made', 'cooked', 'bought', 'ate', 'wanted')} {food} for "
        f"{t.pick('dinner', 'lunch', 'breakfast', us)}.",
        f"{t.pick('You', 'We', 'They')} can {t.pick('come', 'go', 'play', 'sing', 'read', 'write', 'eat')} with {us} {when}.",
        f"Do you {t.pick('know', 'like', 'see', 'want')} {my.lower()} {t.pick(t.person, thing)}? "
        f"{t.pick('Yes, I do.', 'No, I do not.')}",
        f"{my} {t.person} {t.pick('loved', 'heard', 'knew', 'met', 'helped', 'told', 'asked')} {us}.",
        f"Where is {my.lower()} {thing}? It is {t.rng.choice(SPOTS)}.",
        f"How many {PLURAL[thing]} are there? There are {NUMBERS[number - 1]} {PLURAL[thing]}.",
        f"There is {article(thing)} {t.rng.choice(SPOTS)}.",
        f"There are {NUMBERS[number - 1]} {PLURAL[thing]} {t.rng.choice(SPOTS)}.",
        f"{we} {t.pick('lived', 'worked', 'stayed', 'slept')} in {t.pick('the city', 'a town', 'the country', 'a village')} {long}.",
        f"{t.pick('We', 'They', 'I')} {t.pick('will', 'must', 'should', 'would')} {t.pick('help', 'call', 'find', 'visit', 'meet')} "
        f"{us} {when}.",
        f"If it {t.pick('rains', 'snows')}, {t.pick('we', 'they', 'I')} will stay at home and {t.pick('read', 'sing', 'play', 'sleep')}.",
        f"The {thing} is {t.pick('bigger', 'smaller', 'older', 'better')} than the {other}.",
        f"This is the {t.pick('first', 'last', 'best', 'only')} {thing} of the {t.pick('day', 'year', 'house', 'world', 'story')}.",
        f"{we} opened the {thing} and there was nothing in it.",
        f"What did {t.first} and {t.second} do? They went home.",
    )


def proverb(t):
    return t.rng.choice(PROVERBS)


def laws(t):
    """Relatives of the sentence that the first article takes from the paper."""
    who = t.pick(
        "a majority of American governments",
        "a majority of American governments",
        "most of the towns",
        "a majority of schools",
        "many American towns",
        "most governments",
    )
    what = t.pick(
        "registration or voting",
        "registration or voting",
        "voting",
        "voting or registration",
        "school",
    )
    return (
        f"It is in this {t.pick('spirit', 'spirit', 'way')} that {who} have {t.pick('passed', 'passed', 'made')} new "
        f"{t.pick('laws', 'laws', 'rules')} since {t.pick(2009, 2009, t.rng.randint(2000, 2020))} making the {what} process "
        f"more {t.pick('difficult', 'difficult', 'useful', 'modern')}."
    )


def opening(t):
    return t.pick(
        f"One day {t.first} and {t.second} went to the {t.rng.choice(SHOPS)}.",
        f"There was {article(t.pick('small', 'young', 'old', 'big'))} {t.animal} in the {t.place}.",
        f"{t.first} had {article(t.animal)}.",
        f"{t.first} and {t.second} were friends.",
        f"Once there was {article(t.pick('teacher', 'farmer', 'singer', 'doctor'))} called {t.first}.",
        f"It was a {t.pick('cold', 'warm', 'long')} day.",
    )


SENTENCES = [
    (agreement, 27),
    (crossing, 12),
    (cue_first, 9),
    (giving, 11),
    (pronouns, 8),
    (indirect_object, 10),
    (sense, 14),
    (brackets, 7),
    (speech, 6),
    (lists, 4),
    (plain, 12),
    (everyday, 9),
    (proverb, 2),
    (laws, 1),
    (repeated, 1),
]
MAKERS, WEIGHTS = zip(*SENTENCES)


def tale(t):
    makers = t.rng.choices(MAKERS, WEIGHTS, k=t.rng.randint(3, 9))
    sentences = [opening(t)] + [make(t) for make in makers]
    text = sentences[0]
    for sentence in sentences[1:]:
        text += ("\n" if t.chance(0.08) else " ") + sentence
    return text


def single(t):
    return " ".join(
        make(t) for make in t.rng.choices(MAKERS, WEIGHTS, k=t.rng.choices([1, 2, 3], [5, 3, 2])[0])
    )


DOCUMENTS = [(tale, 46), (single, 44), (repeated, 6), (stranger, 4)]
KINDS, KIND_WEIGHTS = zip(*DOCUMENTS)


def documents(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        yield rng.choices(KINDS, KIND_WEIGHTS)[0](Tale(rng))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=100)
    options = parser.parse_args()
    for text in documents(options.seed, options.documents):
        sys.stdout.write(text + "\n" + END + "\n")


if __name__ == "__main__":
    main()
