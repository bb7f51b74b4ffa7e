"""The state of a small invented library: catalogue, copies, members, loans and holds. Knows nothing of HTTP.

Everything follows from the seed and from what was done since: ids are drawn, not counted, so that none can be guessed,
and the calendar stands still on `TODAY`.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

TODAY = date(2030, 3, 1)
LOAN_DAYS = 28
MOST_LOANS = 5
DEMO_CARD = "demo-card"
_CATALOGUE = Path(__file__).parent / "catalogue.yaml"
_REVIEWS = ("Could not put it down.", "Slow at first, then not.", "My children asked for it again.", "Too many maps.")

Row = dict[str, Any]


class Missing(Exception):
    """There is no such thing; the message says what."""


class Conflict(Exception):
    """The library's rules forbid it; the message says which."""


class Library:
    """One library. Methods return plain rows; they raise Missing and Conflict."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._used: set[int] = set()
        catalogue = yaml.safe_load(_CATALOGUE.read_text(encoding="utf-8"))
        self.branches = [{"id": self._new_id(), **branch} for branch in catalogue["branches"]]
        self.authors: list[Row] = []
        self.books: list[Row] = []
        self.copies: list[Row] = []
        self.reviews: list[Row] = []
        self.loans: list[Row] = []
        self.holds: list[Row] = []
        self.member: Row = {"id": self._new_id(), "name": "Robin Exeter", "home_branch_id": self.branches[0]["id"]}
        for author in catalogue["authors"]:
            self._add_author(author)
        for copy in self._random.sample(self.copies, 2):
            self._lend(copy, TODAY - timedelta(days=self._random.randrange(5, 20)))

    def _new_id(self) -> int:
        while True:
            number = self._random.randrange(1000, 10_000)
            if number not in self._used:
                self._used.add(number)
                return number

    def _add_author(self, author: Row) -> None:
        row = {"id": self._new_id(), "name": author["name"], "born": author["born"], "country": author["country"]}
        self.authors.append(row)
        for book in author["books"]:
            number = self._new_id()
            self.books.append({"id": number, "author_id": row["id"], "author": row["name"], **book})
            for branch in self._random.sample(self.branches, self._random.randrange(1, 4)):
                self.copies.append(
                    {"id": self._new_id(), "book_id": number, "branch_id": branch["id"], "branch": branch["name"],
                     "available": self._random.random() < 0.7}
                )  # fmt: skip
            for _ in range(self._random.randrange(0, 4)):
                stars, text = self._random.randrange(1, 6), self._random.choice(_REVIEWS)
                self.reviews.append({"id": self._new_id(), "book_id": number, "stars": stars, "text": text})

    def find(self, rows: list[Row], number: int, what: str) -> Row:
        """The row with this id."""
        for row in rows:
            if row["id"] == number:
                return row
        raise Missing(f"there is no {what} with id {number}")

    def search_books(self, title: str, subject: str, language: str, year_from: int, year_to: int) -> list[Row]:
        """Books whose title holds every given word, oldest first."""
        words = title.lower().split()
        found = [
            book
            for book in self.books
            if all(word in book["title"].lower() for word in words)
            and (not subject or subject.lower() in book["subjects"])
            and (not language or language.lower() == book["language"].lower())
            and year_from <= book["year"] <= year_to
        ]
        return sorted(found, key=lambda book: (book["year"], book["id"]))

    def borrow(self, copy_id: int) -> Row:
        """Lend a copy to the member."""
        copy = self.find(self.copies, copy_id, "copy")
        if not copy["available"]:
            raise Conflict("this copy is not available")
        if len(self.loans) >= MOST_LOANS:
            raise Conflict(f"no more than {MOST_LOANS} loans at a time")
        return self._lend(copy, TODAY)

    def _lend(self, copy: Row, day: date) -> Row:
        copy["available"] = False
        book = self.find(self.books, copy["book_id"], "book")
        due = day + timedelta(days=LOAN_DAYS)
        loan = {"id": self._new_id(), "copy_id": copy["id"], "book_id": book["id"], "title": book["title"],
                "borrowed": day.isoformat(), "due": due.isoformat(), "renewed": False}  # fmt: skip
        self.loans.append(loan)
        return loan

    def renew(self, loan_id: int) -> Row:
        """Give a loan its one renewal."""
        loan = self.find(self.loans, loan_id, "loan")
        if loan["renewed"]:
            raise Conflict("a loan can be renewed only once")
        loan["renewed"] = True
        loan["due"] = (date.fromisoformat(loan["due"]) + timedelta(days=LOAN_DAYS)).isoformat()
        return loan

    def give_back(self, loan_id: int) -> None:
        """End a loan."""
        loan = self.find(self.loans, loan_id, "loan")
        self.find(self.copies, loan["copy_id"], "copy")["available"] = True
        self.loans.remove(loan)

    def hold(self, book_id: int, branch_id: int) -> Row:
        """Queue the member for a book at a branch."""
        book = self.find(self.books, book_id, "book")
        branch = self.find(self.branches, branch_id, "branch")
        if any(hold["book_id"] == book_id for hold in self.holds):
            raise Conflict("there is a hold on this book already")
        hold = {"id": self._new_id(), "book_id": book_id, "title": book["title"], "branch_id": branch_id,
                "branch": branch["name"]}  # fmt: skip
        self.holds.append(hold)
        return hold

    def review(self, book_id: int, stars: int, text: str) -> Row:
        """Add a review."""
        self.find(self.books, book_id, "book")
        row = {"id": self._new_id(), "book_id": book_id, "stars": stars, "text": text}
        self.reviews.append(row)
        return row
