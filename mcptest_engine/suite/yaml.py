"""Text to data: YAML 1.2 (core schema) read with the place of every key and value.

The C parser's events are built into plain dicts, lists and scalars here, because the library's own loaders read
YAML 1.1 (`no` is false, `012` is ten) and let duplicate keys pass. A place is kept as the index of one character, the
cheapest thing the parser gives; line and column are counted only when somebody asks. Aliases share one value, so a
tree must never be changed in place.

Beyond core 1.2, the merge key `<<` is understood, because people who know anchors expect it.
"""

from __future__ import annotations

import gc
import math
import os
import stat
from bisect import bisect_right
from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn

from mcptest_engine.core.errors import Problem, Span, SuiteError
from mcptest_engine.core.lazy_patterns import lazily_compiled, lazy_pattern
from mcptest_engine.core.text import pointer
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.yaml_scalars import MAYBE_NO_TEXT, resolve

with lazily_compiled():  # one of the library's patterns takes as long as all of its other code
    import yaml
    from yaml.events import (
        AliasEvent,
        DocumentStartEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
    )

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 100
PIPE_WAIT_SECONDS = 5.0
EMPTY = "the file is empty"
MAX_ALIASED_NODES = 1_000_000
_NO_LINE_ENDS = "\x85\u2028\u2029"
_STAND_INS = "\U0010ff85\U0010ff28\U0010ff29"  # for private use, and nobody's

