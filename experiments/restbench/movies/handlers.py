"""One small function for each of the 54 endpoints: (world, path and query parameters) -> body, or None for "not
found". Parameters are checked and typed by `app` before they come here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from experiments.restbench.movies import query, render, render_tv
from experiments.restbench.movies.render import Json
from experiments.restbench.movies.world import CLOCK, Movie, Season, Show, World

Params = Mapping[str, Any]
Handler = Callable[[World, Params], Json | None]
HANDLERS: dict[str, Handler] = {}


def _about(table: str, parameter: str, body: Callable[[World, Any, Params], Json | None]) -> Handler:
    """A handler for one entity: looks the id up, then makes the body."""

    def handler(world: World, params: Params) -> Json | None:
        entity = getattr(world, table).get(params[parameter])
        return None if entity is None else body(world, entity, params)

    return handler


def _ranked(name: str, extra: Callable[[], Json] | None = None) -> Handler:
    """A handler for a ranked list of films or shows."""

    def handler(world: World, params: Params) -> Json:
        item = _movie_item if name.startswith("movie") else _show_item
        body = render.page(world.lists[name], params["page"], lambda i: item(world, i))
        return {**body, **(extra() if extra else {})}

    return handler


def _found(kind: str, item: Callable[[World, int], Json]) -> Handler:
    """A handler for a search."""

    def handler(world: World, params: Params) -> Json:
        hits = query.search(world, kind, params["query"])
        years = [params[name] for name in ("year", "primary_release_year", "first_air_date_year") if name in params]
        works: Mapping[int, Movie | Show] = world.movies if kind == "movie" else world.shows
        hits = [i for i in hits if all(works[i].date[:4] == str(year) for year in years)]
        return render.page(hits, params["page"], lambda i: item(world, i))

    return handler


def _movie_item(world: World, key: int) -> Json:
    return render.movie_item(world.movies[key])


def _show_item(world: World, key: int) -> Json:
    return render_tv.show_item(world.shows[key])


def _person_item(world: World, key: int) -> Json:
    return render.person_item(world, world.people[key])


def _company_item(world: World, key: int) -> Json:
    return render.company_item(world.companies[key])


def _collection_item(world: World, key: int) -> Json:
    return render.collection_item(world.collections[key])


def _movie(body: Callable[[World, Movie, Params], Json]) -> Handler:
    return _about("movies", "movie_id", body)


def _show(body: Callable[[World, Show, Params], Json | None]) -> Handler:
    return _about("shows", "tv_id", body)


def _season(body: Callable[[World, Show, Season, Params], Json | None]) -> Handler:
    def of_show(world: World, show: Show, params: Params) -> Json | None:
        season = show.season(params["season_number"])
        return None if season is None else body(world, show, season, params)

    return _show(of_show)


def _episode(body: Callable[[World, Show, Season, Any], Json]) -> Handler:
    def of_season(world: World, show: Show, season: Season, params: Params) -> Json | None:
        wanted = params["episode_number"]
        episode = next((e for e in season.episodes if e.number == wanted), None)
        return None if episode is None else body(world, show, season, episode)

    return _season(of_season)


def _movie_page(world: World, movie: Movie, params: Params) -> Json:
    """The film's page, with the sub-pages that `append_to_response` names."""
    body = render.movie_detail(world, movie)
    for name in str(params.get("append_to_response", "")).split(","):
        handler = HANDLERS.get(f"/movie/{{movie_id}}/{name}")
        appended = handler(world, {"page": 1, **params}) if handler else None
        if appended is not None:
            body[name] = {key: value for key, value in appended.items() if key != "id"}
    return body


def _movie_images(world: World, movie: Movie, params: Params) -> Json:
    asked = params.get("include_image_language")
    languages = asked.split(",") if asked else None
    backdrops, posters = render.pictures(movie.backdrops, languages), render.pictures(movie.posters, languages)
    return {"id": movie.id, "backdrops": backdrops, "posters": posters}


def _reviews(world: World, work: Movie | Show, params: Params) -> Json:
    return {"id": work.id, **render.page(work.reviews, params["page"], render_tv.review_item)}


def _review(world: World, params: Params) -> Json | None:
    found = world.reviews.get(params["review_id"])
    return None if found is None else render_tv.review_detail(*found)


def _credit(world: World, params: Params) -> Json | None:
    found = world.credits.get(params["credit_id"])
    return None if found is None else render_tv.credit_detail(world, *found)


def _trending(world: World, params: Params) -> Json:
    kind, window = params["media_type"], params["time_window"]
    kinds = ("movie", "tv", "person") if kind == "all" else (kind,)
    ranked = [[(k, i) for i in world.lists[f"trending/{k}/{window}"]] for k in kinds]
    mixed = [item for rank in zip(*ranked, strict=True) for item in rank]
    return render.page(mixed, params.get("page", 1), lambda item: render_tv.trend_item(world, *item))


def _window(first: int, last: int) -> Callable[[], Json]:
    days = {"minimum": CLOCK + timedelta(days=first), "maximum": CLOCK + timedelta(days=last)}
    return lambda: {"dates": {name: day.isoformat() for name, day in days.items()}}


def _logos(world: World, organisation: Any, params: Params) -> Json:
    return {"id": organisation.id, "logos": [render.logo(p) for p in organisation.logos]}


