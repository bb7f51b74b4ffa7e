"""The tools that a suite in YAML may name: arithmetic, a table, a fixed date, unit conversion.

Each is made from plain data. Knows nothing of skills; the tools themselves, save conversion, are the toolkit's own.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolkit.tools.arithmetic import Arithmetic
from toolkit.tools.clock import Clock
from toolkit.tools.lookup import Lookup
from toolkit.tools.outcome import Outcome, Tool, Turn

CONVERSION = re.compile(r"([+-]?\d{1,15}(?:\.\d{1,15})?) *([A-Za-z]{1,20}) +(?:to|in) +([A-Za-z]{1,20})")


@dataclass(frozen=True)
class Conversion:
    """Converts `12 km to m`. `units` maps a unit to (dimension, size in the dimension's base unit)."""

    units: Mapping[str, tuple[str, Fraction]]
    name: str = "CONVERT"
    inline: bool = True

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """The number in the target unit, to six digits after the point; an error where there is none."""
        match = CONVERSION.fullmatch(arguments.strip())
        if match is None:
            return Outcome("error", "not a conversion")
        number, source, target = match.groups()
        for unit in (source, target):
            if unit not in self.units:
                return Outcome("error", f"no unit is named {unit}")
        (dimension, size), (other, base) = self.units[source], self.units[target]
        if dimension != other:
            return Outcome("error", f"{source} and {target} do not measure the same")
        return Outcome("ok", written(Fraction(number) * size / base))


def written(value: Fraction) -> str:
    """A number as a person writes it: `1500`, `0.25`, at most six digits after the point."""
    text = f"{float(value):.6f}".rstrip("0").rstrip(".") if value.denominator > 1 else str(value.numerator)
    return "0" if text == "-0" else text


class _Data(BaseModel):
    """`pattern` is the regular expression of the arguments that a tool of this kind takes; None for any text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    pattern: ClassVar[str | None] = None


class ArithmeticData(_Data):
    """`tool: arithmetic`."""

    pattern: ClassVar[str | None] = r"[0-9(-][0-9 .()+*/%^&|-]*"
    tool: Literal["arithmetic"]

    def build(self, name: str) -> Tool:
        """The tool under its API name."""
        return Arithmetic(name=name)


class LookupData(_Data):
    """`tool: lookup` with `entries`, from query to answer."""

    tool: Literal["lookup"]
    entries: Annotated[dict[str, str], Field(min_length=1)]

    def build(self, name: str) -> Tool:
        """The tool under its API name."""
        return Lookup(table={" ".join(key.lower().split()): value for key, value in self.entries.items()}, name=name)


class DateData(_Data):
    """`tool: date` with the fixed date that it gives, so that a run can be repeated on another day."""

    pattern: ClassVar[str | None] = ""
    tool: Literal["date"]
    today: datetime.date

    def build(self, name: str) -> Tool:
        """The tool under its API name."""
        return Clock(today=self.today, name=name)


class ConversionData(_Data):
    """`tool: convert` with `units`: dimension -> unit -> its size in the base unit, as a number or a fraction."""

    pattern: ClassVar[str | None] = CONVERSION.pattern
    tool: Literal["convert"]
    units: Annotated[dict[str, dict[str, str | int | float]], Field(min_length=1)]

    def build(self, name: str) -> Tool:
        """The tool under its API name."""
        sizes = {
            unit: (dimension, Fraction(str(size)))
            for dimension, members in self.units.items()
            for unit, size in members.items()
        }
        return Conversion(sizes, name)


ToolData = Annotated[ArithmeticData | LookupData | DateData | ConversionData, Field(discriminator="tool")]
