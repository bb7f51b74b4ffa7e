"""Judges what an episode has changed. Each effect of a task covers some parts of the account and says what must have
become of them; every part that no effect covers must be as before. Where the account already was as wished, or ends as
it began (pause and resume), the request itself must stand in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.restbench.music import playback
from experiments.restbench.music.tasks.truth import resolve
from experiments.restbench.music.world import Player, Playlist, State, World
from experiments.restbench.oracle import Fact, HttpLog, Seen, succeeded


@dataclass(frozen=True)
class Episode:
    """What an effect is judged by."""

    before: World
    after: World
    log: HttpLog

    def pool(self, chain: Sequence[str]) -> tuple[str, ...]:
        """The ids that a chain meant when the episode began."""
        return resolve(self.before, chain)

    def sent(self, endpoint: str) -> list[int]:
        """The places in the log of the successful requests to an endpoint."""
        return [at for at, entry in enumerate(self.log) if entry.endpoint == endpoint and succeeded(entry)]


Effect = Callable[[Episode, Any], str | None]


def fault(before: World, after: World, log: HttpLog, effects: Mapping[str, Any]) -> str | None:
    """What is wrong with the changes, None when they are exactly the wished ones."""
    episode = Episode(before, after, log)
    covered: set[str] = set()
    for name, value in effects.items():
        check, parts = EFFECTS[name]
        covered |= set(parts)
        problem = check(episode, value)
        if problem is not None:
            return problem
    first, second = _parts(before.state), _parts(after.state)
    changed = [part for part in first if part not in covered and first[part] != second[part]]
    return f"{changed[0]} should not have changed" if changed else None


def _parts(state: State) -> dict[str, Any]:
    """The account in parts that can change on their own; times, versions and positions within a song do not count."""
    player = state.player
    return {
        "saved tracks": [item.id for item in state.tracks],
        "saved albums": [item.id for item in state.albums],
        "followed artists": list(state.artists),
        "followed users": list(state.users),
        "playlists": _contents(state),
        "kept playlists": list(state.subscribed),
        "current track": (player.track, player.context, player.before, player.after),
        "queue": player.queued,
        "playing or paused": player.playing,
        "volume": [each.volume for each in player.devices],
        "repeat mode": player.repeat,
        "shuffle": player.shuffle,
        "device": player.active,
    }


def _contents(state: State) -> dict[str, tuple[Any, ...]]:
    return {each.id: _content(each) for each in state.playlists}


def _content(each: Playlist) -> tuple[Any, ...]:
    return each.name, each.description, each.public, each.collaborative, tuple(item.id for item in each.items)


def _gained(before: Sequence[str], after: Sequence[str]) -> list[str]:
    return [key for key in after if key not in before]


def _follow(episode: Episode, value: Mapping[str, Any]) -> str | None:
    before, after = episode.before.state.artists, episode.after.state.artists
    wished = episode.pool(value["of"])
    needed = wished if value.get("every") else wished[:1]
    if not set(needed) <= set(after):
        return "an artist is not followed"
    if not set(before) <= set(after) or not set(_gained(before, after)) <= set(wished):
        return "other artists are followed than wished"
    known = [key for key in needed if key in before]
    if len(known) == len(needed) and not _was_asked(episode, "PUT /me/following", known):
        return "the artist was followed before, and nobody looked"
    return None


def _was_asked(episode: Episode, endpoint: str, ids: Sequence[str]) -> bool:
    """Whether a request for these ids was sent, or the account's own list was seen to hold them."""
    asked = " ".join(f"{episode.log[at].url} {episode.log[at].sent}" for at in episode.sent(endpoint))
    listed = Seen([episode.log[at] for at in episode.sent("GET /me/following")])
    return all(key in asked or listed.shows(Fact(key, "id", key)) for key in ids)


def _unfollow(episode: Episode, value: Mapping[str, Any]) -> str | None:
    before, wished = episode.before.state.artists, episode.pool(value["of"])
    return _exact(before, episode.after.state.artists, [key for key in before if key not in wished], "followed artists")


