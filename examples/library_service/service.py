"""A small library catalogue over HTTP, to try REST planning on without any network or account.

    python examples/library_service/service.py             # serves on http://127.0.0.1:8765
    python examples/library_service/service.py --export    # rewrites openapi.yaml

The catalogue is open to everyone; what belongs to a member needs the library card in the header `X-Library-Card`
(the demonstration card is `demo-card`). State lives in memory and starts anew with every start.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Annotated, Any

import yaml
from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyHeader

sys.path.insert(0, str(Path(__file__).parent))
import library_models as m
from library_state import DEMO_CARD, Conflict, Library, Missing

PORT = 8765
DESCRIPTION = Path(__file__).parent / "openapi.yaml"
_ABOUT = "Search the catalogue of an invented library, see where copies are, borrow and reserve books."
_CARD = APIKeyHeader(name="X-Library-Card", scheme_name="library_card", description="The number of a library card.")
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": m.Problem, "description": "There is no such thing."}}
_CONFLICT: dict[int | str, dict[str, Any]] = {409: {"model": m.Problem, "description": "The rules forbid it."}}


async def member_only(card: Annotated[str, Depends(_CARD)]) -> None:
    if card != DEMO_CARD:
        raise HTTPException(401, "unknown library card")


Limit = Annotated[int, Query(ge=1, le=50, description="How many to return at most.")]
Offset = Annotated[int, Query(ge=0, description="How many to skip.")]


def create_app(seed: int = 0) -> FastAPI:
    """The service with fresh state. The same seed gives the same ids, copies and loans."""
    library = Library(seed)
    servers = [{"url": f"http://127.0.0.1:{PORT}"}]
    app = FastAPI(title="Library", version="1.0.0", description=_ABOUT, servers=servers)
    app.state.catalogue = library
    app.add_exception_handler(Missing, lambda request, error: _problem(404, error))
    app.add_exception_handler(Conflict, lambda request, error: _problem(409, error))
    _add_catalogue(app, library)
    _add_member(app, library)
    return app


def _problem(status: int, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=status)


def _add_catalogue(app: FastAPI, library: Library) -> None:
    """What everyone may see."""

    @app.get("/search/books", operation_id="search_books")
    async def search_books(
        title: Annotated[str, Query(description="Words that the title must hold.")] = "",
        subject: Annotated[str, Query(description="One subject, see /subjects.")] = "",
        language: Annotated[str, Query(description="Language of the book, e.g. English.")] = "",
        year_from: Annotated[int, Query(description="Earliest year of publication.")] = 0,
        year_to: Annotated[int, Query(description="Latest year of publication.")] = 9999,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> m.Books:
        """Search books by title, subject, language and year, oldest first. Authors are searched separately."""
        found = library.search_books(title, subject, language, year_from, year_to)
        return m.Books(total=len(found), books=[m.Book(**book) for book in found[offset : offset + limit]])

    @app.get("/search/authors", operation_id="search_authors")
    async def search_authors(
        name: Annotated[str, Query(min_length=1, description="Part of the author's name.")],
    ) -> list[m.Author]:
        """Search authors by name."""
        return [m.Author(**row) for row in library.authors if name.lower() in row["name"].lower()]

    @app.get("/subjects", operation_id="list_subjects")
    async def list_subjects() -> list[str]:
        """List all subjects that books are filed under."""
        return sorted({subject for book in library.books for subject in book["subjects"]})

    @app.get("/books/{book_id}", operation_id="get_book", responses=_NOT_FOUND)
    async def get_book(book_id: int) -> m.Book:
        """Get one book: author, year, pages, language and subjects."""
        return m.Book(**library.find(library.books, book_id, "book"))

    @app.get("/books/{book_id}/copies", operation_id="get_copies", responses=_NOT_FOUND)
    async def get_copies(book_id: int) -> list[m.Copy]:
        """List the copies of a book: at which branch each is and whether it can be borrowed."""
        library.find(library.books, book_id, "book")
        return [m.Copy(**row) for row in library.copies if row["book_id"] == book_id]

    @app.get("/books/{book_id}/reviews", operation_id="get_reviews", responses=_NOT_FOUND)
    async def get_reviews(book_id: int) -> list[m.Review]:
        """List the readers' reviews of a book, with stars from 1 to 5."""
        library.find(library.books, book_id, "book")
        return [m.Review(**row) for row in library.reviews if row["book_id"] == book_id]

    @app.get("/authors/{author_id}", operation_id="get_author", responses=_NOT_FOUND)
    async def get_author(author_id: int) -> m.Author:
        """Get one author: name, year of birth and country."""
        return m.Author(**library.find(library.authors, author_id, "author"))

    @app.get("/authors/{author_id}/books", operation_id="get_author_books", responses=_NOT_FOUND)
    async def get_author_books(author_id: int) -> list[m.Book]:
        """List all books of an author."""
        library.find(library.authors, author_id, "author")
        return [m.Book(**row) for row in library.books if row["author_id"] == author_id]

    @app.get("/branches", operation_id="list_branches")
    async def list_branches() -> list[m.Branch]:
        """List the branches of the library with city, opening hours and phone."""
        return [m.Branch(**row) for row in library.branches]


