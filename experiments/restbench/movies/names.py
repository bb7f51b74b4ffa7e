"""Made-up names and prose for the fillers of a world: people, titles, places, firms, plots, reviews. Everything here
was written for this project, so no response text of a real service is ever served. Draws only from the dice it is
given.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import yaml

_WORDS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))
FIRST, LAST = _WORDS["first"].split(), _WORDS["last"].split()
ADJECTIVES, NOUNS = _WORDS["adjectives"].split(), _WORDS["nouns"].split()
PLACES = _WORDS["places"].split("; ")
MOVIE_GENRES, TV_GENRES = _WORDS["movie_genres"].split(), _WORDS["tv_genres"].split()
_VERBS, _THINGS = _WORDS["verbs"].split(), _WORDS["things"].split()
COUNTRIES = ("US", "GB", "FR", "DE", "JP", "CA", "ES", "IT", "SE", "KR")
LANGUAGES = {
    "US": "en", "GB": "en", "CA": "en", "FR": "fr", "DE": "de", "JP": "ja", "ES": "es", "IT": "it", "SE": "sv",
    "KR": "ko",
}  # fmt: skip
COUNTRY_NAMES = {
    "US": "United States of America", "GB": "United Kingdom", "FR": "France", "DE": "Germany", "JP": "Japan",
    "CA": "Canada", "ES": "Spain", "IT": "Italy", "SE": "Sweden", "KR": "South Korea",
}  # fmt: skip
LANGUAGE_NAMES = {
    "en": "English", "fr": "Français", "de": "Deutsch", "ja": "日本語", "es": "Español", "it": "Italiano",
    "sv": "svenska", "ko": "한국어",
}  # fmt: skip
MOVIE_GENRES = [
    "Adventure",
    "Animation",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "History",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Thriller",
    "War",
    "Western",
]
TV_GENRES = [
    "Adventure",
    "Animation",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Mystery",
    "Reality",
    "Satire",
    "Talk",
    "Western",
]
CREW_JOBS = (
    ("Writing", "Screenplay"), ("Production", "Producer"), ("Camera", "Director of Photography"),
    ("Editing", "Editor"), ("Sound", "Original Music Composer"), ("Art", "Production Design"),
    ("Costume & Make-Up", "Costume Design"), ("Production", "Casting"), ("Sound", "Sound Mixer"),
    ("Visual Effects", "Visual Effects Supervisor"), ("Art", "Set Decoration"), ("Camera", "Camera Operator"),
    ("Crew", "Stunt Coordinator"), ("Lighting", "Gaffer"), ("Directing", "Script Supervisor"),
    ("Visual Effects", "Compositor"), ("Sound", "Foley Artist"), ("Art", "Storyboard Artist"),
)  # fmt: skip
DEPARTMENTS = ("Acting", "Acting", "Acting", "Production", "Writing", "Camera", "Sound", "Art", "Editing", "Crew")
_THINGS = [
    "sextant",
    "ledger",
    "violin",
    "telescope",
    "passport",
    "painting",
    "music-box",
    "necklace",
    "typewriter",
    "photograph",
    "manuscript",
    "barometer",
    "chessboard",
    "signet-ring",
    "umbrella",
]
_REASONS = (
    "before the ferry leaves", "while the town sleeps", "against the advice of an old friend",
    "to settle a family debt", "and nobody believes the reason", "as the storm closes in",
    "without telling the harbour master", "on the eve of the election",
)  # fmt: skip
_PRAISE = (
    "I kept thinking about the {noun} long after the lights came up.",
    "The scene with the {noun} is worth the ticket alone.",
    "Nothing prepared me for how {adjective} the ending turns out.",
    "The pacing sags near the {noun}, but the last act recovers.",
    "My {relative} slept through it and still called it {adjective}.",
    "A {adjective} piece of work that trusts its audience.",
    "It has one {adjective} idea about a {noun} and repeats it for two hours.",
)
_RELATIVES = ["brother", "sister", "uncle", "grandmother", "neighbour", "flatmate"]


def unique(dice: Random, make: Callable[[Random], str], taken: set[str]) -> str:
    """Draw until the name is new, a leading "The" aside; the name is added to `taken`."""
    while True:
        name = make(dice)
        if not {name, f"The {name}", name.removeprefix("The ")} & taken:
            taken.add(name)
            return name


def person(dice: Random) -> str:
    """A full name, a tenth of them with a middle initial."""
    middle = f" {dice.choice('ABCDEFGHJKLMNPRSTVW')}." if dice.random() < 0.1 else ""
    return f"{dice.choice(FIRST)}{middle} {dice.choice(LAST)}"


def title(dice: Random) -> str:
    """A film or show title."""
    adjective, noun, other = dice.choice(ADJECTIVES), dice.choice(NOUNS), dice.choice(NOUNS)
    forms = (f"The {adjective} {noun}", f"{adjective} {noun}", f"{noun} of the {other}", f"The {noun}'s {other}")
    return dice.choice(forms)


def subtitle(dice: Random) -> str:
    """A part's subtitle in a series of films."""
    return f"the {dice.choice(ADJECTIVES)} {dice.choice(NOUNS)}"


def company(dice: Random) -> str:
    """A production company."""
    suffix = dice.choice(("Pictures", "Films", "Entertainment", "Studio", "Productions"))
    return f"{dice.choice(ADJECTIVES)} {dice.choice(NOUNS)} {suffix}"


def network(dice: Random) -> str:
    """A television network."""
    return f"{dice.choice(NOUNS)} {dice.choice(('One', 'TV', 'Network', 'Channel', '+'))}"


def keyword(dice: Random) -> str:
    """A keyword of one or two words."""
    noun = dice.choice(NOUNS).lower()
    return dice.choice(
        (f"{dice.choice(ADJECTIVES).lower()} {noun}", f"{noun} heist", f"{noun} rivalry", f"life in a {noun}")
    )


def place(dice: Random) -> str:
    """A town and its region."""
    return ", ".join(dice.choice(PLACES).split("|"))


def slug(name: str) -> str:
    """A name as the host part of an address: letters and digits only."""
    return "".join(c for c in name.lower() if c.isascii() and c.isalnum())


def plot(dice: Random, sentences: int) -> str:
    """So many sentences of plot, each with a person, a thing and a place of its own."""
    return " ".join(
        f"{person(dice)} {dice.choice(_VERBS)} the {dice.choice(ADJECTIVES).lower()} {dice.choice(_THINGS)} in "
        f"{dice.choice(PLACES).split('|')[0]} {dice.choice(_REASONS)}."
        for _ in range(sentences)
    )


def opinion(dice: Random, sentences: int) -> str:
    """A viewer's review."""
    forms = dice.sample(_PRAISE, k=min(sentences, len(_PRAISE)))
    return " ".join(
        form.format(
            noun=f"{dice.choice(ADJECTIVES).lower()} {dice.choice(NOUNS).lower()}",
            adjective=dice.choice(ADJECTIVES).lower(),
            relative=dice.choice(_RELATIVES),
        )
        for form in forms
    )
