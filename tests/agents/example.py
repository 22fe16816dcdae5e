"""Records the cassette of `examples/agents/`: `python -m tests.agents.example`, with a local endpoint in the model's place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.model_endpoint import ModelEndpoint, Reply, Use

ROOT = Path(__file__).parent.parent.parent
SUITE = ROOT / "examples" / "agents" / "mcptest.yml"
CASSETTE = SUITE.parent / "travel.json"


def script(endpoint: ModelEndpoint) -> None:
    """What the model is to say."""
    endpoint.when("in Oslo?", Reply("I will look it up.", uses=[Use("get_weather", {"city": "Oslo"})]))
    endpoint.when("Oslo: 19", "It is 19 °C and cloudy in Oslo.")
    endpoint.when("service working", Reply(uses=[Use("status", {})]))
    endpoint.when("second server", Reply(uses=[Use("second__get_weather", {"city": "Rome"})]))
    endpoint.when("Rome:", "The second server has the weather in Rome.")


def main() -> None:
    with tempfile.TemporaryDirectory() as place, ModelEndpoint() as endpoint:
        (Path(place) / ".mcptest").mkdir()
        shutil.copytree(SUITE.parent, Path(place) / "examples" / "agents")
        script(endpoint)
        environ = {**os.environ, **endpoint.anthropic}
        mcptest = Path(sys.executable).parent / "mcptest"
        command = [str(mcptest), "run", str(SUITE.relative_to(ROOT)), "--record", CASSETTE.stem, "--workers", "1"]
        subprocess.run(command, cwd=place, env=environ, check=True)
        shutil.copy(Path(place) / ".mcptest" / "cassettes" / CASSETTE.name, CASSETTE)


if __name__ == "__main__":
    main()
