"""Turns people, films, firms and collections of a world into the JSON bodies of the service, in the shapes of its
OpenAPI description. What the description does not let be null is "" when missing. Television is in `render_tv`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.restbench.movies.names import COUNTRY_NAMES, LANGUAGE_NAMES
from experiments.restbench.movies.world import Collection, Credit, Image, Movie, Organisation, Part, Person, World

Json = dict[str, Any]
PAGE = 20


def page(results: Sequence[Any], number: int, render: Any) -> Json:
    """One page of a list; past the end it is empty."""
    shown = [render(item) for item in results[(number - 1) * PAGE : number * PAGE]]
    return {"page": number, "results": shown, "total_pages": -(-len(results) // PAGE), "total_results": len(results)}


def main_image(images: Sequence[Image]) -> str | None:
    """The path of the picture that stands for the whole."""
    return images[0].path if images else None


def image(picture: Image, whole: bool = True) -> Json:
    """A picture. The description wants whole votes in some lists and a true fraction in others."""
    return {
        "aspect_ratio": round(picture.width / picture.height, 3),
        "file_path": picture.path,
        "height": picture.height,
        "iso_639_1": picture.language,
        "vote_average": picture.votes if whole else picture.votes + 0.312,
        "vote_count": picture.vote_count,
        "width": picture.width,
    }


def logo(picture: Image) -> Json:
    """A logo of a company or network."""
    body = image(picture)
    del body["iso_639_1"]
    return {**body, "id": picture.path[1:25], "file_type": picture.path[-4:]}


def pictures(images: Iterable[Image], languages: Sequence[str] | None = None, whole: bool = True) -> list[Json]:
    """Pictures, kept to some languages (`null` for textless) if any are named."""
    return [image(p, whole) for p in images if languages is None or (p.language or "null") in languages]


def named(table: Any, ids: Iterable[int]) -> list[Json]:
    """Genres or keywords as `{id, name}`."""
    return [{"id": i, "name": table[i]} for i in ids]


def movie_item(movie: Movie) -> Json:
    """A film as lists show it."""
    return {
        "adult": False,
        "backdrop_path": main_image(movie.backdrops),
        "genre_ids": list(movie.genres),
        "id": movie.id,
        "original_language": movie.language,
        "original_title": movie.title,
        "overview": movie.overview,
        "popularity": movie.rating.popularity,
        "poster_path": main_image(movie.posters),
        "release_date": movie.date,
        "title": movie.title,
        "video": False,
        "vote_average": movie.rating.average,
        "vote_count": movie.rating.count,
    }


def movie_detail(world: World, movie: Movie) -> Json:
    """A film's own page."""
    body = movie_item(movie)
    del body["genre_ids"]
    collection = world.collections.get(movie.collection) if movie.collection is not None else None
    return {
        **body,
        "belongs_to_collection": collection_item(collection) if collection else None,
        "budget": movie.budget,
        "genres": named(world.movie_genres, movie.genres),
        "homepage": movie.homepage or None,
        "imdb_id": movie.imdb_id,
        "overview": movie.overview or None,
        "production_companies": [company_item(world.companies[i]) for i in movie.companies],
        "production_countries": [{"iso_3166_1": movie.country, "name": COUNTRY_NAMES[movie.country]}],
        "revenue": movie.revenue,
        "runtime": movie.runtime,
        "spoken_languages": [{"iso_639_1": movie.language, "name": LANGUAGE_NAMES[movie.language]}],
        "status": movie.status,
        "tagline": movie.tagline,
    }


def latest_movie(world: World, movie: Movie) -> Json:
    """The newest film: the same page, but the description wants whole numbers and no null here."""
    body = movie_detail(world, movie)
    for key in ("homepage", "imdb_id", "overview", "tagline"):
        body[key] = body[key] or ""
    whole = {key: round(body[key]) for key in ("popularity", "vote_average")}
    return {**body, **whole, "runtime": movie.runtime or 0}


def release_dates(movie: Movie) -> Json:
    """Release dates by country."""
    results = [
        {
            "iso_3166_1": country,
            "release_dates": [
                {
                    "certification": certificate,
                    "iso_639_1": "",
                    "note": "",
                    "release_date": f"{day}T00:00:00.000Z",
                    "type": 3,
                }
            ],
        }
        for country, certificate, day in sorted(movie.releases)
    ]
    return {"id": movie.id, "results": results}


