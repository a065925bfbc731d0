"""The words of the corpus, what may be said of each noun, and which combinations are held out.

Shared by generate.py, which never writes a held-out combination, and data/probes/make_probes.py,
which writes nothing else. A noun allows five predicates or so; what follows it therefore depends on
it.
"""

import zlib


def table(text):
    """Lines "word[/plural]: a b c" as a list of (word, plural, [a, b, c])."""
    rows = []
    for line in text.strip().splitlines():
        head, tail = line.split(":")
        word, _, plural = head.strip().partition("/")
        rows.append((word, plural or word + "s", tail.split()))
    return rows


# Things, and the adjectives that each allows.
THINGS = table("""
key: rusty shiny small lost old
cabinet: wooden empty open heavy old
door: open closed wooden green heavy
table: round wooden large clean flat
chair: broken wooden soft small old
box/boxes: empty full heavy open square
lamp: bright shiny broken tall hot
book: thick new dusty red lost
cup: full empty hot white clean
window: open closed clean broken large
basket: full empty light round open
shelf/shelves: dusty empty wooden high flat
picture: pretty dusty square bright new
clock: loud broken round shiny old
boat: wet white small fast new
wagon: heavy slow red full wooden
bell: loud shiny rusty heavy small
candle: hot bright white tall soft
coat: warm wet thick green long
shoe: dirty wet new brown lost
hat: black pretty round warm lost
blanket: warm soft thick blue clean
bottle: empty green cold clean full
gate: rusty closed open tall green
hammer: heavy rusty useful strong small
ladder: tall long light useful strong
rope: long strong thick wet brown
sack: heavy full brown dirty soft
spoon: shiny clean small flat useful
stone: heavy cold flat round grey
tree: tall green old strong large
flower: pretty red yellow fresh small
apple: red sweet fresh ripe round
leaf/leaves: green yellow dry light flat
cake: sweet fresh soft large warm
coin: shiny round lost old small
map: useful old flat large new
toy: broken new lost small red
knife/knives: sharp shiny clean long useful
mirror: clean broken shiny round tall
""")

# Persons, and what they may be.
PERSONS = table("""
boy: happy hungry noisy young fast
girl: happy clever young quiet cheerful
woman/women: kind clever busy tall proud
man/men: tall strong busy tired old
teacher: patient clever strict kind quiet
farmer: strong tired busy honest hungry
baker: cheerful busy friendly tired honest
doctor: careful clever busy kind calm
king: rich proud old strict brave
queen: rich proud wise calm clever
child/children: noisy happy young sleepy hungry
friend: loyal funny friendly honest cheerful
sister: funny kind clever young cheerful
brother: funny brave noisy young lazy
mother: kind patient wise tired busy
father: strong patient tired calm tall
nurse: kind careful patient quiet friendly
driver: careful fast tired strict noisy
painter: poor quiet clever lazy proud
sailor: brave strong poor honest rough
neighbor: friendly noisy curious old lazy
singer: loud proud pretty famous nervous
thief/thieves: poor fast sneaky nervous quiet
soldier: brave loyal strict strong tired
""")

# Animals: what they did, in the past tense.
ANIMALS = table("""
chicken: clucked pecked hid ate scratched
cat: slept purred jumped hid stretched
dog: barked ran jumped dug slept
cow: ate rested mooed stood drank
horse: ran galloped jumped drank rested
pig: slept grunted ate rolled dug
duck: swam quacked dived drank waddled
goose/geese: swam waddled hissed ate flew
fox/foxes: hunted ran hid slept listened
wolf/wolves: howled hunted ran growled listened
bear: growled climbed slept ate swam
lion: roared slept hunted yawned rested
mouse/mice: squeaked hid ran nibbled listened
rabbit: hopped hid nibbled dug listened
goat: jumped ate climbed nibbled stood
bird: sang flew pecked rested drank
frog: jumped croaked swam hid dived
hen: clucked pecked scratched rested ate
donkey: kicked stood rested ate brayed
monkey: climbed swung jumped laughed ate
tiger: hunted roared swam slept growled
squirrel: climbed nibbled jumped hid ran
turtle: crawled swam slept hid rested
owl: hooted flew listened slept hunted
""")

# What an animal may be, and how one says why it stopped. No place is any of these.
ANIMAL_ADJECTIVES = (
    "tired hungry thirsty sleepy lazy scared sick angry curious nervous shy weak".split()
)

