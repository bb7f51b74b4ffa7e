"""What the scripted solver does for each kind of question once it stands at the entity: one more request where one is
needed, and a sentence as an agent would write it. Everything comes through HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from experiments.restbench.movies.tasks.solver import (
    Ref,
    Solver,
    directed_films,
    directed_shows,
    directors,
    parts,
)
from experiments.restbench.oracle import Task
from experiments.restbench.service import Episode

Solve = Callable[[Solver, Task], str]


def solve(task: Task, episode: Episode, exact: bool = True) -> str:
    """Answer the task through the episode. `exact` False: trust the first search hit, which is often wrong."""
    return KINDS[task.kind](Solver(episode, exact), task)


def _from_entity(answer: Callable[[Solver, Task, Ref], str]) -> Solve:
    def run(solver: Solver, task: Task) -> str:
        return answer(solver, task, solver.resolve(task.params["of"]))

    return run


def _listing(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _name(solver: Solver, task: Task, ref: Ref) -> str:
    name = solver.get(ref.path)["name"] if ref.at else ref.name
    return f"It is {name}."


def _image(solver: Solver, task: Task, ref: Ref) -> str:
    if task.params.get("via"):
        solver.get(ref.path)
    body = solver.get(f"{ref.path}/images")
    kinds = [task.params["only"]] if "only" in task.params else ["posters", "logos", "profiles", "stills"]
    paths = [picture["file_path"] for kind in kinds for picture in body.get(kind, ())]
    shown = " ".join(f"https://image.example/t/p/w500{path}" for path in paths[: task.params.get("need", 1)])
    return f"Here you are: {shown}"


def _date(solver: Solver, task: Task, ref: Ref) -> str:
    via = task.params.get("via")
    if ref.kind == "person":
        day = solver.get(ref.path)["birthday"]
    elif ref.at:
        day = solver.get(ref.path)["air_date"]
    elif via == "detail":
        day = solver.get(ref.path)["first_air_date"]
    elif via == "release_dates":
        countries = solver.get(f"{ref.path}/release_dates")["results"]
        day = next(each for each in countries if each["iso_3166_1"] == "US")["release_dates"][0]["release_date"]
    else:
        day = ref.item["release_date"]
    return f"On {date.fromisoformat(day[:10]):%d %B %Y}."


def _place(solver: Solver, task: Task, ref: Ref) -> str:
    return f"In {solver.get(ref.path)[task.params['field']]}."


def _similar(solver: Solver, task: Task, ref: Ref) -> str:
    found = solver.get(f"{ref.path}/{task.params['prefer']}")["results"]
    return f"You may like {_listing([Ref(ref.kind, item).name for item in found[:4]])}."


def _keywords(solver: Solver, task: Task, ref: Ref) -> str:
    body = solver.get(f"{ref.path}/keywords")
    words = [item["name"] for item in body.get("keywords") or body["results"]]
    return f"{ref.name} has the keywords {_listing(words)}."


def _genres(solver: Solver, task: Task, ref: Ref) -> str:
    return f"Its genres are {_listing([genre['name'] for genre in solver.get(ref.path)['genres']])}."


def _cast(solver: Solver, task: Task, ref: Ref) -> str:
    cast = solver.get(f"{ref.path}/credits")["cast"]
    return f"The cast: {_listing([credit['name'] for credit in cast[:8]])}."


def _guests(solver: Solver, task: Task, ref: Ref) -> str:
    guests = solver.get(f"{ref.path}/credits")["guest_stars"]
    return f"The guest stars were {_listing([credit['name'] for credit in guests])}."


def _directors(solver: Solver, task: Task, ref: Ref) -> str:
    return f"It was directed by {_listing([person.name for person in directors(solver, ref)])}."


def _directed(solver: Solver, task: Task, ref: Ref) -> str:
    asked = " ".join(task.params["of"])
    titles = [item["title"] for item in directed_films(solver, ref) if item["title"] not in asked]
    return f"{ref.name} also directed {_listing(titles)}."


def _shows_directed(solver: Solver, task: Task, ref: Ref) -> str:
    return f"{ref.name} directed {_listing([item['name'] for item in directed_shows(solver, ref)])}."


def _known_for(solver: Solver, task: Task, ref: Ref) -> str:
    return f"{ref.name} is known for {_listing([item['title'] for item in ref.item['known_for']])}."


def _parts(solver: Solver, task: Task, ref: Ref) -> str:
    return f"The movies are {_listing([part.name for part in parts(solver, ref)])}."


def _part_dates(solver: Solver, task: Task, ref: Ref) -> str:
    return "; ".join(f"{part.name}: {part.item['release_date']}" for part in parts(solver, ref))


def _review(solver: Solver, task: Task, ref: Ref) -> str:
    found = solver.get(f"{ref.path}/reviews")["results"]
    return "\n".join(f'{review["author"]}: "{review["content"]}"' for review in found[: task.params.get("need", 1)])


def _gist(solver: Solver, task: Task, ref: Ref) -> str:
    return f"In this episode, {solver.get(ref.path)['overview']}"


def _homepage(solver: Solver, task: Task, ref: Ref) -> str:
    return f"The homepage is {solver.get(ref.path)['homepage']}"


def _number(solver: Solver, task: Task, ref: Ref) -> str:
    return f"There are {solver.get(ref.path)[task.params['field']]}."


def _count_directed(solver: Solver, task: Task, ref: Ref) -> str:
    return f"{ref.name} directed {len(directed_films(solver, ref))} movies."


def _absent(solver: Solver, task: Task, ref: Ref) -> str:
    solver.get(ref.path)
    return f"The founding date of {ref.name} is not available."


def _compare_movies(solver: Solver, task: Task, ref: Ref) -> str:
    other = solver.resolve([task.params["with"]])
    if task.params["by"] == "vote_average":
        first, second = sorted((ref, other), key=lambda each: -float(each.item["vote_average"]))
        return f"{first.name} has a higher rating ({first.item['vote_average']}) than {second.name}."
    first, second = sorted((ref, other), key=lambda each: str(each.item["release_date"]))
    return f"{first.name} was released earlier, on {first.item['release_date']}."


def _compare_directed(solver: Solver, task: Task, ref: Ref) -> str:
    other = solver.resolve([task.params["with"]])
    first, second = sorted((ref, other), key=lambda each: -len(directed_films(solver, each)))
    return f"{first.name} directed more movies than {second.name}."


def _same_director(solver: Solver, task: Task, ref: Ref) -> str:
    of_movie = directors(solver, ref)
    show = solver.resolve([task.params["with"]])
    of_season = directors(solver, Ref(show.kind, show.item, (task.params["season"],)))
    same = {person.id for person in of_movie} & {person.id for person in of_season}
    return "Yes, it is the same person." if same else "No, they are different people."


def _in_chart(solver: Solver, task: Task, ref: Ref) -> str:
    top = solver.get(f"/{task.params['chart']}")["results"][: task.params["top"]]
    return f"{'Yes' if ref.id in [item['id'] for item in top] else 'No'}, judging by the current list."


def _co_starring(solver: Solver, task: Task, ref: Ref) -> str:
    cast = {credit["name"] for credit in solver.get(f"{ref.path}/credits")["cast"]}
    return "Yes, both are in the cast." if set(task.params["people"]) <= cast else "No, only one of them is."


def _older(solver: Solver, task: Task, ref: Ref) -> str:
    other = solver.resolve(task.params["with"])
    born = {each.name: date.fromisoformat(solver.get(each.path)["birthday"]) for each in (ref, other)}
    older, younger = sorted(born, key=lambda name: born[name])
    years = int((born[younger] - born[older]).days // 365.25)
    return f"{older} is older than {younger} by {years} years."


def _discover(solver: Solver, task: Task) -> str:
    asked = task.params
    query = {
        "with_original_language": asked["language"],
        "vote_average.gte": asked["rating"],
        "primary_release_date.gte": asked["since"],
    }
    found = solver.get("/discover/movie", **query)["results"]
    return f"For example {_listing([item['title'] for item in found[:5]])}."


KINDS: dict[str, Solve] = {
    "name": _from_entity(_name),
    "image": _from_entity(_image),
    "date": _from_entity(_date),
    "place": _from_entity(_place),
    "similar": _from_entity(_similar),
    "keywords": _from_entity(_keywords),
    "genres": _from_entity(_genres),
    "cast": _from_entity(_cast),
    "guests": _from_entity(_guests),
    "directors": _from_entity(_directors),
    "directed": _from_entity(_directed),
    "shows_directed": _from_entity(_shows_directed),
    "known_for": _from_entity(_known_for),
    "parts": _from_entity(_parts),
    "part_dates": _from_entity(_part_dates),
    "review": _from_entity(_review),
    "gist": _from_entity(_gist),
    "homepage": _from_entity(_homepage),
    "name_and_keywords": _from_entity(_keywords),
    "number": _from_entity(_number),
    "count_directed": _from_entity(_count_directed),
    "absent": _from_entity(_absent),
    "compare_movies": _from_entity(_compare_movies),
    "compare_directed": _from_entity(_compare_directed),
    "same_director": _from_entity(_same_director),
    "in_chart": _from_entity(_in_chart),
    "co_starring": _from_entity(_co_starring),
    "older": _from_entity(_older),
    "discover": _discover,
}
