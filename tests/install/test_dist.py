"""What is published works where it is installed: wheel, sdist, image, action and hooks, each in an empty environment.

Nothing is downloaded: mcptest is installed without its dependencies, and those of the present environment are on the path.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.examples.test_ci import act, outputs

ROOT = Path(__file__).parents[2]
SITE = next(path for path in sys.path if path.endswith("site-packages"))
SUITE = "examples/quickstart.yml"
PYTHONS = ("3.11", "3.12", "3.13")
OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_NO_COMPILE": "0",  # pip reads the variable as the value of `compile`
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def environment() -> dict[str, str]:
    """One in which packages of the present environment are found, but neither its mcptest nor its commands."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    mine = str(Path(sys.executable).parent)
    path = os.pathsep.join(folder for folder in environ["PATH"].split(os.pathsep) if folder != mine)
    return {**environ, **OFFLINE, "PATH": path, "PYTHONPATH": SITE}


def environment_with_python(folder: Path) -> dict[str, str]:
    """The same with a `python` in `folder`. An environment that it makes gets no pip, which takes long: it finds one."""
    folder.mkdir()
    script = folder / "python"
    venv = 'if [ "$1 $2" = "-m venv" ]; then shift 2; set -- -m venv --without-pip "$@"; fi'
    script.write_text(f'#!/bin/sh\n{venv}\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    environ = environment()
    return {**environ, "PATH": f"{folder}{os.pathsep}{environ['PATH']}"}


def run(*argv: str | Path, cwd: Path, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env=environ or environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(map(str, argv))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what `make dist` makes: a wheel and an sdist."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; make setup installs it")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


def python_of(version: str) -> str | None:
    """An interpreter of this version: on PATH, or of pyenv."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [sys.executable if own == version else None, shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates += [str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    for candidate in candidates:
        if candidate is not None:
            asked = [candidate, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
            done = subprocess.run(asked, capture_output=True, encoding="utf-8", timeout=60, check=False)
            if done.stdout.strip() == version:
                return candidate
    return None


def installed_by_the_action(wheel: Path, folder: Path) -> Path:
    """Run the steps of `action.yml` with `mcptest` nowhere on PATH; the `bin` of the environment that they made.

    Of it only `mcptest` is put on PATH, so that `python` is still the job's.
    """
    environ = environment_with_python(folder / "python")  # of the job
    done = act(folder, more=environ, package=str(wheel), suite=str(suite_in(folder)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert outputs(folder)["verdict"] == "pass"
    (added,) = (folder / "path").read_text(encoding="utf-8").splitlines()
    assert [path.name for path in Path(added).iterdir()] == ["mcptest"]
    return (Path(added) / "mcptest").resolve().parent


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_in_an_empty_environment_of_each_python(built: Path, tmp_path: Path, version: str) -> None:
    """It checks a suite, prints its schema, and has its examples. In the Python of these tests the action installs it."""
    python = python_of(version)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    (wheel,) = built.glob("*.whl")
    if python == sys.executable:
        place = installed_by_the_action(wheel, tmp_path)
        mcptest: tuple[str | Path, ...] = (place / "mcptest",)
    else:
        place = tmp_path / "env" / "bin"
        run(python, "-m", "venv", "--without-pip", tmp_path / "env", cwd=tmp_path)
        (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
        fitting = ("--target", site, "--python-version", version, "--only-binary", ":all:")
        run(sys.executable, "-m", "pip", "install", "-q", *fitting, wheel, cwd=tmp_path)
        mcptest = (place / "python", site / "bin" / "mcptest")
    assert run(*mcptest, "schema", cwd=tmp_path) == (ROOT / "schemas/suite.schema.json").read_text("utf-8")
    code = f"""if True:
        import sys
        from mcptest_engine.core.environment import shipped
        from mcptest_tui.__main__ import main
        print(shipped("examples") / "demo", shipped("themes"), sep="\\n", flush=True)
        sys.argv = ["mcptest", "validate", {str(ROOT / SUITE)!r}]
        main()"""
    *places, told = run(place / "python", "-c", code, cwd=tmp_path).splitlines()
    assert len(places) == 2
    assert all(Path(line).is_relative_to(place.parent) for line in places)
    assert "valid, 2 tests" in told


def test_every_python_that_is_promised_is_tried() -> None:
    """The classifiers say which."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert tuple(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)) == PYTHONS


def test_the_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    """A distribution of Linux builds from it, and runs the tests that come with it."""
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    for name in (
        "tests/install/test_dist.py",
        "schemas/record.schema.json",
        "action.yml",
        "Makefile",
        "constraints.txt",
    ):
        assert (source / name).is_file(), name
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=source)
    (again,) = tmp_path.glob("*.whl")
    assert names_in(again) == names_in(wheel)


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_the_wheel_holds_the_packages_and_nothing_else(built: Path) -> None:
    """No test, no cache, no run of the machine that built it."""
    (wheel,) = built.glob("*.whl")
    names = names_in(wheel)
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"mcptest", "mcptest_engine", "mcptest_tui"}
    assert [name for name in names if re.search(r"__pycache__|\.mcptest/|\.egg-info", name)] == []
    assert {"mcptest/py.typed", "mcptest_engine/py.typed"} <= set(names)


