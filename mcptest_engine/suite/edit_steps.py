"""The small changes that lead from one tree of plain values to another, and the trees between them."""

from __future__ import annotations

import copy
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.suite.text_edits import EditRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcptest_engine.suite.yaml import Pointer

ASSERTIONS = "assertions"


class Step(NamedTuple):
    """One small change: "set" the value at a path, "insert" an item before the one at a path, or "remove" that item or key.

    "wrap" puts the list at a path under the key `value` of a mapping in its place.
    """

    kind: str
    path: Pointer
    value: Any = None


def steps_to(tree: object, path: Pointer, value: object) -> Iterator[Step]:
    """The smallest changes that make the value at `path` into `value`, in order."""
    there = get(tree, path)
    if same(there, value) and path:
        return
    staying = [key for key in there if key in value] if isinstance(there, dict) and isinstance(value, dict) else []
    if staying and isinstance(value, dict) and list(value)[: len(staying)] == staying:
        for key in there:
            if key not in value:
                yield Step("remove", (*path, key))
        for key, part in value.items():
            if key in there:
                yield from steps_to(tree, (*path, key), part)
            else:
                yield Step("set", (*path, key), copy.deepcopy(part))
    elif isinstance(there, list) and isinstance(value, list) and there and value:
        yield from _steps_of_list(tree, path, there, value)
    else:
        yield Step("set", path, value)


def steps_to_long_form(tree: object, path: Pointer, value: Any) -> Iterator[Step]:
    """The changes that make an `expect` that is a list into one that is a mapping, its items left as they are written."""
    there = get(tree, path)
    is_wanted = isinstance(value, dict) and isinstance(value.get(ASSERTIONS), list) and value[ASSERTIONS]
    if not is_wanted or not isinstance(there, list) or not there or path[-1:] != ("expect",):
        return
    yield Step("wrap", path, ASSERTIONS)
    wrapped = put(tree, path, {ASSERTIONS: there})
    yield from steps_to(wrapped, (*path, ASSERTIONS), value[ASSERTIONS])
    for key, part in value.items():
        if key != ASSERTIONS:
            yield Step("set", (*path, key), copy.deepcopy(part))


def _steps_of_list(tree: object, path: Pointer, there: list[Any], value: list[Any]) -> Iterator[Step]:
    """Items that stay are left alone. From the end on, so that no index moves before its turn; what is appended comes last."""
    appended: list[Step] = []
    following = len(there)
    for old, new in reversed(_matched(there, value, repr)):
        if new is None:
            assert old is not None
            yield Step("remove", (*path, old))
        elif old is not None:
            yield from steps_to(tree, (*path, old), value[new])
        elif following == len(there):
            appended.append(Step("insert", (*path, new), copy.deepcopy(value[new])))
        else:
            yield Step("insert", (*path, following), copy.deepcopy(value[new]))
        following = following if old is None else old
    yield from reversed(appended)


def stepped(tree: object, step: Step) -> Any:
    """The tree after a step."""
    kind, path, value = step
    if kind == "set":
        return put(tree, path, value)
    if kind == "wrap":
        return put(tree, path, {value: get(tree, path)})
    holder, index = get(tree, path[:-1]), path[-1]
    if isinstance(holder, dict):
        return put(tree, path[:-1], {key: part for key, part in holder.items() if key != index})
    assert isinstance(holder, list)
    assert isinstance(index, int)
    return put(
        tree,
        path[:-1],
        [*holder[:index], *([value] if kind == "insert" else ()), *holder[index + (kind == "remove") :]],
    )


def same(one: object, other: object) -> bool:
    return one == other and repr(one) == repr(other)  # 1, 1.0 and true are equal to Python


def keep_form(there: object, value: object) -> Any:
    """`value` with the order of keys and the spelling of numbers that `there` has, wherever both are equal but for those."""
    if isinstance(there, dict) and isinstance(value, dict):
        staying = {key: keep_form(part, value[key]) for key, part in there.items() if key in value}
        return {**staying, **{key: part for key, part in value.items() if key not in there}}
    if isinstance(there, list) and isinstance(value, list):
        return [keep_form(old, new) for old, new in zip(there, value, strict=False)] + value[len(there) :]
    is_number = isinstance(there, (int, float)) and isinstance(value, (int, float))
    return there if is_number and there == value and bool not in (type(there), type(value)) else value


def plain(value: object) -> Any:
    """A copy in plain dicts and lists."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def get(tree: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        try:
            tree = tree[part]
        except (LookupError, TypeError):
            return None
    return tree


def put(tree: object, path: Sequence[str | int], value: object) -> Any:
    """A copy of the tree with another value at `path`. Raises: EditRefused when nothing could stand there."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        if not isinstance(tree, list) or not 0 <= head < len(tree):
            raise EditRefused("there is no such place in the file")
        return [*tree[:head], put(tree[head], rest, value), *tree[head + 1 :]]
    if not isinstance(tree, dict) or (rest and head not in tree):
        raise EditRefused("there is no such place in the file")
    return {**tree, head: put(tree.get(head), rest, value)}


def _matched(
    there: Sequence[object], value: Sequence[object], sign: Callable[[Any], str]
) -> list[tuple[int | None, int | None]]:
    """Which item of one list becomes which of the other, in order; None for none. Equal items first, then likes."""
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, [sign(item) for item in there], [sign(item) for item in value], autojunk=False)
    for what, old, old_end, new, new_end in matcher.get_opcodes():
        if what == "replace" and sign is repr:
            inner = _matched(there[old:old_end], value[new:new_end], _about)
            pairs += [
                (None if one is None else old + one, None if other is None else new + other) for one, other in inner
            ]
        else:
            pairs += zip_longest(range(old, old_end), range(new, new_end))
    return pairs


def _about(item: object) -> str:
    """What an item of a list is known by: an assertion's target, a test's name."""
    named = next((item[key] for key in ("target", "name") if key in item), None) if isinstance(item, dict) else None
    return repr(item if named is None else named)
