"""What all parts of the suite model share: frozen, strict, no unknown keys, and no key without a value."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

T = TypeVar("T")

Many = Annotated[tuple[T, ...], Strict(strict=False)]
"""A list in the file, a tuple in the model; only the container is read leniently, never its items."""

Text = Annotated[str, Field(min_length=1)]
Milliseconds = Annotated[int, Field(ge=1, le=2_147_483_647)]
Scalar = str | int | float | bool


class Part(BaseModel):
    """One mapping of a suite."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", defer_build=True, allow_inf_nan=False, protected_namespaces=()
    )

    may_be_null: ClassVar[frozenset[str]] = frozenset()
    """The keys under which null is a value. Elsewhere None in the model means that the key was not written."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key, value in data.items():
                if value is None and key not in cls.may_be_null:
                    raise PydanticCustomError("null", "`{key}` has no value", {"key": str(key)})
        return data