def _add_member(app: FastAPI, library: Library) -> None:
    """What needs the library card."""
    card = [Depends(member_only)]

    @app.get("/me", operation_id="get_me", dependencies=card)
    async def get_me() -> m.Member:
        """Get the member whose card is used."""
        return m.Member(**library.member)

    @app.get("/me/loans", operation_id="get_loans", dependencies=card)
    async def get_loans() -> list[m.Loan]:
        """List the member's current loans with the day each is due."""
        return [m.Loan(**row) for row in library.loans]

    @app.post("/me/loans", operation_id="borrow", dependencies=card, status_code=201, responses=_NOT_FOUND | _CONFLICT)
    async def borrow(new: m.NewLoan) -> m.Loan:
        """Borrow an available copy."""
        return m.Loan(**library.borrow(new.copy_id))

    @app.patch("/me/loans/{loan_id}", operation_id="renew", dependencies=card, responses=_NOT_FOUND | _CONFLICT)
    async def renew(loan_id: int) -> m.Loan:
        """Renew a loan, once, for another 28 days."""
        return m.Loan(**library.renew(loan_id))

    @app.delete(
        "/me/loans/{loan_id}", operation_id="give_back", dependencies=card, status_code=204, responses=_NOT_FOUND
    )
    async def give_back(loan_id: int) -> None:
        """Give a borrowed copy back."""
        library.give_back(loan_id)

    @app.get("/me/holds", operation_id="get_holds", dependencies=card)
    async def get_holds() -> list[m.Hold]:
        """List the books that are reserved for the member."""
        return [m.Hold(**row) for row in library.holds]

    @app.post("/me/holds", operation_id="hold", dependencies=card, status_code=201, responses=_NOT_FOUND | _CONFLICT)
    async def hold(new: m.NewHold) -> m.Hold:
        """Reserve a book for pick-up at a branch."""
        return m.Hold(**library.hold(new.book_id, new.branch_id))

    @app.post("/books/{book_id}/reviews", operation_id="add_review", dependencies=card, status_code=201,
              responses=_NOT_FOUND)  # fmt: skip
    async def add_review(book_id: int, new: m.NewReview) -> m.Review:
        """Write a review of a book."""
        return m.Review(**library.review(book_id, new.stars, new.text))


def description() -> dict[str, Any]:
    """The OpenAPI description without FastAPI's own validation error, which differs between its versions."""
    text = create_app().openapi()
    for item in text["paths"].values():
        for operation in item.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        text["components"]["schemas"].pop(name, None)
    return text


def description_text() -> str:
    """What openapi.yaml holds."""
    return yaml.safe_dump(description(), sort_keys=False, allow_unicode=True, width=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--export", action="store_true", help="rewrite openapi.yaml and stop")
    options = parser.parse_args()
    if options.export:
        DESCRIPTION.write_text(description_text(), encoding="utf-8")
        return
    import uvicorn

    uvicorn.run(create_app(options.seed), host="127.0.0.1", port=options.port)


if __name__ == "__main__":
    main()