HANDLERS.update(
    {
        "/movie/{movie_id}": _movie(_movie_page),
        "/movie/{movie_id}/credits": _movie(lambda w, m, p: render.movie_credits(w, m)),
        "/movie/{movie_id}/images": _movie(_movie_images),
        "/movie/{movie_id}/keywords": _movie(
            lambda w, m, p: {"id": m.id, "keywords": render.named(w.keywords, m.keywords)}
        ),
        "/movie/{movie_id}/reviews": _movie(_reviews),
        "/movie/{movie_id}/release_dates": _movie(lambda w, m, p: render.release_dates(m)),
        "/movie/{movie_id}/similar": _movie(
            lambda w, m, p: render.page(m.similar, p["page"], lambda i: _movie_item(w, i))
        ),
        "/movie/{movie_id}/recommendations": _movie(
            lambda w, m, p: render.page(m.recommended, p["page"], lambda i: _movie_item(w, i))
        ),
        "/movie/popular": _ranked("movie/popular"),
        "/movie/top_rated": _ranked("movie/top_rated"),
        "/movie/now_playing": _ranked("movie/now_playing", _window(-42, 0)),
        "/movie/upcoming": _ranked("movie/upcoming", _window(1, 365)),
        "/movie/latest": lambda w, p: render.latest_movie(w, w.movies[w.lists["movie/latest"][0]]),
        "/tv/{tv_id}": _show(lambda w, s, p: render_tv.show_detail(w, s)),
        "/tv/{tv_id}/credits": _show(lambda w, s, p: render_tv.show_credits(w, s)),
        "/tv/{tv_id}/images": _show(
            lambda w, s, p: {
                "id": s.id,
                "backdrops": render.pictures(s.backdrops),
                "posters": render.pictures(s.posters),
            }
        ),
        "/tv/{tv_id}/keywords": _show(lambda w, s, p: {"id": s.id, "results": render.named(w.keywords, s.keywords)}),
        "/tv/{tv_id}/reviews": _show(_reviews),
        "/tv/{tv_id}/similar": _show(lambda w, s, p: render.page(s.similar, p["page"], lambda i: _show_item(w, i))),
        "/tv/{tv_id}/recommendations": _show(
            lambda w, s, p: render.page(s.recommended, p["page"], lambda i: _show_item(w, i))
        ),
        "/tv/{tv_id}/season/{season_number}": _season(lambda w, s, n, p: render_tv.season_detail(w, n)),
        "/tv/{tv_id}/season/{season_number}/credits": _season(lambda w, s, n, p: render_tv.season_credits(w, s, n)),
        "/tv/{tv_id}/season/{season_number}/images": _season(
            lambda w, s, n, p: {
                "id": n.id,
                "posters": [
                    {**image, "iso_639_1": image["iso_639_1"] or ""}
                    for image in render.pictures(n.posters, None, False)
                ],
            }
        ),
        "/tv/{tv_id}/season/{season_number}/episode/{episode_number}": _episode(
            lambda w, s, n, e: render_tv.episode_detail(w, n, e)
        ),
        "/tv/{tv_id}/season/{season_number}/episode/{episode_number}/credits": _episode(
            lambda w, s, n, e: render_tv.episode_credits(w, s, e)
        ),
        "/tv/{tv_id}/season/{season_number}/episode/{episode_number}/images": _episode(
            lambda w, s, n, e: {"id": e.id, "stills": render.pictures(e.stills, None, False)}
        ),
        "/tv/popular": _ranked("tv/popular"),
        "/tv/top_rated": _ranked("tv/top_rated"),
        "/tv/on_the_air": _ranked("tv/on_the_air"),
        "/tv/airing_today": _ranked("tv/airing_today"),
        "/tv/latest": lambda w, p: render_tv.latest_show(w, w.shows[w.lists["tv/latest"][0]]),
        "/person/{person_id}": _about("people", "person_id", lambda w, x, p: render.person_detail(x)),
        "/person/{person_id}/images": _about(
            "people", "person_id", lambda w, x, p: {"id": x.id, "profiles": render.pictures(x.images, None, False)}
        ),
        "/person/{person_id}/movie_credits": _about(
            "people", "person_id", lambda w, x, p: render.person_movie_credits(w, x)
        ),
        "/person/{person_id}/tv_credits": _about(
            "people", "person_id", lambda w, x, p: render_tv.person_tv_credits(w, x)
        ),
        "/person/popular": lambda w, p: render.page(w.lists["person/popular"], p["page"], lambda i: _person_item(w, i)),
        "/company/{company_id}": _about("companies", "company_id", lambda w, c, p: render.company_detail(w, c)),
        "/company/{company_id}/images": _about("companies", "company_id", _logos),
        "/network/{network_id}": _about("networks", "network_id", lambda w, n, p: render.network_detail(n)),
        "/network/{network_id}/images": _about("networks", "network_id", _logos),
        "/collection/{collection_id}": _about(
            "collections", "collection_id", lambda w, c, p: render.collection_detail(w, c)
        ),
        "/collection/{collection_id}/images": _about(
            "collections",
            "collection_id",
            lambda w, c, p: {
                "id": c.id,
                "backdrops": render.pictures(c.backdrops),
                "posters": [{**image, "iso_639_1": image["iso_639_1"] or ""} for image in render.pictures(c.posters)],
            },
        ),
        "/review/{review_id}": _review,
        "/credit/{credit_id}": _credit,
        "/genre/movie/list": lambda w, p: {"genres": render.named(w.movie_genres, w.movie_genres)},
        "/genre/tv/list": lambda w, p: {"genres": render.named(w.tv_genres, w.tv_genres)},
        "/trending/{media_type}/{time_window}": _trending,
        "/search/movie": _found("movie", _movie_item),
        "/search/tv": _found("tv", _show_item),
        "/search/person": _found("person", _person_item),
        "/search/company": _found("company", _company_item),
        "/search/collection": _found("collection", _collection_item),
        "/discover/movie": lambda w, p: render.page(query.discover_movies(w, p), p["page"], render.movie_item),
        "/discover/tv": lambda w, p: render.page(query.discover_shows(w, p), p["page"], render_tv.show_item),
    }
)
