"""Tools that are offered beside the real ones to see whether a model falls for them. Pure; the same suite gives the same ones.

A near duplicate has the arguments of a real tool and a name like it, and says in its description why it is not the one. Those
of the catalog belong to other trades. None can be called: a model that tries is told so, and no server hears of it.
"""

from __future__ import annotations

import hashlib
from itertools import count, cycle
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


CATALOG, NEAR_DUPLICATE = "catalog", "near_duplicate"
REFUSAL = "this tool is not available"

_VARIANTS = (
    ("legacy", "Deprecated, its data is no longer kept up to date."),
    ("sandbox", "Gives made-up data for demonstrations only."),
    ("archive", "Only for dates before the year 2000."),
    ("staff", "For staff of the provider only; asks for a badge number afterwards."),
    ("preview", "Experimental, gives no answer yet."),
    ("estimate", "Gives a rough guess and no looked-up value."),
    ("template", "Gives an empty form to fill in by hand."),
    ("audit", "Gives who asked for this in the past, and not the thing itself."),
)
_TRADES = (
    ("tune_piano", "Give the tension of each string of a piano.", "model"),
    ("grade_lumber", "Grade a batch of sawn timber by its knots.", "batch"),
    ("assay_ore", "Give the share of metal in a sample of ore.", "sample"),
    ("schedule_kiln", "Plan the firing of a kiln for ceramics.", "glaze"),
    ("rotate_crops", "Propose what to sow on a field next year.", "field"),
    ("match_yarn", "Find yarns of the same thickness and colour.", "yarn"),
    ("chart_tides", "Give high and low water at a harbour gauge.", "gauge"),
    ("rate_bridge_load", "Give the axle load that a bridge may carry.", "bridge"),
    ("identify_moss", "Name a moss by the form of its leaves.", "leaf_form"),
    ("balance_rotor", "Say where a rotor needs a counterweight.", "rotor"),
    ("date_manuscript", "Date a manuscript by its hand.", "shelf_mark"),
    ("trace_pedigree", "List the ancestors of a registered horse.", "horse"),
    ("blend_tea", "Propose a blend of teas for a taste.", "taste"),
    ("inspect_weld", "Judge a weld by its radiograph.", "radiograph"),
    ("calibrate_scale", "Give the correction of a laboratory scale.", "scale"),
    ("plan_beehive", "Say when a hive has to be split.", "hive"),
    ("price_antique", "Estimate what an antique fetches at auction.", "item"),
    ("convert_sheet_music", "Transpose sheet music to another key.", "piece"),
    ("sort_stamps", "Sort a lot of stamps by their issue.", "lot"),
    ("map_cave", "Give the survey of a cave.", "cave"),
    ("cut_gem", "Propose a cut for a rough stone.", "stone"),
    ("repair_clock", "List the parts that a clock movement needs.", "movement"),
    ("prune_vines", "Say how many buds to leave on a vine.", "variety"),
    ("test_paint", "Give how long a paint withstands salt water.", "paint"),
)


class Distractor(NamedTuple):
    """A tool that is offered and does not exist; `server` is the one whose tool it is like, "" for none."""

    server: str
    descriptor: Mapping[str, Any]


def distractors_of(
    written: Mapping[str, Any], listed: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[list[Distractor], list[str]]:
    """As many as `written` asks for beside the tools that servers list, and what is to be warned of."""
    real = [(server, one) for server, tools in listed.items() for one in tools if isinstance(one.get("name"), str)]
    taken = {str(one["name"]) for _, one in real}
    wanted = written.get("of")
    remarks = [
        f"`distractors` names the tool `{name}`, which no server lists" for name in wanted or () if name not in taken
    ]
    like = [(server, one) for server, one in real if wanted is None or one["name"] in wanted]
    made = _near(like, taken) if written.get("from", CATALOG) == NEAR_DUPLICATE else _others(taken)
    return [one for one, _ in zip(made, range(written["count"]), strict=False)], remarks


def mix_names(names: Sequence[str]) -> list[int]:
    """The places of `names` in an order that tells nothing of which of them are real, and is always the same."""
    return sorted(range(len(names)), key=lambda at: hashlib.sha256(names[at].encode("utf-8", "surrogatepass")).digest())


def _near(like: Sequence[tuple[str, Mapping[str, object]]], taken: Collection[str]) -> Iterator[Distractor]:
    for number in count(1) if like else ():
        for word, why in _VARIANTS:
            for server, one in like:
                name = _free(f"{one['name']}_{word}" + (f"_{number}" if number > 1 else ""), taken)
                description = one.get("description")
                told = f"{description.rstrip()} {why}" if isinstance(description, str) and description.strip() else why
                yield Distractor(server, {**one, "name": name, "description": told})


def _others(taken: Collection[str]) -> Iterator[Distractor]:
    numbers = count()
    for name, description, argument in cycle(_TRADES):
        number = next(numbers) // len(_TRADES) + 1
        schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
        free = _free(name + (f"_{number}" if number > 1 else ""), taken)
        yield Distractor("", {"name": free, "description": description, "inputSchema": schema})


def _free(name: str, taken: Collection[str]) -> str:
    """A name that no real tool has."""
    while name in taken:
        name += "_x"
    return name
