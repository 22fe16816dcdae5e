"""Normalize a text to what a model would understand: undo what hides its words from a reader or from a rule.

Invisible characters are removed, look-alike letters of other alphabets and digits in place of letters become the letters they
stand for, and words spelled out letter by letter are joined. A word is translated only when the result is all Latin, so that
Russian stays Russian.
"""

from __future__ import annotations

import html
import re
import unicodedata

_SHOWN_AS_NOTHING = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
_HIDDEN = re.compile(f"[{_SHOWN_AS_NOTHING}{_CONTROLS}\ud800-\udfff]")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")

# Hidden characters that are legitimate: joiners and marks inside of scripts that need them, one selector behind a symbol, the
# tags of a flag, a byte order mark at the very start.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,8}\U000e007f")
_SELECTED = re.compile(
    r"(?<=[^\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f])[\ufe00-\ufe0f\U000e0100-\U000e01ef](?![\ufe00-\ufe0f\U000e0100-\U000e01ef])"
)
# Joiners shape Arabic and Indic scripts and emoji; between other letters, or in a row, they only hide text.
_NEEDS_JOINERS = "[^\x00-\u058f\u200b-\u200f\u2060-\u206f\u3000-\u9fff\uac00-\ud7af\ufeff]"
_JOINED = f"(?<={_NEEDS_JOINERS})[\u200c\u200d](?={_NEEDS_JOINERS})"  # slow to compile, and seldom needed
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u2066-\u2069]")

_COMBINING = re.compile("[\u0300-\u036f]")
_MARKUP = re.compile(r"[*`\"\u201c\u201d\u00ab\u00bb\\]+")
_LONE_UNDERSCORES = re.compile(r"_+(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])_+")
_BLANKS = re.compile(r"\s+")
_LATIN = re.compile(r"[A-Za-z]")
_FOREIGN_WORD = re.compile(r"[^\W\d_]*[\u0370-\u052f\u0531-\u058f\u13a0-\u13ff\u1d00-\u1d7f\u0250-\u02af][^\W\d_]*")
_LOOKS_LIKE = str.maketrans(
    dict(
        zip(
            "АВЕЗКМНОРСТУХасеорухіјѕԁһӏԛԝкмнтвгѵҽԍΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχωϲɑɡɩʏᴀᴄᴅᴇᴊᴋᴍɴᴏᴘʀꜱᴛᴜᴠᴡᴢʙɢʜɪʟɗɖɓɠƙƥƭʈɦʠʂ",
            "ABE3KMHOPCTYXaceopyxijsdhlqwkmhtbrvegABEZHIKMNOPTYXaeiknoptuxwcagiyacdejkmnoprstuvwzbghilddbgkptthqs",
            strict=True,
        )
    )
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_LETTER_NAME = re.compile(r"LATIN (SMALL |CAPITAL |)LETTER (?:[A-Z]+ )*([A-Z])(?: WITH .+)?")
_LEET_WORD = re.compile(
    r"(?<![\w@$])(?=[\w@$!|]{0,30}[A-Za-z])(?=[\w@$!|]{0,30}[013457@$!|])[A-Za-z0-9@$!|]{3,30}(?![\w@$])"
)
# Quick checks: without a digit before a letter, or without two single letters, the slower patterns match nothing.
_MAYBE_LEET = re.compile(r"[013457@$!|][A-Za-z]")
_MAYBE_SPELLED = re.compile(r"[ .\-_*|/,][A-Za-z0-9][ .\-_*|/,]{1,3}[A-Za-z0-9][ .\-_*|/,]")
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_L = str.maketrans("013457@$!|", "oleastasil")
_SPELLED = re.compile(r"(?<!\w)(?:[^\W_][ .\-_*|/,]{1,3}){7,}[^\W_](?!\w)")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]{12,400}")
_WORD_BREAK = re.compile(r"[_.-]+|(?<=[a-z0-9])(?=[A-Z])")
_FEWEST_WORDS = 4  # `include_transcript` is a name, `send_the_transcript_along` is a sentence
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")


