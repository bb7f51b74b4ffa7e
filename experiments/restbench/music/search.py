"""Finds artists, albums, tracks and playlists by words, as the service's search does: every word must stand in a name
or a genre (a beginning of a word is enough), field filters such as `artist:` narrow the hits, and the best known come
first. When nothing has every word, those with the most words are shown.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property, lru_cache

from experiments.restbench.matching import normalise
from experiments.restbench.music.world import Catalogue

KINDS = ("album", "artist", "playlist", "track", "show", "episode", "audiobook")
_FIELD = re.compile(r'\b(album|artist|track|year|genre|isrc|upc|tag):\s*("[^"]*"|\S+(?:\s+(?!\w+:)\S+)*)')
_LITTLE = frozenset(
    ("a", "an", "and", "by", "for", "from", "in", "me", "my", "of", "on", "some", "song", "songs", "the", "to")
)


class Index:
    """The words of one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @cached_property
    def _texts(self) -> Mapping[str, Mapping[str, str]]:
        """Per kind and id the text in which words are looked for."""
        known = self._catalogue
        singers = {key: artist.name for key, artist in known.artists.items()}
        styles = {key: f"{artist.name} {' '.join(artist.genres)}" for key, artist in known.artists.items()}
        albums = {
            key: f"{album.title} {' '.join(singers[artist] for artist in album.artists)}"
            for key, album in known.albums.items()
        }
        tracks = {
            key: f"{track.title} {known.albums[track.album].title} {' '.join(styles[each] for each in track.artists)}"
            for key, track in known.tracks.items()
        }
        lists = {key: each.name for key, each in known.playlists.items()}
        return {"artist": styles, "album": albums, "track": tracks, "playlist": lists}

    @cached_property
    def _words(self) -> Mapping[str, tuple[list[str], Mapping[str, frozenset[str]]]]:
        """Per kind the sorted words and, for each, the ids whose text has it."""
        found = {}
        for kind, texts in self._texts.items():
            having: dict[str, set[str]] = {}
            for key, text in texts.items():
                for word in normalise(text).split():
                    having.setdefault(word, set()).add(key)
            found[kind] = (sorted(having), {word: frozenset(keys) for word, keys in having.items()})
        return found

    def find(self, kind: str, query: str) -> list[str]:
        """The ids of one kind that the query means, best known first; kinds that the world lacks have none."""
        if kind not in self._texts:
            return []
        fields = [(name, value.strip('"')) for name, value in _FIELD.findall(query)]
        words = normalise(_FIELD.sub(" ", query)).split()
        hits = self._with_words(kind, words) if words else set(self._texts[kind])
        if not words and not fields:
            return []
        return self._ranked(kind, {key for key in hits if all(self._fits(kind, key, *field) for field in fields)})

    def _with_words(self, kind: str, words: list[str]) -> set[str]:
        groups = [self._having(kind, word) for word in words]
        every = set.intersection(*groups)
        if every:
            return every
        counts: dict[str, int] = {}
        for word, group in zip(words, groups, strict=True):
            for key in group if word not in _LITTLE else ():
                counts[key] = counts.get(key, 0) + 1
        best = max(counts.values(), default=0)
        return {key for key, count in counts.items() if count == best}

    def _having(self, kind: str, word: str) -> set[str]:
        ordered, having = self._words[kind]
        found: set[str] = set()
        for at in range(bisect_left(ordered, word), len(ordered)):
            if not ordered[at].startswith(word) or (len(word) < 3 and ordered[at] != word):
                break
            found |= having[ordered[at]]
        return found

    def _ranked(self, kind: str, hits: set[str]) -> list[str]:
        tables = {"artist": self._catalogue.artists, "album": self._catalogue.albums, "track": self._catalogue.tracks}
        if kind == "playlist":
            return [key for key in self._catalogue.playlists if key in hits]
        table = tables[kind]
        return sorted(hits, key=lambda key: (-table[key].popularity, key))  # type: ignore[attr-defined]

    def _fits(self, kind: str, key: str, name: str, value: str) -> bool:
        """Whether an entity has this value in a field; unknown codes and tags fit nothing."""
        known, wanted = self._catalogue, f" {normalise(value)} "
        if kind == "playlist" or name in ("isrc", "upc", "tag"):
            return False
        track = known.tracks[key] if kind == "track" else None
        album = known.albums[track.album if track else key] if kind != "artist" else None
        singers = (key,) if kind == "artist" else track.artists if track else album.artists if album else ()
        if name == "year":
            first, _, last = value.partition("-")
            return album is not None and first <= album.date[:4] <= (last or first)
        if name == "genre":
            return any(wanted in f" {normalise(genre)} " for each in singers for genre in known.artists[each].genres)
        texts = {
            "artist": " | ".join(known.artists[each].name for each in singers),
            "album": album.title if album else "",
            "track": track.title if track else "",
        }
        return wanted in f" {normalise(texts[name])} "


@lru_cache(maxsize=8)
def index(catalogue: Catalogue) -> Index:
    """The search index of a catalogue."""
    return Index(catalogue)