def person_ref(person: Person) -> Json:
    """What every credit says of its person."""
    return {"gender": person.gender, "id": person.id, "name": person.name, "profile_path": main_image(person.images)}


def cast_credit(world: World, credit: Credit) -> Json:
    """A part in a work's cast."""
    body = {"character": credit.role, "credit_id": credit.id, "order": credit.order}
    return {**body, **person_ref(world.people[credit.person])}


def crew_credit(world: World, credit: Credit) -> Json:
    """A job in a work's crew."""
    body = {"credit_id": credit.id, "department": credit.department, "job": credit.role}
    return {**body, **person_ref(world.people[credit.person])}


def movie_credits(world: World, movie: Movie) -> Json:
    """Cast and crew of a film."""
    cast = [{"cast_id": at + 1, **cast_credit(world, credit)} for at, credit in enumerate(movie.cast)]
    return {"id": movie.id, "cast": cast, "crew": [crew_credit(world, credit) for credit in movie.crew]}


def person_movie_credits(world: World, person: Person) -> Json:
    """A person's films."""
    cast = [
        {**movie_item(world.movies[part.work]), "character": part.credit.role, "credit_id": part.credit.id}
        for part in world.movie_cast.get(person.id, ())
    ]
    crew = [
        {
            **movie_item(world.movies[part.work]),
            "credit_id": part.credit.id,
            "department": part.credit.department,
            "job": part.credit.role,
        }
        for part in world.movie_crew.get(person.id, ())
    ]
    return {"id": person.id, "cast": cast, "crew": crew}


def person_detail(person: Person) -> Json:
    """A person's own page."""
    return {
        "adult": False,
        "also_known_as": [],
        "biography": person.biography,
        "birthday": person.birthday,
        "deathday": person.deathday,
        "gender": person.gender,
        "homepage": person.homepage,
        "id": person.id,
        "imdb_id": person.imdb_id,
        "known_for_department": person.department,
        "name": person.name,
        "place_of_birth": person.birthplace,
        "popularity": person.popularity,
        "profile_path": main_image(person.images),
    }


def person_item(world: World, person: Person) -> Json:
    """A person as lists show them, with up to three works they are known for."""
    return {
        "adult": False,
        "id": person.id,
        "known_for": [{**movie_item(movie), "media_type": "movie"} for movie in known_for(world, person)],
        "name": person.name,
        "popularity": person.popularity,
        "profile_path": main_image(person.images) or "",
    }


def known_for(world: World, person: Person) -> list[Movie]:
    """The three films with most votes in the person's own department (directed ones, or roles)."""
    parts: Sequence[Part]
    if person.department == "Directing":
        parts = [part for part in world.movie_crew.get(person.id, ()) if part.credit.role == "Director"]
    else:
        parts = world.movie_cast.get(person.id, ())
    return sorted((world.movies[part.work] for part in parts), key=lambda movie: -movie.rating.count)[:3]


def company_item(company: Organisation) -> Json:
    """A company as works and searches show it."""
    return {
        "id": company.id,
        "logo_path": main_image(company.logos),
        "name": company.name,
        "origin_country": company.country,
    }


def company_detail(world: World, company: Organisation) -> Json:
    """A company's own page. There is no founding date."""
    parent = world.companies.get(company.parent) if company.parent is not None else None
    return {
        **company_item(company),
        "description": company.description,
        "headquarters": company.headquarters,
        "homepage": company.homepage,
        "parent_company": company_item(parent) if parent else None,
    }


def network_detail(network: Organisation) -> Json:
    """A network's own page."""
    return {
        "headquarters": network.headquarters,
        "homepage": network.homepage,
        "id": network.id,
        "name": network.name,
        "origin_country": network.country,
    }


def collection_item(collection: Collection) -> Json:
    """A collection as films and searches show it."""
    return {
        "backdrop_path": main_image(collection.backdrops),
        "id": collection.id,
        "name": collection.name,
        "poster_path": main_image(collection.posters),
    }


def collection_detail(world: World, collection: Collection) -> Json:
    """A collection with its films in the order of release."""
    parts = [movie_item(world.movies[i]) for i in collection.parts]
    return {**collection_item(collection), "overview": collection.overview, "parts": parts}