def _exact(before: Sequence[str], after: Sequence[str], wished: Sequence[str], what: str) -> str | None:
    if list(after) == list(wished):
        return None
    return f"the {what} did not change" if list(after) == list(before) else f"the {what} changed in another way"


def _save(part: str) -> Effect:
    def check(episode: Episode, value: Mapping[str, Any]) -> str | None:
        before = [item.id for item in getattr(episode.before.state, part)]
        after = [item.id for item in getattr(episode.after.state, part)]
        wished, (least, most) = episode.pool(value["of"]), value["count"]
        gained = _gained(before, after)
        if not set(before) <= set(after) or not set(gained) <= set(wished):
            return f"other {part} are saved than wished"
        held = len(set(after) & set(wished))
        return None if gained and least <= held <= most else f"{held} of the wished {part} are saved"

    return check


def _drop(part: str) -> Effect:
    def check(episode: Episode, value: Mapping[str, Any]) -> str | None:
        before = [item.id for item in getattr(episode.before.state, part)]
        wished = episode.pool(value["of"])
        after = [item.id for item in getattr(episode.after.state, part)]
        return _exact(before, after, [key for key in before if key not in wished], f"saved {part}")

    return check


def _may_clear_albums(episode: Episode, value: bool) -> str | None:
    """A music library may or may not mean the albums as well: all or none of them are gone."""
    after = episode.after.state.albums
    return None if after in ((), episode.before.state.albums) else "some albums are gone, but not all"


def _new_playlist(episode: Episode, value: Mapping[str, Any]) -> str | None:
    before, after = episode.before.state.playlists, episode.after.state.playlists
    made = [each for each in after if each.id not in {old.id for old in before}]
    if _contents(episode.before.state).items() - _contents(episode.after.state).items():
        return "an old playlist was changed"
    if len(made) != 1 or made[0].name.strip() != value["name"]:
        return f"{len(made)} playlists were made, or its name is another"
    ids = [item.id for item in made[0].items]
    least, most = value["count"]
    if not set(ids) <= set(episode.pool(value["of"])):
        return "the new playlist has other tracks than wished"
    return None if least <= len(ids) <= most and len(set(ids)) == len(ids) else f"it has {len(ids)} tracks"


def _edit(episode: Episode, value: Mapping[str, Any]) -> str | None:
    """One playlist has a new name or visibility, lacks the tracks to remove or has one of the tracks to add."""
    (key,) = episode.pool(value["to"])[:1]
    before, after = _contents(episode.before.state), _contents(episode.after.state)
    if {k: v for k, v in before.items() if k != key} != {k: v for k, v in after.items() if k != key}:
        return "another playlist was changed"
    name, description, public, together, items = before[key]
    gone = set(resolve(episode.before, [*value["to"], *value["remove"]])) if "remove" in value else set()
    kept = tuple(item for item in items if item not in gone)
    wished = (value.get("name", name), description, value.get("public", public), together)
    if after[key][:-1] != wished:
        return "the playlist's name or visibility is another"
    found: tuple[str, ...] = after[key][-1]
    if "add" not in value:
        return None if found == kept else "the playlist has other tracks than wished"
    candidates = episode.pool(value["add"])
    places = [at for at, item in enumerate(found) if item in candidates and found[:at] + found[at + 1 :] == kept]
    return None if places else "the playlist has other tracks than wished"


def _queue(episode: Episode, chain: Sequence[str]) -> str | None:
    before, after = episode.before.state.player.queued, episode.after.state.player.queued
    if after == before:
        return "nothing was queued"
    right = after[:-1] == before and after[-1] in episode.pool(chain)
    return None if right else "something else was queued"


def _play(episode: Episode, chain: Sequence[str]) -> str | None:
    """One of the tracks plays. What was handed over as a list, or queued besides, is of the wished tracks too."""
    wished, before, player = set(episode.pool(chain)), episode.before.state.player, episode.after.state.player
    if not episode.sent("PUT /me/player/play") or player.track not in wished or not player.playing:
        return "no wished track is playing"
    besides = () if player.context else (*player.before, *player.after)
    extra = player.queued[len(before.queued) :]
    right = player.queued[: len(before.queued)] == before.queued and set(besides) | set(extra) <= wished
    return None if right else "other tracks are lined up"


