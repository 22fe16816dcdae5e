"""Learns `mcptest_engine/safety/learned/weights.txt` from the corpora: `python -m tests.safety.train`.

Needs numpy and scipy (`pip install numpy scipy`), which nothing else here does. A description is known to be poisoned, not
which sentence of it: the model is a logistic one of windows, and of a text it is asked only that the windows together (by
log-sum-exp) say so. The same corpora give the same weights. With `--check` it writes nothing, trains without a part and judges
that part: by fifths ("unseen descriptions"), and by authors ("unseen hands"); public servers are left out as wholes. How
strongly weights are held back (`RIDGE`) and which features there are was chosen by what was found of unseen hands.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the same sums in the same order everywhere

try:
    import numpy as np
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix, diags
except ImportError as error:
    sys.exit(f"training needs {error.name}, which mcptest itself does not: pip install numpy scipy")

from mcptest_engine.safety.definition_texts import texts_of_tool, tool_name
from mcptest_engine.safety.learned import judge
from mcptest_engine.safety.learned.features import features
from mcptest_engine.safety.learned.windows import Prose
from mcptest_engine.safety.mentions import is_about_attacks, without_mentions
from mcptest_engine.safety.normalizing import plain_views
from mcptest_engine.safety.poisoning import about_of, place_of
from tests.safety import corpora

RULES = judge.RULES
STRENGTH = {"o": 0.4, "a": 0.4, "g": 0.4}  # pairs are many and seldom: each counts for less
RIDGE, RIDGE_OF_RULES, RIDGE_OF_GLANCE = 0.5, 0.05, 3
LEAST_SEEN = 3
MOST_FEATURES = 13_000
PUBLIC_ALARMS = 0.008  # so many tools of public servers may be warned of when they have not been learned from
PASSED_BY_GLANCE = 0.98


@dataclass
class Example:
    """One tool: what rules it deserves, whose hand it is of, and its windows."""

    author: str
    tool: dict[str, Any]
    rules: frozenset[str]
    names: frozenset[str]
    texts: list[str] = field(default_factory=list)
    found: list[set[str]] = field(default_factory=list)


def examples() -> list[Example]:
    """All tools that the learned rules have a say in; what is poisoned by encoding or invisibly alone is left out."""
    made = []
    for line in corpora.labelled():
        rules = frozenset(line.rules)
        if rules and (not rules & set(RULES) or rules & {"SEC-004", "SEC-005"}):
            continue
        made.append(Example(line.author, line.tool, rules & set(RULES), frozenset(line.names)))
    for example in made:
        _fill(example)
    return [example for example in made if example.found]


def _fill(example: Example) -> None:
    own = tool_name(example.tool).lower()
    names = frozenset(name.lower() for name in example.names)
    seen: set[tuple[str, str]] = set()
    texts = list(texts_of_tool(example.tool))
    against = is_about_attacks(own, *(text.text for text in texts if text.where in ("title", "description")))
    for text in texts:
        place = place_of(text)
        if len(text.text) < 12 or (place, text.text) in seen:
            continue
        seen.add((place, text.text))
        plain = plain_views(without_mentions(text.text, about_attacks=against))[0]
        for window in Prose(plain, names, own, about_of(own, place)).every():
            example.texts.append(plain[window.start : window.end])
            example.found.append(features(window, place))


class Matrix:
    """The windows of all examples, one a row; `tool_of` is the example that a row belongs to."""

    def __init__(self, made: list[Example]) -> None:
        seen = Counter(name for example in made for name in set().union(*example.found))
        self.names = sorted(name for name, times in seen.items() if times >= LEAST_SEEN)
        index = {name: at for at, name in enumerate(self.names)}
        columns, ends, self.tool_of = [], [0], []
        for at, example in enumerate(made):
            for found in example.found:
                columns += sorted(index[name] for name in found if name in index)
                ends.append(len(columns))
                self.tool_of.append(at)
        raw = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(ends) - 1, len(self.names)))
        share = np.maximum(np.asarray(raw.sum(1)).ravel(), 1) ** -judge.SHARED
        self.strength = np.array([STRENGTH.get(name[0], 1.0) for name in self.names])
        self.rows = diags(share).dot(raw).dot(diags(self.strength)).tocsr()
        self.tool_of = np.array(self.tool_of)


def learned(rows: csr_matrix, tool_of: np.ndarray, poisoned: np.ndarray, ridge: float) -> np.ndarray:
    """The weights, and the bias last. `poisoned` is of the tools that occur in `tool_of`, in their order."""
    starts = np.flatnonzero(np.r_[True, tool_of[1:] != tool_of[:-1]])
    counts = np.diff(np.r_[starts, len(tool_of)])
    sign = poisoned * 2.0 - 1
    turned = rows.T.tocsr()

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        said = rows.dot(weights[:-1]) + weights[-1]
        most = np.maximum.reduceat(said, starts)
        shares = np.exp(said - np.repeat(most, counts))
        sums = np.add.reduceat(shares, starts)
        wrong = -sign * (most + np.log(sums))
        slope = -sign / (1 + np.exp(-wrong))
        each = np.repeat(slope / sums, counts) * shares
        total = np.logaddexp(0, wrong).sum() + ridge / 2 * weights[:-1].dot(weights[:-1])
        return total, np.r_[turned.dot(each) + ridge * weights[:-1], each.sum()]

    start = np.zeros(rows.shape[1] + 1)
    start[-1] = -3
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x


def scores(matrix: Matrix, weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """What the most suspicious window of each tool scores, and which row it is."""
    said = matrix.rows.dot(weights[:-1]) + weights[-1]
    best, row = np.full(count, -99.0), np.zeros(count, int)
    for at, (tool, score) in enumerate(zip(matrix.tool_of, said, strict=True)):
        if score > best[tool]:
            best[tool], row[tool] = score, at
    return best, row


def fifths(example: Example) -> str:
    """Descriptions by chance, public servers as wholes."""
    whole = example.author if example.author.startswith("public") else json.dumps(example.tool, sort_keys=True)
    return str(zlib.crc32(whole.encode()) % 5)


def hands(example: Example) -> str:
    """By author; public servers by fifths."""
    return fifths(example) if example.author.startswith("public") else example.author


def unseen_scores(made: list[Example], matrix: Matrix, part_of: Any) -> tuple[np.ndarray, np.ndarray]:
    """What each tool scores by weights that were learned without its part, and by which row."""
    parts = np.array([part_of(example) for example in made])
    poisoned = np.array([bool(example.rules) for example in made])
    result, row = np.zeros(len(made)), np.zeros(len(made), int)
    for part in sorted(set(parts)):
        train = parts != part
        rows = train[matrix.tool_of]
        weights = learned(matrix.rows[rows], matrix.tool_of[rows], poisoned[train], RIDGE)
        found, at = scores(matrix, weights, len(made))
        result[~train], row[~train] = found[~train], at[~train]
    return result, row


def threshold_of(made: list[Example], unseen: np.ndarray) -> float:
    """The score that so few of the public tools reach as `PUBLIC_ALARMS` allows."""
    public = np.sort([score for score, one in zip(unseen, made, strict=True) if one.author.startswith("public")])[::-1]
    return float(public[int(PUBLIC_ALARMS * len(public))]) + 0.01


def train() -> str:
    """The text of `weights.txt`."""
    made = examples()
    matrix = Matrix(made)
    unseen, unseen_row = unseen_scores(made, matrix, fifths)
    threshold = threshold_of(made, unseen)
    poisoned = np.array([bool(example.rules) for example in made])
    alarm = learned(matrix.rows, matrix.tool_of, poisoned, RIDGE)
    _, row = scores(matrix, alarm, len(made))
    chosen = [at for at, example in enumerate(made) if example.rules]
    columns = [alarm]
    for rule in RULES:
        deserved = np.array([rule in made[at].rules for at in chosen])
        columns.append(learned(matrix.rows[row[chosen]], np.arange(len(chosen)), deserved, RIDGE_OF_RULES))
    weights = np.array(columns) * 100
    weights[:, :-1] *= matrix.strength
    kept = np.argsort(-(np.abs(weights[0, :-1]) + 0.25 * np.abs(weights[1:, :-1]).max(0)), kind="stable")[
        :MOST_FEATURES
    ]
    glance, least = _glance(made, matrix.tool_of, [unseen_row[at] for at in chosen if unseen[at] >= threshold])
    numbers = np.rint(weights).astype(int)
    lines = [
        " ".join(str(round(number)) for number in (threshold * 100, least, *numbers[:, -1])),
        " ".join(f"{word} {number}" for word, number in sorted(glance.items())),
        "\t".join(matrix.names[at] for at in sorted(kept)),
        *(" ".join(map(str, row[sorted(kept)])) for row in numbers),
    ]
    return "\n".join(lines) + "\n"


def _glance(made: list[Example], tool_of: np.ndarray, telling: list[int]) -> tuple[dict[str, int], int]:
    """What single words and concepts say for a window that is told of rather than an honest one, and the least that counts.

    It is such that nearly all telling windows reach it when their tools have not been learned from.
    """
    every = [judge.glance_words(text) for example in made for text in example.texts]
    found = [Counter(name for word in words for name in judge.glance_names(word)) for words in every]
    seen = Counter(name for names in found for name in names)
    known = sorted(name for name, times in seen.items() if times >= LEAST_SEEN)
    index = {name: at for at, name in enumerate(known)}
    columns, times, ends = [], [], [0]
    for names in found:
        held = sorted((index[name], count) for name, count in names.items() if name in index)
        columns += [at for at, _ in held]
        times += [float(count) for _, count in held]
        ends.append(len(columns))
    rows = csr_matrix((times, columns, ends), shape=(len(found), len(known)))
    honest = np.array([not example.rules for example in made])[tool_of]
    tells = np.zeros(len(found), bool)
    tells[telling] = True
    asked = np.flatnonzero(honest | tells)
    folds = np.array([int(fifths(example)) for example in made])[tool_of][asked]
    unseen = np.zeros(len(asked))
    for fold in range(5):
        rest = np.flatnonzero(folds != fold)
        weights = learned(rows[asked[rest]], np.arange(len(rest)), tells[asked[rest]], RIDGE_OF_GLANCE)
        unseen[folds == fold] = rows[asked[folds == fold]].dot(weights[:-1])
    weights = learned(rows[asked], np.arange(len(asked)), tells[asked], RIDGE_OF_GLANCE)
    said = {name: round(weight * 100) for name, weight in zip(known, weights, strict=False) if abs(weight) >= 0.02}
    least = np.sort(unseen[tells[asked]])[int((1 - PASSED_BY_GLANCE) * tells.sum())]
    print(f"a first look passes {np.mean(unseen[~tells[asked]] >= least):.1%} of honest windows", file=sys.stderr)
    return said, round(least * 100)


def check() -> None:
    """Prints what is found of what was not learned from, at the threshold for public servers."""
    made = examples()
    matrix = Matrix(made)
    for name, part_of in (("unseen descriptions", fifths), ("unseen hands", hands)):
        unseen, _ = unseen_scores(made, matrix, part_of)
        threshold = threshold_of(made, unseen)
        print(f"{name}, threshold {threshold:.2f}")
        for author in dict.fromkeys(example.author.split(":")[0] for example in made):
            alarms = [
                (bool(one.rules), score >= threshold)
                for one, score in zip(made, unseen, strict=True)
                if one.author.split(":")[0] == author
            ]
            found = [alarm for deserved, alarm in alarms if deserved]
            false = [alarm for deserved, alarm in alarms if not deserved]
            print(f"  {author}: found {sum(found)} of {len(found)}, false alarms {sum(false)} of {len(false)}")


if __name__ == "__main__":
    if "--check" in sys.argv:
        check()
    else:
        Path(judge.__file__).with_name("weights.txt").write_text(train(), encoding="utf-8")
