"""The version of a scorer: what changes when its command, a script file that the command names, its directory or a variable
that the suite declares is changed.

An interpreter or a binary is no script: to have an update of one grade anew, rename the scorer. Of a variable whose name looks
like a secret's only the name counts: a key that was renewed grades as the old one did, and no hash tells anything of a secret.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING

from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.workspace.fingerprints import of_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.judging.scorers.values import Scorer


def scorer_version(scorer: Scorer, environ: Mapping[str, str], declared: Iterable[str] = ()) -> str:
    """The SHA-256, as hex, of its argv, the script files among its words, the directory it runs in, and its variables.

    `environ` is what it is started with; of that, `declared` are the names that the suite sets for all of its scorers. The
    scorer's own `env` counts as well.
    """
    files = [(word, found) for word, path in _named(scorer, environ) if (found := of_file(path)) is not None]
    variables = {**{name: environ[name] for name in declared if name in environ}, **scorer.env}
    env = sorted((name, None if is_secret_name(name) else value) for name, value in variables.items())
    parts = [list(scorer.command), files, env, os.path.realpath(scorer.cwd or os.curdir)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _named(scorer: Scorer, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Words that may be paths, with what they lead to; `--config=rules.yml` names one as well."""
    folder = scorer.cwd or ""
    for at, word in enumerate(scorer.command):
        if at == 0:
            path: str | None = os.path.join(folder, word) if "/" in word else _on_path(word, scorer, environ)  # noqa: PTH118
            if path is not None and _is_script(path):
                yield word, path
            continue
        for part in (word, word.partition("=")[2]):
            if part:
                yield part, os.path.join(folder, part)  # noqa: PTH118


def _on_path(word: str, scorer: Scorer, environ: Mapping[str, str]) -> str | None:
    return shutil.which(word, path={**environ, **scorer.env}.get("PATH"))


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return False