def _play_context(episode: Episode, chain: Sequence[str]) -> str | None:
    """The album or playlist plays, as such or as the list of all its tracks."""
    (key,), player = episode.pool(chain), episode.after.state.player
    tracks = set(resolve(episode.before, [*chain, "tracks"]))
    listed: Collection[str] = (*player.before, player.track, *player.after)
    whole = player.context is None and set(listed) == tracks
    right = whole or (player.context or "").endswith(f":{key}")
    return None if right and player.playing and player.track in tracks else "it is not playing"


def _skip(episode: Episode, value: bool | str) -> str | None:
    """One track further, and playing unless a pause was wished as well."""
    wished, player = playback.skip(episode.before.state.player), episode.after.state.player
    if _place(player) != _place(wished):
        return "the player is not at the next track"
    return None if player.playing or value == "even_paused" else "it is not playing"


def _place(player: Player) -> tuple[Any, ...]:
    return player.track, player.context, player.before, player.after, player.queued


def _pause(episode: Episode, value: bool | str) -> str | None:
    """Paused. When the task goes on to play or skip ("briefly"), only the request counts."""
    if not episode.sent("PUT /me/player/pause"):
        return "nothing was paused"
    return "it is playing" if value != "briefly" and episode.after.state.player.playing else None


def _resumed(episode: Episode) -> bool:
    pauses, plays = episode.sent("PUT /me/player/pause"), episode.sent("PUT /me/player/play")
    return bool(pauses and plays) and pauses[0] < plays[-1]


def _resume(episode: Episode, value: bool | str) -> str | None:
    """Playing again, after a pause, where it was; on the named device when there is a name."""
    player = episode.after.state.player
    if not _resumed(episode) or not player.playing:
        return "it was not resumed after a pause"
    if value is True:
        return None
    device = player.device
    known = device.name == value and Seen(episode.log).shows(Fact(device.id, "id", device.id))
    return None if known else f"it plays elsewhere than on {value}, or nobody looked"


def _volume(episode: Episode, value: int | str) -> str | None:
    before, after = episode.before.state.player, episode.after.state.player
    others = [each.volume for each in before.devices if each.id != before.active]
    if others != [each.volume for each in after.devices if each.id != before.active]:
        return "the volume of another device was changed"
    old = before.device.volume or 0
    new = next(each.volume for each in after.devices if each.id == before.active) or 0
    right = new < old if value == "lower" else new == value
    return None if right else f"the volume is {new}"


def _repeat(episode: Episode, value: str) -> str | None:
    mode = episode.after.state.player.repeat
    return None if mode == value else f"the repeat mode is {mode}"


EFFECTS: dict[str, tuple[Effect, tuple[str, ...]]] = {
    "follow": (_follow, ("followed artists",)),
    "unfollow": (_unfollow, ("followed artists",)),
    "save_tracks": (_save("tracks"), ("saved tracks",)),
    "save_albums": (_save("albums"), ("saved albums",)),
    "drop_tracks": (_drop("tracks"), ("saved tracks",)),
    "drop_albums": (_drop("albums"), ("saved albums",)),
    "may_clear_albums": (_may_clear_albums, ("saved albums",)),
    "new_playlist": (_new_playlist, ("playlists",)),
    "edit": (_edit, ("playlists",)),
    "queue": (_queue, ("queue",)),
    "play": (_play, ("current track", "queue", "playing or paused")),
    "play_context": (_play_context, ("current track", "playing or paused")),
    "skip": (_skip, ("current track", "queue", "playing or paused")),
    "pause": (_pause, ("playing or paused",)),
    "resume": (_resume, ("playing or paused",)),
    "volume": (_volume, ("volume",)),
    "repeat": (_repeat, ("repeat mode",)),
}
