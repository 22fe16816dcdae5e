"""Run the tests against wrong variants of the product: `python -m tests.faults.run [--list] [TEXT…]`.

Each variant of `faults.py` (with TEXT: those whose title or path holds one of the texts) is made in a copy of the repository
with an environment of its own, and its tests are run there. A fault that no test notices is missed; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from tests.faults.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 900
_NOTICED = 1
"""How pytest ends when a test has failed; all else but 0 tells nothing about the fault."""


def problems(faults: tuple[Fault, ...] = FAULTS, root: Path = ROOT) -> list[str]:
    """Why faults cannot be made or noticed: their text is not found exactly once, or a named test is not there."""
    found = []
    for fault in faults:
        path = root / fault.path
        count = path.read_text(encoding="utf-8").count(fault.old) if path.is_file() else 0
        if count != 1 or fault.old == fault.new:
            found.append(f"{fault.title}: its text stands {count} times in {fault.path}, and has to stand there once")
        found += [f"{fault.title}: there is no {test}" for test in fault.tests if not (root / test).exists()]
    return found


def copy_repository(copy: Path) -> Path:
    """Copy what git knows, with an environment in which the product is the copy's; its interpreter."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in os.fsdecode(listed.stdout).split("\0"):
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    environment = copy / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("_editable_impl_mcptest", "__pycache__")):
            (packages / entry.name).symlink_to(entry)
    (packages / "_editable_impl_mcptest.pth").write_text(f"{copy}\n", encoding="utf-8")
    script = environment / "bin" / "mcptest"
    script.write_text(
        f"#!{python}\nimport sys\nfrom mcptest_tui.__main__ import main\nsys.exit(main())\n", encoding="utf-8"
    )
    script.chmod(0o755)
    return python


def run_tests(python: Path, copy: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """How pytest ended, and the first test that failed or what it said at last."""
    command = [str(python), "-m", "pytest", "-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", *tests]
    environ = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environ["PATH"] = f"{python.parent}{os.pathsep}{environ.get('PATH', '')}"
    try:
        done = subprocess.run(
            command, cwd=copy, env=environ, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return -1, f"not done after {LIMIT_SECONDS} s"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, next(
        (line for line in lines if line.startswith(("FAILED", "ERROR"))), lines[-1] if lines else ""
    )


def main() -> int:
    """Make the faults one by one, and tell which are noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("text", nargs="*", help="only faults whose title or path holds it")
    parser.add_argument("--list", action="store_true", help="list the faults, and whether each can be made")
    given = parser.parse_args()
    chosen = tuple(one for one in FAULTS if not given.text or any(t in one.title or t in one.path for t in given.text))
    if wrong := problems(chosen):
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    if given.list:
        print(*(f"{fault.path}: {fault.title}" for fault in chosen), sep="\n")
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(prefix="faults") as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        python = copy_repository(copy)
        for fault in chosen:
            path, started = copy / fault.path, time.monotonic()
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
            code, told = run_tests(python, copy, fault.tests)
            path.write_text(text, encoding="utf-8")
            word = {_NOTICED: "caught", 0: "missed"}.get(code, "unclear")
            test = told.removeprefix("FAILED ").removeprefix("ERROR ").partition(" - ")[0]
            if word == "caught" and "::" in test and run_tests(python, copy, (test,))[0] != 0:
                word, told = "unclear", f"{test} fails without it, too"
            missed += word != "caught"
            print(f"{word:8}{time.monotonic() - started:6.1f} s  {fault.title}  ({told})", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
