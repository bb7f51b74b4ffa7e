"""What the library service sends and takes, as pydantic models: they make its OpenAPI description."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, Field


class Author(BaseModel):
    id: int
    name: str
    born: int = Field(description="Year of birth.")
    country: str


class Book(BaseModel):
    id: int
    title: str
    author: str = Field(description="Name of the author.")
    author_id: int
    year: int = Field(description="Year of publication.")
    pages: int
    language: str
    subjects: list[str]


class Copy(BaseModel):
    id: int
    book_id: int
    branch_id: int
    branch: str = Field(description="Name of the branch that owns the copy.")
    available: bool = Field(description="Whether the copy can be borrowed now.")


class Branch(BaseModel):
    id: int
    name: str
    city: str
    hours: str = Field(description="Opening hours.")
    phone: str


class Review(BaseModel):
    id: int
    book_id: int
    stars: int = Field(ge=1, le=5)
    text: str


class NewReview(BaseModel):
    stars: int = Field(ge=1, le=5, description="From 1 to 5.")
    text: str = Field(max_length=2000)


class Member(BaseModel):
    id: int
    name: str
    home_branch_id: int


class Loan(BaseModel):
    id: int
    copy_id: int
    book_id: int
    title: str
    borrowed: date
    due: date = Field(description="The day by which the copy must be back.")
    renewed: bool


class NewLoan(BaseModel):
    copy_id: int = Field(description="The copy to borrow; see the copies of a book.")


class Hold(BaseModel):
    id: int
    book_id: int
    title: str
    branch_id: int
    branch: str


class NewHold(BaseModel):
    book_id: int
    branch_id: int = Field(description="Where to pick the book up.")


class Books(BaseModel):
    total: int = Field(description="How many books were found, shown or not.")
    books: list[Book]


class Problem(BaseModel):
    detail: str