Pointer = tuple[str | int, ...]
"""The keys and indices that lead from the root to a value."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One YAML document as plain data, with places.

    `marks` runs parallel to `value`: an int (the index in `text` of the value's first character) for a scalar; for a
    list `[own, item, …]`; for a dict `[own, key, value, key, value, …]` in the order of the dict. `problems` holds what
    is wrong but did not stop the reading (duplicate keys and the like); it is empty unless `read_tree` was told to keep
    going.
    `has_non_finite` says that a NaN or an infinity, which JSON does not have, stands somewhere; `has_whole_floats` that
    a number such as `5.0` does, which JSON Schema takes for an integer. `anchors` has the value and marks of each.
    """

    value: Any
    marks: Any
    file: str
    text: str
    problems: tuple[Problem, ...] = ()
    has_non_finite: bool = False
    has_whole_floats: bool = False
    anchors: Mapping[str, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    _line_starts: list[int] = field(default_factory=list, repr=False, compare=False)

    def span(self, pointer: Sequence[str | int], *, key: bool = False, nearest: bool = False) -> Span | None:
        """The place of the value at `pointer`, or of its key; None when there is none.

        With `nearest`, the place of the nearest ancestor that exists. An item of a list has no key: its own place is
        given. An aliased value is placed where it is written.
        """
        index = self.index(pointer, key=key, nearest=nearest)
        return None if index is None else self.span_of(index)

    def index(self, pointer: Sequence[str | int], *, key: bool = False, nearest: bool = False) -> int | None:
        """The same place as an index into `text`."""
        value, marks, index = self.value, self.marks, _own(self.marks)
        for step, part in enumerate(pointer):
            found = _child(value, marks, part)
            if found is None:
                return index if nearest else None
            value, marks, key_index = found
            index = key_index if key and step == len(pointer) - 1 else _own(marks)
        return index

    def span_of(self, index: int) -> Span:
        """The line and column, from 1 and in code points, of the character at `index` of the text."""
        line = self.line_of(index)
        return Span(line, index - self._line_starts[line - 1] + 1)

    def line_of(self, index: int) -> int:
        """The line, from 1, of the character at `index` of the text."""
        if not self._line_starts:
            self._line_starts.extend(_line_starts(self.text))
        return bisect_right(self._line_starts, index)


def read_file(path: Path, *, file: str, keep_going: bool = False) -> Tree:
    """Read the suite file at `path`, which messages call `file`.

    Raises: SuiteError for a path that is missing, a directory, unreadable or over 32 MiB, and as `read_tree` does.
    """
    return read_bytes(file_bytes(path, file=file), file=file, keep_going=keep_going)


def file_bytes(path: Path, *, file: str) -> bytes:
    """The content of a file, at most 32 MiB. Raises: SuiteError when it cannot be had."""
    what = "file"
    try:
        if path.is_dir():
            what = "folder"
            os.scandir(f"{path}/.").close()  # one that cannot be read says why
            _refuse(file, "is a directory, not a suite file", hint="name the file inside it")
        status = path.stat()
        if status.st_size > MAX_BYTES:
            limit = MAX_BYTES // (1024 * 1024)
            _refuse(
                file,
                f"the file is too large: {status.st_size / (1024 * 1024):.0f} MiB, and at most {limit} MiB are read",
                hint="split the suite and join the parts with `imports`",
            )
        if stat.S_ISFIFO(status.st_mode):
            piped = _read_pipe(path, MAX_BYTES + 1)
            if piped is None:
                _refuse(file, "is a pipe, and no data came within 5 s", hint="name a file")
            data = piped
        else:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)  # a device has no size beforehand
    except FileNotFoundError:
        _refuse(file, "there is no such file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "if it contains no suites, name the folders that do" if what == "folder" else None
        _refuse(file, f"the {what} cannot be read: {reason[:1].lower()}{reason[1:]}", hint=hint)
    if len(data) > MAX_BYTES:
        _refuse(file, f"the file is too large: at most {MAX_BYTES // (1024 * 1024)} MiB are read")
    return data


def _read_pipe(path: Path, most_bytes: int) -> bytes | None:
    """Up to `most_bytes` of what is written into the pipe, such as a shell makes of `<(…)`; None if no writer begins in time.

    Opening a pipe would wait for a writer for ever. So it is opened without waiting, and its first byte is waited for. What
    follows that may take as long as the writer takes. Raises: OSError.
    """
    import select  # most suites are files

    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:  # noqa: PTH123  (it is open already)
        readable, _, _ = select.select([descriptor], [], [], PIPE_WAIT_SECONDS)
        if not readable:
            return None
        os.set_blocking(descriptor, True)
        return stream.read(most_bytes)


def read_bytes(data: bytes, *, file: str, keep_going: bool = False) -> Tree:
    """Read UTF-8 bytes, with or without a byte order mark. Raises: SuiteError, as `read_tree` does."""
    return read_tree(decode(data, file=file), file=file, keep_going=keep_going)


def read_tree(
    text: str, *, file: str, keep_going: bool = False, anchors: Mapping[str, tuple[object, object]] | None = None
) -> Tree:
    """Read one YAML document; `anchors` are known from the first line on, for a text that is a part of another.

    Raises: SuiteError with every problem found. A syntax error ends the reading; duplicate keys, keys that are no text
    and unknown tags do not, and with `keep_going` they are left in `Tree.problems` for the caller to put among its own.
    """
    text = text.removeprefix("\ufeff")
    builder = _Builder(text, file, anchors=anchors)
    collecting = gc.isenabled()
    gc.disable()  # nothing here makes a cycle, and on a large file collecting takes three times what reading does
    try:
        tree = builder.read()
    finally:
        if collecting:
            gc.enable()
    if tree.problems and not keep_going:
        raise SuiteError(tree.problems)
    return tree


def events_of(text: str) -> Callable[[], Any]:
    """The parser of a YAML text: a call returns its next event.

    As in YAML 1.2, lines end at a line feed or a carriage return only. The parser ends them at three more characters, so it is
    given others in their place: in a quoted text they would become a space, and behind them a comment would end.
    """
    parser = _parser()
    if not any(end in text for end in _NO_LINE_ENDS):
        get: Callable[[], Any] = parser(text).get_event
        return get
    get_event = parser(text.translate(str.maketrans(_NO_LINE_ENDS, _STAND_INS))).get_event

    def next_event() -> Any:
        event = get_event()
        if type(event) is ScalarEvent:
            event.value = event.value.translate(str.maketrans(_STAND_INS, _NO_LINE_ENDS))
        return event

    return next_event


def decode(data: bytes, *, file: str) -> str:
    """UTF-8 bytes as text without its byte order mark. Raises: SuiteError with the place of the first bad byte."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        _refuse(file, "the file is encoded as UTF-16", hint="save it as UTF-8", span=Span(1, 1))
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        starts = _line_starts(before)
        span = Span(len(starts), len(before) - starts[-1] + 1)
        byte = f"0x{error.object[error.start]:02x}"
        _refuse(file, f"the file is not valid UTF-8: byte {byte}", hint="save it as UTF-8", span=span)


def _refuse(file: str, message: str, *, hint: str | None = None, span: Span | None = None) -> NoReturn:
    raise SuiteError([Problem(message=message, file=file, span=span, hint=hint, is_yaml=True)]) from None


# Lines end as editors count them.
_LINE_END = lazy_pattern(r"\r\n|\r|\n")


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]  # half the time


def _own(marks: Any) -> int:
    index: int = marks[0] if type(marks) is list else marks
    return index


def _child(value: Any, marks: Any, part: str | int) -> tuple[Any, Any, int] | None:
    """The child's value, its marks, and the index of its key.

    A collection that took the place of a text (a template) has the marks of that text, as have all its children.
    """
    if type(value) is dict and part in value:
        if type(marks) is not list:
            return value[part], marks, marks
        place = 1 + 2 * list(value).index(part)
        return value[part], marks[place + 1], marks[place]
    if type(value) is list and type(part) is int and 0 <= part < len(value):
        child = marks[part + 1] if type(marks) is list else marks
        return value[part], child, _own(child)
    return None


class _Halt(Exception):
    """The reading cannot go on; never leaves this module."""

    def __init__(self, index: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.index, self.message, self.hint = index, message, hint


_CORE_TAG = "tag:yaml.org,2002:"
_TAGGED: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
_MISSING = object()
_OPEN = object()
_CONTAINERS = (dict, list)
_MOST_ATTEMPTS = 100  # at scalars that JSON can spell and the parser cannot; a file that is all JSON takes one more


class _Builder:
    """Builds one tree from the parser's events. The recursion is bounded by MAX_DEPTH."""

    def __init__(
        self,
        text: str,
        file: str,
        readable: str | None = None,
        attempts: int = 0,
        anchors: Mapping[str, tuple[object, object]] | None = None,
    ) -> None:
        self._text, self._file = text, file
        # What the parser is given: of the same length as `text`, so that the places in both are the same.
        self._readable, self._attempts = text if readable is None else readable, attempts
        self._places = Tree(None, 0, file, text)
        self._next: Callable[[], Any] = lambda: None
        self._plain: dict[str, Any] = {"": None}  # what each plain scalar came to; also makes equal texts one object
        self._quoted: dict[str, str] = {}
        self._known_anchors = anchors
        self._anchors: dict[str, tuple[Any, Any]] = {**(anchors or {})}
        self._sizes: dict[int, int] = {}
        self._aliased_nodes = 0
        self._has_non_finite = False
        self._has_whole_floats = False
        self._path: list[str | int] = []  # of the container being built, after one entry for the root
        self._wrong: list[Problem] = []

    def read(self) -> Tree:
        try:
            self._next = events_of(self._readable)
            value, marks = self._document()
        except _Halt as halt:
            raise SuiteError([*self._wrong, self._problem("", halt.index, halt.message, halt.hint)]) from None
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            from mcptest_engine.suite.yaml_faults import explain, with_pairs_joined

            joined = with_pairs_joined(error, self._readable) if self._attempts < _MOST_ATTEMPTS else None
            if joined is not None:
                return _Builder(self._text, self._file, joined, self._attempts + 1, self._known_anchors).read()
            fault = explain(error, self._text)
            raise SuiteError([*self._wrong, self._problem("", fault.index, fault.message, fault.hint)]) from None
        return Tree(
            value,
            marks,
            self._file,
            self._text,
            tuple(self._wrong),
            self._has_non_finite,
            self._has_whole_floats,
            self._anchors,
        )

    def _document(self) -> tuple[Any, Any]:
        self._next()
        start = self._next()
        first = self._next() if type(start) is DocumentStartEvent else None
        if first is None or (type(first) is ScalarEvent and not first.value and not first.style):
            raise _Halt(0, EMPTY, "a suite needs `servers` and a block of tests such as `tools`")
        root = self._node(first, "")
        self._next()
        after = self._next()
        if type(after) is DocumentStartEvent:
            hint = "keep one document in a file: remove this `---`"
            raise _Halt(_index(after), "a second YAML document starts here", hint)
        return root

    def _node(self, event: Any, key: str | int) -> tuple[Any, Any]:
        """The value and the marks of the node that starts with `event` and stands at `key` of its container."""
        kind = type(event)
        if kind is ScalarEvent:
            node: tuple[Any, Any] = self._scalar(event, key), _index(event)
        elif kind is AliasEvent:
            return self._alias(event)
        else:
            node = self._container(event, key)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _container(self, event: Any, key: str | int) -> tuple[Any, Any]:
        marks = [event.start_mark.index]
        path = self._path
        if len(path) > MAX_DEPTH:
            raise _Halt(marks[0], f"nested more than {MAX_DEPTH} levels deep")
        path.append(key)
        if event.anchor:
            self._anchors[event.anchor] = (_OPEN, marks)
        if type(event) is MappingStartEvent:
            value: Any = {}
            self._mapping(value, marks)
        else:
            value = []
            self._sequence(value, marks)
        path.pop()
        if event.tag is not None and event.tag != _CORE_TAG + ("map" if type(value) is dict else "seq"):
            self._report(key, marks[0], *_unknown_tag(event.tag))
        return value, marks

    def _sequence(self, items: list[Any], marks: list[Any]) -> None:
        get, known = self._next, self._plain
        while True:
            event = get()
            kind = type(event)
            if kind is ScalarEvent and not event.style and event.tag is None and not event.anchor:
                value = known.get(event.value, _MISSING)
                items.append(self._first_seen(event, len(items)) if value is _MISSING else value)
                marks.append(event.start_mark.index)
            elif kind is SequenceEndEvent:
                return
            else:
                value, mark = self._node(event, len(items))
                items.append(value)
                marks.append(mark)

    def _mapping(self, members: dict[str, Any], marks: list[Any]) -> None:
        get, known, quoted = self._next, self._plain, self._quoted
        merges: list[tuple[Any, Any, int]] = []
        while True:
            event = get()
            kind = type(event)
            if kind is MappingEndEvent:
                break
            start = event.start_mark.index
            key = known.get(event.value) if kind is ScalarEvent and not event.style else None
            if type(key) is not str or event.tag is not None or event.anchor:
                key = self._key(event)
            event = get()
            if key == "<<" and self._text.startswith("<<", start):
                merges.append((*self._node(event, key), start))
                continue
            if key in members:
                self._report(key, start, f"duplicate key `{key}`", "remove one of the two, or merge them")
                self._node(event, key)
                continue
            if type(event) is ScalarEvent and event.tag is None and not event.anchor:
                text = event.value
                if event.style:
                    value = quoted.setdefault(text, text)
                else:
                    value = known.get(text, _MISSING)
                    if value is _MISSING:
                        value = self._first_seen(event, key)
                mark: Any = event.start_mark.index  # type: ignore[union-attr]
            else:
                value, mark = self._node(event, key)
            members[key] = value
            marks.append(start)
            marks.append(mark)
        for source, places, start in merges:
            self._merge(members, marks, source, places, start)

    def _key(self, event: object) -> str:
        """The key that starts with `event`; one that is no text is a problem, and its spelling stands in for it."""
        start = _index(event)
        value, _ = self._node(event, "")
        if type(value) is str:
            return value
        if type(value) in _CONTAINERS:
            template = self._text.startswith("{", start)
            hint = "mcptest's templates are written `${name}`; quote text that begins with `{`" if template else None
            self._wrong.append(self._problem(self._here(), start, "a key must be text, found a collection", hint))
            return f"key at {start}"
        spelling = str(event.value if type(event) is ScalarEvent else value)
        hint = f'quote it: "{spelling}"' if spelling else "write the key before the colon"
        found = f"{_kind_of(value)} `{spelling}`" if spelling else "nothing"
        self._wrong.append(self._problem(self._here(), start, f"a key must be text, found {found}", hint))
        return spelling

    def _scalar(self, event: Any, key: str | int) -> Any:
        text: str = event.value
        if event.tag is not None and event.tag != "!":
            return self._tagged(event, key)
        if event.style or event.tag == "!":
            return self._quoted.setdefault(text, text)
        value = self._plain.get(text, _MISSING)
        return self._first_seen(event, key) if value is _MISSING else value

    def _first_seen(self, event: Any, key: str | int) -> Any:
        text: str = event.value
        value: Any = text
        if text[0] in MAYBE_NO_TEXT:
            try:
                value = resolve(text)
            except ValueError:
                self._report(key, event.start_mark.index, "the number has too many digits", "quote it to make it text")
            if type(value) is float:
                self._note_float(value)
        self._plain[text] = value
        return value

    def _tagged(self, event: Any, key: str | int) -> Any:
        tag, text, index = event.tag, event.value, event.start_mark.index
        name = tag.removeprefix(_CORE_TAG)
        if tag == _CORE_TAG + "str":
            return text
        if name == tag or name not in _TAGGED:
            self._report(key, index, *_unknown_tag(tag))
            return text
        value = self._first_seen(event, key) if text else None
        if type(value) not in _TAGGED[name]:
            self._report(key, index, f"`{text}` does not fit its tag `!!{name}`", "remove the tag")
            return text
        if isinstance(value, int) and name == "float":
            value = float(value) if value.bit_length() < 1024 else math.inf
            self._note_float(value)
        return value

    def _note_float(self, value: float) -> None:
        self._has_non_finite = self._has_non_finite or not math.isfinite(value)
        self._has_whole_floats = self._has_whole_floats or value.is_integer()

    def _alias(self, event: Any) -> tuple[Any, Any]:
        name, index = event.anchor, event.start_mark.index
        if name not in self._anchors:
            hint = f"define it earlier with `&{name}`, or quote text that begins with `*`"
            raise _Halt(index, f"the alias `*{name}` has no anchor", hint)
        value, marks = self._anchors[name]
        if value is _OPEN:
            raise _Halt(index, f"the alias `*{name}` is inside the value that it repeats")
        if type(value) in _CONTAINERS:
            self._aliased_nodes += self._size(value)
            if self._aliased_nodes > MAX_ALIASED_NODES:
                raise _Halt(index, f"the aliases up to here expand to more than {MAX_ALIASED_NODES:,} values")
        return value, marks

    def _size(self, value: Any) -> int:
        """How many nodes a value has once its aliases are written out; a shared container is walked once."""
        known = self._sizes.get(id(value))
        if known is None:
            members = value.values() if type(value) is dict else value
            known = 1 + sum(self._size(member) if type(member) in _CONTAINERS else 1 for member in members)
            self._sizes[id(value)] = known
        return known

    def _merge(self, members: dict[str, Any], marks: list[Any], source: Any, places: Any, start: int) -> None:
        """Add what `<<` brings: the keys that are not there yet, an earlier source before a later one."""
        if type(source) is list:
            for item, place in zip(source, places[1:], strict=True):
                self._merge(members, marks, item, place, start)
        elif type(source) is dict:
            for number, (key, value) in enumerate(source.items()):
                if key not in members:
                    members[key] = value
                    marks.extend(places[1 + 2 * number : 3 + 2 * number])
        else:
            self._report("<<", start, "`<<` merges a mapping or a list of mappings", "write `<<: *anchor`")

    def _here(self) -> str:
        return pointer(self._path[1:])

    def _report(self, key: str | int, index: int, message: str, hint: str | None) -> None:
        self._wrong.append(self._problem(pointer([*self._path, key][1:]), index, message, hint))

    def _problem(self, pointer: str, index: int, message: str, hint: str | None) -> Problem:
        span = self._places.span_of(index)
        return Problem(message=message, pointer=pointer, file=self._file, span=span, hint=hint, is_yaml=True)


def _parser() -> Callable[[str], Any]:
    """The C parser; where the library was built without it, its slow twin."""
    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]
    except ImportError:
        return yaml.SafeLoader
    parser: Callable[[str], Any] = CParser
    return parser


def _index(event: Any) -> int:
    index: int = event.start_mark.index
    return index


def _unknown_tag(tag: str) -> tuple[str, str]:
    spelling = "!!" + tag.removeprefix(_CORE_TAG) if tag.startswith(_CORE_TAG) else tag
    return f"the tag `{spelling}` is not supported", "remove it; quote text that begins with `!`"


def _kind_of(value: object) -> str:
    if value is None:
        return "the null value"
    return "the boolean" if isinstance(value, bool) else "the number"
