"""The workbench in a folder of its own: an empty home, no session, no theme, the real engine."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.environment import shipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from tests.forked import Nursery


@pytest.fixture
def anyio_backend() -> str:
    """Textual is asyncio's."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _nursery(nursery: Nursery) -> None:
    """Engines, and agents at work, are forked from it; it ends when the tests have ended."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no frames that no test looks at, and wait for no clock."""
    from tests.tui.waiting import quicken

    quicken(monkeypatch)


@pytest.fixture(autouse=True)
def _nothing_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages stay, however slow a busy machine is."""
    from tests.tui.waiting import stop_clocks

    stop_clocks(monkeypatch)


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    """A cache of Textual's keeps widgets by the thousand that nobody shows any more, and with them every line of theirs."""
    yield
    from textual._styles_cache import StylesCache

    StylesCache.get_inner_outer.cache_clear()


@pytest.fixture
def every_frame(_quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as before a terminal, each time that something has changed."""
    from tests.tui.waiting import draw_every_frame

    draw_every_frame(monkeypatch)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that is the current directory; HOME and XDG_* lie beside it. All tips were shown."""
    folder = tmp_path / "work"
    (folder / ".mcptest").mkdir(parents=True)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("NO_COLOR", "MCPTEST_THEME", "MCPTEST_ASCII", "DISPLAY", "WAYLAND_DISPLAY", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("SSH_TTY", "/dev/pts/0")  # copying goes through the terminal, never to this machine's clipboard
    told = tmp_path / "xdg_state_home" / "mcptest" / "workbench.json"
    told.parent.mkdir(parents=True)
    told.write_text('{"tips": ["edit", "failure", "passed", "review", "servers"]}', encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def demo(place: Path) -> Path:
    """The demo suite as `mcptest.yml` in `place`."""
    path = place / "mcptest.yml"
    path.write_text((shipped("examples") / "demo" / "mcptest.yml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


@pytest.fixture
def workbench(place: Path) -> Callable[..., Any]:
    """`async with workbench(size=(80, 24), paths=[…]) as pilot`: the app with its engine; a bug shown in a panel fails."""

    @asynccontextmanager
    async def opened(
        *, size: tuple[int, int] = (120, 40), paths: list[str] | None = None, ready: bool = True, bugs: int = 0
    ) -> AsyncIterator[Any]:
        from mcptest_tui.app import Workbench
        from tests.tui.waiting import draw_panes, until

        app = Workbench(paths)
        async with app.run_test(size=size, notifications=True) as pilot:
            try:
                if ready:
                    await until(pilot, lambda: app.suites.searched, what="the suites")
                yield pilot
                if app.is_running and not app._exit:
                    draw_panes(app)
            finally:
                await app.leaving.end()
        assert app.problems.count == bugs, app.problems.report()

    return opened
