"""Words: the pools of text that generators pick from, made once per process."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from headwater.sources.load_generator.chance import Chance, IntArray, scrambled

_CHANCE = Chance(0)


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


AUCTION_ITEMS = (
    "Antique Globe",
    "Box of Old Keys",
    "Chess Lesson",
    "Dinner for Two",
    "Garden Bench",
    "Guided River Tour",
    "Handmade Quilt",
    "Jar of Honey",
    "Oil Lamp",
    "Pocket Watch",
    "Rowing Boat",
    "Signed First Edition",
    "Telescope",
    "Theatre Tickets",
    "Wooden Train Set",
)

_FIRST_NAMES = _listed(
    "Ada Amir Anna Bao Carla Chidi Clara Dag Dana Edgar Elif Emil Farah Felix Gita Hana Hugo Ida Ines "
    "Ivan Jana Jonas Kaede Karim Lena Leo Lucia Malik Mara Milo Nadia Nils Noor Olga Omar Petra Quinn "
    "Rafael Rosa Samir Selma Tariq Tessa Uma Victor Wanda Xenia Yara Yusuf Zoe"
)
_LAST_NAMES = _listed(
    "Abel Bakker Castro Demir Eklund Fischer Garcia Haddad Ivanov Jensen Kato Lindgren Mbeki Novak Okafor "
    "Petrov Quist Rossi Sato Tamm Usman Vargas Weber Xu Yilmaz Zeman Adler Berg Conti Dietz Endo Farkas "
    "Grant Horvat Ito Jung Kaya Lopez Marin Nagy"
)
_ORGANIZATION_HEADS = _listed(
    "Alder Beacon Cedar Delta Ember Fjord Granite Harbour Ivory Juniper Kestrel Lantern Meadow Northern "
    "Orchard Pebble Quarry Ridge Summit Tidal"
)
_ORGANIZATION_TAILS = ("Brothers", "Foundry", "Logistics", "Partners", "Works")

NATIONS = (
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
)
"""TPC-H's nations with their regions."""
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
MARKET_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
ORDER_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
SHIP_INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
SHIP_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
COLOURS = _listed(
    "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished "
    "chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab "
    "firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki "
    "lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty "
    "moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red "
    "rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle "
    "tomato turquoise violet wheat white yellow"
)
TYPE_WORDS = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINER_WORDS = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)

_COMMENT_WORDS = (
    ("quickly", "slowly", "seldom", "always", "quietly", "boldly", "neatly", "now"),
    ("regular", "late", "early", "pending", "final", "unusual", "heavy", "small"),
    ("parcels", "invoices", "pallets", "letters", "shipments", "ledgers", "crates", "notices"),
    ("wait", "arrive", "settle", "travel", "gather", "return", "rest", "move"),
    ("beside", "behind", "among", "before", "above", "without", "after", "near"),
    ("the harbour", "the weekly audit", "older contracts", "the depot", "open questions", "the night shift"),
)
_COMMENT_COUNT = 4_096


def phrases(stream: str, words: tuple[tuple[str, ...], ...], count: int) -> pa.Array:
    """`count` random phrases of one word of each list."""
    numbers = np.arange(count, dtype=np.int64)
    picks = [_CHANCE.below(len(choice), f"{stream}/{i}", numbers) for i, choice in enumerate(words)]
    return pa.array(
        [
            " ".join(choice[place] for choice, place in zip(words, places, strict=True))
            for places in zip(*picks, strict=True)
        ],
        pa.string(),
    )


def _named(firsts: tuple[str, ...], seconds: tuple[str, ...], count: int) -> list[str]:
    """`count` different pairs, with a number behind them once the pairs are used up."""
    pairs = len(firsts) * len(seconds)
    names = []
    for number, place in enumerate(scrambled(np.arange(count, dtype=np.int64) % pairs, pairs)):
        name = f"{firsts[place % len(firsts)]} {seconds[place // len(firsts)]}"
        names.append(name if number < pairs else f"{name} {number // pairs + 1}")
    return names


@lru_cache(maxsize=8)
def organizations(count: int) -> pa.Array:
    """Names of organizations."""
    return pa.array(_named(_ORGANIZATION_HEADS, _ORGANIZATION_TAILS, count), pa.string())


@lru_cache(maxsize=8)
def people(count: int) -> pa.Array:
    """Names of people."""
    return pa.array(_named(_FIRST_NAMES, _LAST_NAMES, count), pa.string())


@lru_cache(maxsize=8)
def emails(count: int) -> pa.Array:
    """Addresses of the same people."""
    names = _named(_FIRST_NAMES, _LAST_NAMES, count)
    return pa.array([f"{name.lower().replace(' ', '.')}@example.com" for name in names], pa.string())


@lru_cache(maxsize=1)
def comments() -> pa.Array:
    """A pool of comments: harmless sentences about freight."""
    return phrases("comment", _COMMENT_WORDS, _COMMENT_COUNT)


def comment_places(chance: Chance, stream: str, *indexes: IntArray) -> IntArray:
    """Random places in `comments`."""
    return chance.below(_COMMENT_COUNT, stream, *indexes)
