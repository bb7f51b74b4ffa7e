"""Turns shows, seasons, episodes, reviews and single credits of a world into the JSON bodies of the service, in the
shapes of its OpenAPI description.
"""

from __future__ import annotations

from typing import Any

from experiments.restbench.movies.render import (
    Json,
    cast_credit,
    company_item,
    crew_credit,
    main_image,
    movie_item,
    named,
    person_item,
)
from experiments.restbench.movies.world import (
    CLOCK,
    Credit,
    Episode,
    Movie,
    Person,
    Review,
    Season,
    Show,
    Work,
    World,
    season_crew,
)


def show_item(show: Show) -> Json:
    """A show as lists show it."""
    return {
        "backdrop_path": main_image(show.backdrops),
        "first_air_date": show.date,
        "genre_ids": list(show.genres),
        "id": show.id,
        "name": show.title,
        "origin_country": [show.country],
        "original_language": show.language,
        "original_name": show.title,
        "overview": show.overview,
        "popularity": show.rating.popularity,
        "poster_path": main_image(show.posters),
        "vote_average": show.rating.average,
        "vote_count": show.rating.count,
    }


def show_detail(world: World, show: Show) -> Json:
    """A show's own page. Totals leave the specials out."""
    body = show_item(show)
    del body["genre_ids"]
    episodes = [(season, episode) for season in show.regular for episode in season.episodes]
    aired = [item for item in episodes if item[1].date <= CLOCK.isoformat()]
    coming = [item for item in episodes if item[1].date > CLOCK.isoformat()]
    return {
        **body,
        "created_by": [_creator(world, credit) for credit in show.creators],
        "episode_run_time": list(show.runtimes),
        "genres": named(world.tv_genres, show.genres),
        "homepage": show.homepage,
        "in_production": show.running,
        "languages": [show.language],
        "last_air_date": aired[-1][1].date,
        "last_episode_to_air": _aired(show, *aired[-1]),
        "next_episode_to_air": _aired(show, *coming[0]) if coming else None,
        "networks": [company_item(world.networks[i]) for i in show.networks],
        "number_of_episodes": len(episodes),
        "number_of_seasons": len(show.regular),
        "production_companies": [company_item(world.companies[i]) for i in show.companies],
        "seasons": [_season_item(season) for season in show.seasons],
        "status": "Returning Series" if show.running else "Ended",
        "type": "Scripted",
    }


def latest_show(world: World, show: Show) -> Json:
    """The newest show: the same page, but the description wants a whole popularity here."""
    return {**show_detail(world, show), "popularity": round(show.rating.popularity)}


def show_credits(world: World, show: Show) -> Json:
    """Main cast and crew of a whole show."""
    cast = [cast_credit(world, credit) for credit in show.cast]
    return {"id": show.id, "cast": cast, "crew": [crew_credit(world, credit) for credit in show.crew]}


def season_credits(world: World, show: Show, season: Season) -> Json:
    """Cast and crew of one season."""
    cast = [cast_credit(world, credit) for credit in show.cast]
    return {"id": season.id, "cast": cast, "crew": [crew_credit(world, credit) for credit in season_crew(season)]}


def season_detail(world: World, season: Season) -> Json:
    """A season with its episodes."""
    return {
        "_id": f"{season.id:024x}",
        "air_date": season.date,
        "episodes": [episode_detail(world, season, episode) for episode in season.episodes],
        "id": season.id,
        "name": season.name,
        "overview": season.overview,
        "poster_path": main_image(season.posters),
        "season_number": season.number,
    }


def episode_detail(world: World, season: Season, episode: Episode) -> Json:
    """An episode's own page."""
    return {
        "air_date": episode.date,
        "crew": [crew_credit(world, credit) for credit in episode.crew],
        "episode_number": episode.number,
        "guest_stars": [cast_credit(world, credit) for credit in episode.guests],
        "id": episode.id,
        "name": episode.name,
        "overview": episode.overview,
        "production_code": episode.code,
        "season_number": season.number,
        "still_path": main_image(episode.stills),
        "vote_average": episode.average,
        "vote_count": episode.votes,
    }


def episode_credits(world: World, show: Show, episode: Episode) -> Json:
    """Cast, crew and guests of one episode; only an anthology has a cast of its own."""
    return {
        "cast": [cast_credit(world, credit) for credit in episode.cast or show.cast],
        "crew": [crew_credit(world, credit) for credit in episode.crew],
        "guest_stars": [cast_credit(world, credit) for credit in episode.guests],
        "id": episode.id,
    }


def person_tv_credits(world: World, person: Person) -> Json:
    """A person's shows."""
    cast = [
        {
            **show_item(world.shows[part.work]),
            "character": part.credit.role,
            "credit_id": part.credit.id,
            "episode_count": part.episodes,
        }
        for part in world.tv_cast.get(person.id, ())
    ]
    crew = [
        {
            **show_item(world.shows[part.work]),
            "credit_id": part.credit.id,
            "department": part.credit.department,
            "episode_count": part.episodes,
            "job": part.credit.role,
        }
        for part in world.tv_crew.get(person.id, ())
    ]
    return {"id": person.id, "cast": cast, "crew": crew}


def trend_item(world: World, kind: str, key: int) -> Json:
    """A film, show or person as the trending lists show it."""
    bodies: dict[str, Any] = {
        "movie": lambda: movie_item(world.movies[key]),
        "tv": lambda: show_item(world.shows[key]),
        "person": lambda: person_item(world, world.people[key]),
    }
    return {**bodies[kind](), "media_type": kind}


def review_item(review: Review) -> Json:
    """A review as a work's list shows it."""
    return {"author": review.author, "content": review.content, "id": review.id, "url": review.url}


def review_detail(work: Work, review: Review) -> Json:
    """A review's own page."""
    kind = "movie" if isinstance(work, Movie) else "tv"
    about = {"iso_639_1": "en", "media_id": work.id, "media_title": work.title, "media_type": kind}
    return {**review_item(review), **about}


def credit_detail(world: World, work: Work, credit: Credit) -> Json:
    """A credit's own page."""
    seasons = work.seasons if isinstance(work, Show) else ()
    person = world.people[credit.person]
    return {
        "credit_type": "crew" if credit.department else "cast",
        "department": credit.department or "Actors",
        "id": credit.id,
        "job": credit.role if credit.department else "Actor",
        "media": {
            "character": "" if credit.department else credit.role,
            "episodes": [],
            "id": work.id,
            "name": work.title,
            "original_name": work.title,
            "seasons": [_season_item(season) for season in seasons],
        },
        "media_type": "movie" if isinstance(work, Movie) else "tv",
        "person": {"id": person.id, "name": person.name},
    }


def _season_item(season: Season) -> Json:
    return {
        "air_date": season.date,
        "episode_count": len(season.episodes),
        "id": season.id,
        "name": season.name,
        "overview": season.overview,
        "poster_path": main_image(season.posters) or "",
        "season_number": season.number,
    }


def _creator(world: World, credit: Credit) -> Json:
    person = world.people[credit.person]
    return {
        "credit_id": credit.id,
        "gender": person.gender,
        "id": person.id,
        "name": person.name,
        "profile_path": main_image(person.images) or "",
    }


def _aired(show: Show, season: Season, episode: Episode) -> Json:
    return {
        "air_date": episode.date,
        "episode_number": episode.number,
        "id": episode.id,
        "name": episode.name,
        "overview": episode.overview,
        "production_code": episode.code or "",
        "season_number": season.number,
        "show_id": show.id,
        "still_path": main_image(episode.stills) or "",
        "vote_average": episode.average,
        "vote_count": episode.votes,
    }
