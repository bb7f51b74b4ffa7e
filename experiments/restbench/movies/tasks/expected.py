"""For each kind of question, the answers that are right in a given world, as forms with their evidence. One function
per kind: (world, task) -> acceptable answers. How a text or a log is read is the business of `expect`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from experiments.restbench.expect import (
    Absent,
    Both,
    Dates,
    Expected,
    Form,
    Gist,
    Names,
    Number,
    Paths,
    Pick,
    Quotes,
    Verbatim,
    YesNo,
)
from experiments.restbench.movies.names import PLACES
from experiments.restbench.movies.render import known_for
from experiments.restbench.movies.tasks import truth
from experiments.restbench.movies.tasks.truth import Entity, EpisodeOf, Found, SeasonOf, resolve
from experiments.restbench.movies.world import Image, Movie, Organisation, Person, Show, World
from experiments.restbench.oracle import Evidence, Fact, Leaf, Task

Expect = Callable[[World, Task], list[Expected]]
_CITIES = tuple(place.split("|")[0] for place in PLACES)


def acceptable(world: World, task: Task) -> list[Expected]:
    """All acceptable answers to the task in this world."""
    return KINDS[task.kind](world, task)


def _per_entity(make: Callable[[World, Task, Any], Form | None]) -> Expect:
    """A kind whose answer is about one entity, which a response must have shown by its id.

    Each entity that the question may mean gives an acceptable answer.
    """

    def expect(world: World, task: Task) -> list[Expected]:
        found = resolve(world, task.params["of"])
        forms = [(make(world, task, each.entity), (*each.evidence, *_shown(each.entity))) for each in found]
        return [Expected(form, evidence) for form, evidence in forms if form is not None]

    return expect


def _shown(entity: Entity) -> tuple[Fact, ...]:
    owner = entity.show if isinstance(entity, SeasonOf | EpisodeOf) else entity
    return (Fact(owner.id, "id", owner.id),)


def _names(
    world: World, task: Task, values: Sequence[str], kind: Any, need: int | None = None, spare: int = 2
) -> Names:
    """Names of one kind; everything else of that kind which the question does not name itself is wrong."""
    asked = " ".join(str(step) for step in task.params.get("of", ()))
    if kind is Person:
        others = [person.name for person in world.people.values()]
    else:
        works: Sequence[Movie | Show] = list(world.movies.values() if kind is Movie else world.shows.values())
        others = [work.title for work in works]
    rivals = tuple(name for name in dict.fromkeys(others) if name not in asked)
    unique = tuple(dict.fromkeys(values))
    return Names(unique, min(need or len(unique), len(unique)), rivals, spare)


def _name(world: World, task: Task, entity: Entity) -> Form:
    if isinstance(entity, EpisodeOf):
        others = tuple(e.name for season in entity.show.seasons for e in season.episodes)
        return Names((entity.episode.name,), 1, others)
    return _names(world, task, [truth.name_of(entity)], type(entity), 1)


def _image(world: World, task: Task) -> list[Expected]:
    found = resolve(world, task.params["of"])
    only, need = task.params.get("only"), task.params.get("need", 1)
    sets = [tuple(picture.path for picture in _images(each.entity, only)) for each in found]
    if task.params.get("pool"):
        return [Expected(Paths(tuple(path for paths in sets for path in paths), need))]
    shown = [(*each.evidence, *_shown(each.entity)) for each in found]
    return [Expected(Paths(paths, need), evidence) for paths, evidence in zip(sets, shown, strict=True)]


def _images(entity: Any, only: str | None) -> tuple[Image, ...]:
    if isinstance(entity, EpisodeOf):
        return entity.episode.stills
    if isinstance(entity, SeasonOf):
        return entity.season.posters
    if isinstance(entity, Person):
        return entity.images
    if isinstance(entity, Organisation):
        return entity.logos
    posters: tuple[Image, ...] = entity.posters
    return posters if only == "posters" else (*posters, *entity.backdrops)


def _date(world: World, task: Task) -> list[Expected]:
    expected = []
    for each in resolve(world, task.params["of"]):
        entity: Any = each.entity
        if isinstance(entity, Person):
            day, evidence = entity.birthday or "", Fact(entity.id, "birthday", entity.birthday)
        elif isinstance(entity, SeasonOf):
            day, evidence = entity.season.date, Fact(entity.season.id, "air_date", entity.season.date)
        elif isinstance(entity, Show):
            day, evidence = entity.date, Fact(entity.id, "first_air_date", entity.date)
        else:
            expected.append(Expected(Dates((entity.date,)), (*each.evidence, *_shown(entity), Leaf(entity.date))))
            continue
        expected.append(Expected(Dates((day,)), (*each.evidence, evidence)))
    return expected


def _place(world: World, task: Task) -> list[Expected]:
    expected = []
    for each in resolve(world, task.params["of"]):
        entity: Any = each.entity
        where = entity.birthplace if isinstance(entity, Person) else entity.headquarters
        if where:
            form = Names((where.split(",")[0],), 1, _CITIES, 1)
            expected.append(Expected(form, (*each.evidence, Fact(entity.id, task.params["field"], where))))
    return expected


def _similar(world: World, task: Task) -> list[Expected]:
    works: list[Any] = [each.entity for each in resolve(world, task.params["of"])]
    kind = type(works[0])
    table: Any = world.movies if kind is Movie else world.shows
    titles = [[table[i].title for i in (*work.similar, *work.recommended)] for work in works]
    need = task.params.get("need", 1)
    forms = [_names(world, task, each, kind, need) for each in titles]
    return [Expected(form, _shown(work)) for form, work in zip(forms, works, strict=True)]


def _keywords(world: World, task: Task, work: Any) -> Names:
    others = tuple(word for i, word in world.keywords.items() if i not in work.keywords)
    return Names(tuple(world.keywords[i] for i in work.keywords), task.params.get("need", 1), others)


def _genres(world: World, task: Task, work: Any) -> Names:
    table = world.movie_genres if isinstance(work, Movie) else world.tv_genres
    values = tuple(table[i] for i in work.genres)
    return Names(values, -(-len(values) // 2), tuple(table.values()), 1)


def _cast(world: World, task: Task, work: Any) -> Names:
    people = [world.people[credit.person].name for credit in work.cast]
    asked = " ".join(task.params["of"])
    return _names(world, task, [name for name in people if name not in asked], Person, task.params["need"])


def _guests(world: World, task: Task, entity: EpisodeOf) -> Names:
    return _names(world, task, [world.people[c.person].name for c in entity.episode.guests], Person)


def _directors(world: World, task: Task, entity: SeasonOf) -> Names:
    credits = truth.season_directors(entity.season)
    return _names(world, task, [world.people[c.person].name for c in credits], Person)


def _directed(world: World, task: Task, person: Person) -> Names:
    asked = " ".join(task.params["of"])
    titles = [movie.title for movie in truth.directed(world, person) if movie.title not in asked]
    return _names(world, task, titles, Movie, task.params["need"])


def _shows_directed(world: World, task: Task, person: Person) -> Names:
    return _names(world, task, [show.title for show in truth.shows_directed(world, person)], Show)


def _known_for(world: World, task: Task, person: Person) -> Names:
    return _names(world, task, [movie.title for movie in known_for(world, person)], Movie, task.params["need"])


def _parts(world: World, task: Task, collection: Any) -> Names:
    titles = [world.movies[i].title for i in collection.parts]
    return _names(world, task, titles, Movie, -(-len(titles) * 4 // 5))  # four fifths


def _part_dates(world: World, task: Task, collection: Any) -> Dates:
    days = tuple(world.movies[i].date for i in collection.parts)
    return Dates(days, len(days))


def _review(world: World, task: Task, work: Any) -> Quotes | None:
    texts = tuple((review.author, review.content) for review in work.reviews)
    return Quotes(texts, min(task.params.get("need", 1), len(texts))) if texts else None


def _gist(world: World, task: Task, entity: EpisodeOf) -> Gist:
    return Gist(entity.episode.overview, task.query)


def _homepage(world: World, task: Task, entity: Any) -> Verbatim:
    return Verbatim(entity.homepage.removeprefix("https://www."))


def _name_and_keywords(world: World, task: Task, work: Movie) -> Both:
    return Both(_name(world, task, work), _keywords(world, task, work))


def _number(world: World, task: Task) -> list[Expected]:
    show: Any = resolve(world, task.params["of"])[0].entity
    episodes = sum(len(season.episodes) for season in show.regular)
    value = episodes if task.params["field"] == "number_of_episodes" else len(show.regular)
    return [Expected(Number(value, task.query), (Fact(show.id, task.params["field"], value),))]


def _count_directed(world: World, task: Task) -> list[Expected]:
    person: Any = resolve(world, task.params["of"])[0].entity
    movies = truth.directed(world, person)
    return [Expected(Number(len(movies), task.query), _filmography(movies))]


def _filmography(movies: Sequence[Movie]) -> tuple[Evidence, ...]:
    return tuple(Fact(movie.id, "job", "Director") for movie in movies)


def _absent(world: World, task: Task) -> list[Expected]:
    found: list[Found] = resolve(world, task.params["of"])
    companies: list[Any] = [each.entity for each in found]
    return [Expected(Absent(), (Fact(c.id, "headquarters", c.headquarters),)) for c in companies]


def _compare(task: Task, first: str, second: str, first_wins: bool, evidence: Sequence[Evidence]) -> list[Expected]:
    right, wrong = (first, second) if first_wins else (second, first)
    pick = Pick(right, wrong, tuple(task.params["more"]), tuple(task.params["less"]))
    return [Expected(pick, tuple(evidence))]


def _compare_movies(world: World, task: Task) -> list[Expected]:
    first, second = _pair(world, task)
    if task.params["by"] == "vote_average":
        evidence = [Fact(movie.id, "vote_average", movie.rating.average) for movie in (first, second)]
        wins = first.rating.average > second.rating.average
        return _compare(task, first.title, second.title, wins, evidence)
    days = [Leaf(movie.date) for movie in (first, second)]
    return _compare(task, first.title, second.title, first.date < second.date, days)


def _compare_directed(world: World, task: Task) -> list[Expected]:
    first, second = _pair(world, task)
    films = [truth.directed(world, person) for person in (first, second)]
    evidence = _filmography([*films[0], *films[1]])
    surname, other = first.name.split()[-1], second.name.split()[-1]
    return _compare(task, surname, other, len(films[0]) > len(films[1]), evidence)


def _pair(world: World, task: Task) -> tuple[Any, Any]:
    return resolve(world, task.params["of"])[0].entity, resolve(world, [task.params["with"]])[0].entity


def _same_director(world: World, task: Task) -> list[Expected]:
    movie, show = _pair(world, task)
    of_movie = [credit for credit in movie.crew if credit.role == "Director"]
    of_season = truth.season_directors(show.season(task.params["season"]))
    same = bool({credit.person for credit in of_movie} & {credit.person for credit in of_season})
    return [Expected(YesNo(same), tuple(Leaf(credit.id) for credit in (*of_movie, *of_season)))]


def _in_chart(world: World, task: Task) -> list[Expected]:
    movie: Any = resolve(world, task.params["of"])[0].entity
    top = world.lists[task.params["chart"]][: task.params["top"]]
    return [Expected(YesNo(movie.id in top), tuple(Fact(i, "title", world.movies[i].title) for i in top))]


def _co_starring(world: World, task: Task) -> list[Expected]:
    show: Any = resolve(world, task.params["of"])[0].entity
    people: list[Any] = [truth.best_known(world, "person", name) for name in task.params["people"]]
    credits = [credit for credit in show.cast if credit.person in {person.id for person in people}]
    together = len({credit.person for credit in credits}) == len(people)
    return [Expected(YesNo(together), tuple(Leaf(credit.id) for credit in credits))]


def _older(world: World, task: Task) -> list[Expected]:
    expected = []
    for first in resolve(world, task.params["of"]):
        second = resolve(world, task.params["with"])[0]
        people: list[Any] = [first.entity, second.entity]
        born = [date.fromisoformat(person.birthday) for person in people]
        older, younger = (people[0], people[1]) if born[0] < born[1] else (people[1], people[0])
        pick = Pick(older.name, younger.name, ("older", "oldest", "elder", "senior"), ("younger", "youngest"))
        facts = [Fact(person.id, "birthday", person.birthday) for person in people]
        full = (max(born) - min(born)).days // 365.25
        for years in {full, abs(born[0].year - born[1].year)}:
            form = Both(pick, Number(years, task.query))
            expected.append(Expected(form, (*first.evidence, *second.evidence, *facts)))
    return expected


def _discover(world: World, task: Task) -> list[Expected]:
    asked = task.params
    titles = [
        movie.title
        for movie in world.movies.values()
        if movie.language == asked["language"]
        and movie.rating.average >= asked["rating"]
        and movie.date >= asked["since"]
    ]
    return [Expected(_names(world, task, titles, Movie, asked["need"], spare=1))]


KINDS: dict[str, Expect] = {
    "name": _per_entity(_name),
    "image": _image,
    "date": _date,
    "place": _place,
    "similar": _similar,
    "keywords": _per_entity(_keywords),
    "genres": _per_entity(_genres),
    "cast": _per_entity(_cast),
    "guests": _per_entity(_guests),
    "directors": _per_entity(_directors),
    "directed": _per_entity(_directed),
    "shows_directed": _per_entity(_shows_directed),
    "known_for": _per_entity(_known_for),
    "parts": _per_entity(_parts),
    "part_dates": _per_entity(_part_dates),
    "review": _per_entity(_review),
    "gist": _per_entity(_gist),
    "homepage": _per_entity(_homepage),
    "name_and_keywords": _per_entity(_name_and_keywords),
    "number": _number,
    "count_directed": _count_directed,
    "absent": _absent,
    "compare_movies": _compare_movies,
    "compare_directed": _compare_directed,
    "same_director": _same_director,
    "in_chart": _in_chart,
    "co_starring": _co_starring,
    "older": _older,
    "discover": _discover,
}