def first_hidden(text: str) -> int | None:
    """The index of the first character that is invisible and that no script or emoji there needs; None without one."""
    if text.isascii() and text.isprintable():
        return None
    if _HIDDEN.search(text) is None:
        return None
    kept = _SELECTED.sub(" ", re.sub(_JOINED, " ", _FLAG.sub(_same_length, text)))
    if kept.startswith("\ufeff"):
        kept = " " + kept[1:]
    if _RIGHT_TO_LEFT.search(kept):
        kept = _DIRECTION_MARKS.sub(" ", kept)
    found = _HIDDEN.search(kept)
    return None if found is None else found.start()


def visible(text: str) -> str:
    """`text` without control and invisible characters, on one line."""
    if text.isascii() and text.isprintable():
        return text
    return _BLANKS.sub(" ", _HIDDEN.sub("", _ESCAPES.sub("", text)))


def latin_name(name: str) -> str:
    """A tool's name as it looks: no invisible characters, marks or full-width forms, look-alike letters as Latin ones.

    A letter whose Unicode name is a Latin letter with an addition (`ɗ` is "D WITH HOOK", `ɘ` "REVERSED E") becomes that one.
    """
    if name.isascii():
        return name
    shown = _COMBINING.sub("", unicodedata.normalize("NFKD", _HIDDEN.sub("", name)))
    return _NOT_ASCII.sub(_base_letter, _FOREIGN_WORD.sub(_read_as_latin, shown))


def _base_letter(found: re.Match[str]) -> str:
    """The letter in the Unicode name of a Latin letter; any other character unchanged."""
    named = _LETTER_NAME.fullmatch(unicodedata.name(found[0], ""))
    if named is None:
        return found[0]
    return named[2] if named[1] == "CAPITAL " else named[2].lower()


def plain_views(text: str) -> tuple[str, ...]:
    """The plain form of `text`, its case kept, and further forms where digits, spacing or one long name disguise words."""
    plain = _plain(text)
    views = [plain]
    if _MAYBE_LEET.search(plain):
        views += [_LEET_WORD.sub(_leet, plain), _LEET_WORD.sub(_leet_with_l, plain)]
    if _IDENTIFIER.fullmatch(plain) and len(words := _WORD_BREAK.split(plain)) >= _FEWEST_WORDS:
        views.append(" ".join(words))
    if _MAYBE_SPELLED.search(plain) and _SPELLED.search(plain):
        joined = _SPELLED.sub(_joined_letters, text if text.isascii() else visible(text))
        views += [joined, _LEET_WORD.sub(_leet, joined)]
    return tuple(dict.fromkeys(views)) if len(views) > 1 else (plain,)


def _plain(text: str) -> str:
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _HIDDEN.sub("", text)).replace("\u2019", "'").replace("\u2018", "'")
        text = unicodedata.normalize("NFC", _COMBINING.sub("", unicodedata.normalize("NFKD", text)))
        if not text.isascii() and _LATIN.search(text):
            text = _FOREIGN_WORD.sub(_read_as_latin, text)
    elif not text.isprintable():
        text = _HIDDEN.sub("", _ESCAPES.sub("", text))
    if "_" in text:
        text = _LONE_UNDERSCORES.sub("", text)
    text = _MARKUP.sub("", text)
    if "  " in text or not text.isprintable():
        text = _BLANKS.sub(_one_blank, text)
    return text


def _leet(found: re.Match[str]) -> str:
    return found[0].translate(_LEET)


def _leet_with_l(found: re.Match[str]) -> str:
    return found[0].translate(_LEET_L)


def _one_blank(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def _read_as_latin(found: re.Match[str]) -> str:
    """A word in Latin letters when each of its letters is or looks like one; any other word unchanged."""
    word = found[0].translate(_LOOKS_LIKE)
    return word if word.isascii() else found[0]


def _joined_letters(found: re.Match[str]) -> str:
    """`i g n o r e  a l l` as `ignore all`: the most frequent separator is dropped, any other becomes a blank."""
    spelled = found[0]
    separators = re.findall(r"[ .\-_*|/,]{1,3}", spelled)
    usual = max(set(separators), key=separators.count)
    return re.sub(r"[ .\-_*|/,]{1,3}", lambda gap: "" if gap[0] == usual else " ", spelled)


def _same_length(found: re.Match[str]) -> str:
    return " " * len(found[0])