def test_a_copy_of_the_action_says_that_it_does_not_know_what_to_install(tmp_path: Path) -> None:
    """The file alone has no mcptest beside it, and no name is guessed."""
    done = act(tmp_path, more=environment(), action_path=tmp_path)
    assert done.returncode == 1
    assert "::error::this is a copy of the action without mcptest" in done.stdout


def test_the_commands_of_the_dockerfile_make_a_mcptest_that_runs(tmp_path: Path) -> None:
    """Its steps in a folder in place of `/`: what `.dockerignore` lets in is copied, the commands are executed."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; make setup installs it")
    places = {"/opt/": f"{tmp_path}/opt/", "/src": f"{tmp_path}/src", "/usr/local/bin/": f"{tmp_path}/bin/"}
    environ = environment_with_python(tmp_path / "bin")
    entry: list[str] = []
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        word, _, rest = line.partition(" ")
        if line == "COPY . /src":
            copy_context(tmp_path / "src")
        elif word == "RUN":
            for path, real in places.items():
                rest = rest.replace(path, real)
            run("sh", "-ec", rest, cwd=tmp_path, environ=environ)
        elif word == "ENTRYPOINT":
            entry = yaml.safe_load(rest)
        else:
            assert word in ("", "#", "FROM", "COPY", "WORKDIR", "CMD"), line
    assert entry == ["mcptest"]
    told = run(tmp_path / "bin" / "mcptest", "run", suite_in(tmp_path), cwd=tmp_path, environ=environ)
    assert "2 passed, 0 failed" in told


def suite_in(folder: Path) -> Path:
    """The quickstart, whose server finds the packages of the present environment too."""
    text = (ROOT / SUITE).read_text(encoding="utf-8")
    command = 'command: ["mcptest", "mock", "--preset", "demo"]'
    assert command in text
    path = folder / "quickstart.yml"
    path.write_text(text.replace(command, f'{command}, env: {{ PYTHONPATH: "{SITE}" }}'), encoding="utf-8")
    return path


def copy_context(target: Path) -> None:
    """What a container engine sends of the repository: nothing, but for the lines with `!`, less the patterns after them."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    left_out = [rule.removeprefix("**/") for rule in rules[1:] if not rule.startswith("!")]
    for name in (rule[1:] for rule in rules if rule.startswith("!")):
        target.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns(*left_out)
            shutil.copytree(ROOT / name, target / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target / name)


HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
GOOD = (ROOT / SUITE).read_text(encoding="utf-8").partition("\n")[2]


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("mcptest.yml", True),
        ("a/b/mcptest.yaml", True),
        ("tests/shop.mcptest.yml", True),
        (".github/workflows/mcptest.yml", False),
        ("docker-compose.yml", False),
        ("my-mcptest.yml", False),
    ],
)
def test_the_hooks_take_suites_by_their_names(path: str, is_taken: bool) -> None:
    """The pipeline that `init --ci` writes is called `mcptest.yml` as well, and is no suite."""
    for hook in HOOKS:
        taken = re.search(hook["files"], path) and not re.search(hook["exclude"], path)
        assert bool(taken) is is_taken


def test_pre_commit_runs_the_hooks(tmp_path: Path) -> None:
    """pre-commit itself, on a repository with one good and one bad suite. Only how mcptest gets there is another."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed; make setup installs it")
    hooks, project = tmp_path / "hooks", tmp_path / "project"
    environ = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").replace("language: python", "language: system")
    for folder, files in (
        (hooks, {".pre-commit-hooks.yaml": text}),
        (project, {"mcptest.yml": GOOD, "a/shop.mcptest.yml": "serverz: {}\n", "other.yml": "x:   1\n"}),
    ):
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
        run("git", "init", "-q", cwd=folder, environ=environ)
        run("git", "add", "-A", cwd=folder, environ=environ)
        run(*git, "commit", "-q", "-m", "a", cwd=folder, environ=environ)
    revision = run("git", "rev-parse", "HEAD", cwd=hooks, environ=environ).strip()
    wanted = [{"id": hook["id"]} for hook in HOOKS]
    config = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": wanted}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    run("git", "add", "-A", cwd=project, environ=environ)
    argv = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"]
    done = subprocess.run(
        argv, cwd=project, env=environ, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "a/shop.mcptest.yml:1:1: " in done.stdout
    assert "mcptest.yml: nothing to change" in done.stdout
    assert "other.yml" not in done.stdout


def test_the_manifest_of_the_hooks_is_one() -> None:
    """By the schema that pre-commit has for it."""
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is not installed")
    assert [hook["id"] for hook in clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")] == [
        "mcptest-validate",
        "mcptest-fmt",
    ]