# Places that can be crossed: what they may be (no animal is), and what they did.
PLACES = [
    ("road", "wide busy muddy long icy".split(), "turned ended narrowed".split()),
    ("river", "wide deep rough icy cold".split(), "flowed froze rose".split()),
    ("street", "busy crowded narrow dark long".split(), "turned ended emptied".split()),
    ("bridge", "narrow high icy long slippery".split(), "shook ended creaked".split()),
    ("field", "wide muddy open flat dry".split(), "flooded bloomed dried".split()),
    ("lake", "deep wide cold clear rough".split(), "froze sparkled rose".split()),
    ("stream", "deep cold clear rocky fast".split(), "flowed froze sparkled".split()),
    ("hill", "steep rocky high slippery bare".split(), "crumbled shook bloomed".split()),
    ("forest", "dark deep dangerous wild thick".split(), "burned bloomed rustled".split()),
    ("yard", "crowded muddy dirty dark bare".split(), "flooded emptied dried".split()),
    ("path", "narrow rocky steep slippery dark".split(), "turned ended narrowed".split()),
    ("valley", "deep wide wild dangerous flat".split(), "flooded bloomed narrowed".split()),
    ("garden", "wild thick crowded dry muddy".split(), "bloomed dried flooded".split()),
    ("market", "busy crowded noisy dirty bright".split(), "emptied closed burned".split()),
]
PLACE_NAMES = [place for place, _, _ in PLACES]

MEN = "John Tom Ben Sam Max Jack Peter Paul Adam Oscar David Henry".split()
WOMEN = "Mary Ann Lucy Emma Sara Kate Rose Jane Alice Nina Clara Eva".split()
NAMES = MEN + WOMEN

# What a person asks for, wants or is called in a tale.
TRAITS = "kind sad happy thirsty hungry clever brave bored lonely polite tired sick".split()
GIFTS = (
    "ball drink book ring apple cake flower hat letter toy coin pen cookie kite doll card".split()
)
SHOPS = "store park school beach station library garden party farm market zoo museum".split()
GAVE = "gave handed showed offered brought sold".split()

# Words of two senses: for each sense the nouns that tell it, and what the word may then be.
SENSES = {
    "bank": (
        (
            "pond river lake stream shore water".split(),
            "muddy grassy steep sandy wet green".split(),
        ),
        (
            "loan money cash coins check payment".split(),
            "rich closed modern famous honest safe".split(),
        ),
    ),
    "bat": (
        (
            "cave wing night owl darkness roof".split(),
            "furry blind asleep hungry alive shy".split(),
        ),
        (
            "game ball player team pitch score".split(),
            "wooden broken heavy cheap smooth long".split(),
        ),
    ),
    "trunk": (
        (
            "forest branch oak leaf acorn root".split(),
            "thick mossy tall hollow rotten bare".split(),
        ),
        (
            "car driver suitcase engine wheel trip".split(),
            "locked packed empty open clean full".split(),
        ),
    ),
}

# What a place or thing is near.
NEAR = "near by behind beside under".split()
PLURAL = {word: plural for word, plural, _ in THINGS + PERSONS + ANIMALS}
SAID_OF = {word: words for word, _, words in THINGS + PERSONS}
DID = {word: words for word, _, words in ANIMALS}
PLACE_ADJECTIVES = {place: words for place, words, _ in PLACES}
PLACE_DID = {place: words for place, _, words in PLACES}
THING_NAMES = [word for word, _, _ in THINGS]
PERSON_NAMES = [word for word, _, _ in PERSONS]
ANIMAL_NAMES = [word for word, _, _ in ANIMALS]
BEFORE = "old new little big good nice".split()  # adjectives that may stand before any noun

# Combinations that the issue and the articles quote are always held out, whatever their hash.
QUOTED = {
    ("agreement", "key", "cabinet"),
    ("coreference", "chicken", "road"),
    ("names", "John", "Mary"),
    ("sense", "pond", "muddy"),
    ("sense", "loan", "rich"),
}

HELD_OUT_OF = 8  # one combination in so many is held out


def held_out(kind, *words):
    """Whether training must never see these words together in this construction.

    kind is "agreement" (subject, any noun between it and the verb), "adjective" (word before a
    subject, subject), "coreference" (animal, place), "names" (two people of one tale, in the order
    of the alphabet), "sense" (noun that tells the sense, what is said of the word) or "inside" (a
    noun before a bracket, a noun in it).
    """
    key = (kind, *words)
    return key in QUOTED or zlib.crc32(" ".join(key).encode()) % HELD_OUT_OF == 0


def names_held_out(first, second):
    return held_out("names", *sorted((first, second)))
