import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.safety.tool_classes import (
    DESTRUCTIVE_WORDS,
    MUTATING_WORDS,
    ToolClass,
    cautious_class,
    classify,
    classify_name,
)

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
SEVERITY = list(ToolClass)


@pytest.mark.parametrize("word", sorted(DESTRUCTIVE_WORDS))
@pytest.mark.parametrize("shape", ["{}_file", "{}-file", "{}File", "file.{}", "my{}", "my{}2", "HTTP{}", "{}"])
def test_a_destructive_word_is_found_however_the_name_is_written(word, shape):
    for spelling in (word, word.upper(), word.capitalize()):
        if shape.startswith(("my", "HTTP")):
            spelling = word.capitalize()
        elif shape == "{}File" and spelling.isupper():
            continue
        assert classify_name(shape.format(spelling)) is ToolClass.DESTRUCTIVE


@pytest.mark.parametrize("word", sorted(MUTATING_WORDS))
def test_a_mutating_word_is_found_and_a_destructive_one_outranks_it(word):
    assert classify_name(f"{word}_thing") is ToolClass.MUTATING
    assert classify_name(f"{word}_or_delete") is ToolClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "name", ["get_time", "dropdown", "settings", "address", "killer", "outputs", "reset", "", "2", "löschen"]
)
def test_a_word_inside_a_longer_word_does_not_count(name):
    assert classify_name(name) is ToolClass.READ_ONLY_PRESUMED


@pytest.mark.parametrize(
    "name",
    [
        "d\u0435lete_user",
        "\uff44\uff45\uff4c\uff45\uff54\uff45_user",
        "de\u200blete_user",
        "de\u00adlete_user",
        "\u043a\u0456\u04cf\u04cf_process",
        "d\u00e9lete_user",
        *(
            "\u0257elete_user",
            "\u0110ELETE_USER",
            "d\u0258lete",
            "dele\u01abe_user",
            "\u1d05\u1d07\u029f\u1d07\u1d1b\u1d07",
        ),
        "truncate_table",
        "rm_rf",
        "rmrf",
        "cancel_order",
        "deleteuser",
        "DELETEUSER",
        "dropdatabase",
        "bulkdelete",
        *("DELETEuser", "REMOVEall", "DROPtable", "KILLproc", "GETdelete", "dElEtE_user", "x_DeLeTe", "ɗelete_user"),
        *("deIete_user", "de1ete_user", "d3lete_user", "kick", "format_disk"),
    ],
)
def test_a_destructive_word_is_found_in_disguise_glued_or_beyond_the_documented_list(name):
    assert cautious_class(name) is ToolClass.DESTRUCTIVE
    assert classify({"name": name}) is ToolClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "name",
    [
        *("execute_sql", "exec", "run_pipeline", "shell_command", "pay_invoice", "merge_pull_request", "git_commit"),
        *("deploy", "build", "sendemail", "createuser", "\ua4d3elete_user", "pull_or_commit"),
        *("\u00f0elete_user", "d\u0259lete_user"),
        *("sell", "deposit", "tweet", "dm", "message_user", "forward_mail", "mute", "unlock_door", "turn_off"),
        *("change_password", "navigate", "click", "type_text", "download_file", "signup", "decline", "react", "label"),
        *("print_page", "control", "WRITEfile", "PUTobject", "POSTmessage", "SENDmail", "EXECsql"),
    ],
)
def test_a_tool_that_may_act_by_its_name_is_not_presumed_read_only(name):
    assert cautious_class(name) is ToolClass.MUTATING


@pytest.mark.parametrize(
    "name",
    [
        *(
            "get_time",
            "dropdown",
            "settings",
            "address",
            "killer",
            "outputs",
            "",
            "2",
            "l\u00f6schen",
            "stra\u00dfe_get",
        ),
        *(
            "get_commit",
            "list_deployments",
            "get_deleted_items",
            "updater",
            "created_at",
            "executor",
            "payload",
            "runtime",
            *(
                "getHTTPServer",
                "md5sum",
                "base64encode",
                "issue_label",
                "content_type",
                "format_json",
                "text_diff",
                "listURLs",
                "get_message",
            ),
        ),
        *("\u0142\u00f3d\u017a_get", "gr\u00f6\u00dfe", "na\u00efve_search"),
        *("\u043f\u043e\u0438\u0441\u043a", "\u691c\u7d22_get", "search_users", "removable", "postalcode"),
    ],
)
def test_what_only_resembles_a_deed_stays_presumed_read_only(name):
    assert cautious_class(name) is ToolClass.READ_ONLY_PRESUMED


@given(st.text(max_size=30) | st.from_regex(r"[a-z]{2,8}(_[a-z]{2,8}){0,2}", fullmatch=True))
def test_more_words_never_release_a_tool(name):
    assert SEVERITY.index(cautious_class(name)) >= SEVERITY.index(classify_name(name))


@pytest.mark.parametrize(
    ("name", "annotations", "expected"),
    [
        ("get_x", {"destructiveHint": True, "openWorldHint": "yes"}, ToolClass.DESTRUCTIVE),
        ("get_x", {"destructiveHint": True, "readOnlyHint": True, "openWorldHint": 1}, ToolClass.DESTRUCTIVE),
        ("get_x", {"readOnlyHint": False, "openWorldHint": "yes"}, ToolClass.MUTATING),
        ("get_x", {"idempotentHint": False, "openWorldHint": "yes"}, ToolClass.MUTATING),
        ("get_x", {"readOnlyHint": True, "openWorldHint": "yes"}, ToolClass.READ_ONLY_PRESUMED),
        ("delete_x", {"readOnlyHint": True, "openWorldHint": "yes"}, ToolClass.DESTRUCTIVE),
        ("delete_x", {"destructiveHint": False, "openWorldHint": "yes"}, ToolClass.DESTRUCTIVE),
    ],
)
def test_a_malformed_hint_drops_only_what_would_make_a_tool_safer(name, annotations, expected):
    assert classify({"name": name, "annotations": annotations}) is expected


@pytest.mark.parametrize(
    ("name", "annotations", "expected"),
    [
        ("delete_x", {"readOnlyHint": True}, ToolClass.READ_ONLY),
        ("get_x", {"readOnlyHint": True, "destructiveHint": True}, ToolClass.READ_ONLY),
        ("get_x", {"destructiveHint": True}, ToolClass.DESTRUCTIVE),
        ("get_x", {"idempotentHint": False}, ToolClass.MUTATING),
        ("get_x", {"idempotentHint": True}, ToolClass.READ_ONLY_PRESUMED),
        ("get_x", {"readOnlyHint": False}, ToolClass.MUTATING),
        ("delete_x", {"readOnlyHint": False}, ToolClass.DESTRUCTIVE),
        ("delete_x", {"readOnlyHint": False, "idempotentHint": False}, ToolClass.DESTRUCTIVE),
        ("delete_x", {"readOnlyHint": False, "idempotentHint": False, "destructiveHint": False}, ToolClass.MUTATING),
        ("delete_x", {"idempotentHint": False}, ToolClass.MUTATING),
        ("get_x", {"readOnlyHint": False, "idempotentHint": False}, ToolClass.MUTATING),
        ("delete_x", {"destructiveHint": False}, ToolClass.MUTATING),
        ("get_x", {"destructiveHint": False}, ToolClass.MUTATING),
        ("get_x", {"destructiveHint": False, "readOnlyHint": True}, ToolClass.READ_ONLY),
        ("delete_x", {"destructiveHint": "yes"}, ToolClass.DESTRUCTIVE),
        ("get_x", {"destructiveHint": "yes", "readOnlyHint": True}, ToolClass.READ_ONLY_PRESUMED),
        ("get_x", {"destructiveHint": None, "readOnlyHint": True}, ToolClass.READ_ONLY),
        ("get_x", {"destructiveHint": 1}, ToolClass.READ_ONLY_PRESUMED),
        ("create_x", ["readOnlyHint"], ToolClass.MUTATING),
        ("create_x", None, ToolClass.MUTATING),
        ("create_x", {"title": 5}, ToolClass.MUTATING),
    ],
)
def test_annotations_decide_before_the_name(name, annotations, expected):
    assert classify({"name": name, "annotations": annotations}) is expected


NAMES = st.sampled_from(["get_x", "create_x", "delete_x"]) | st.text(max_size=20)
VALID = st.fixed_dictionaries({}, optional=dict.fromkeys(HINTS, st.booleans()))


@given(st.dictionaries(st.sampled_from(["name", "annotations", "x"]), st.none() | st.integers() | st.text() | VALID))
def test_any_descriptor_has_a_class(tool):
    assert classify(tool) in ToolClass


@given(NAMES, VALID)
def test_a_declared_writer_is_never_taken_for_read_only(name, hints):
    found = classify({"name": name, "annotations": hints})
    if hints.get("readOnlyHint"):
        assert found is ToolClass.READ_ONLY
    elif False in (hints.get("readOnlyHint"), hints.get("destructiveHint")):
        assert SEVERITY.index(found) >= SEVERITY.index(ToolClass.MUTATING)
    if hints.get("destructiveHint") is False:
        assert found is not ToolClass.DESTRUCTIVE


MALFORMED = st.dictionaries(
    st.sampled_from(HINTS), st.booleans() | st.integers() | st.text() | st.lists(st.none()), min_size=1
).filter(lambda hints: not all(isinstance(value, bool) for value in hints.values()))


@given(NAMES, MALFORMED)
def test_malformed_annotations_never_make_a_tool_safer(name, hints):
    found = classify({"name": name, "annotations": hints})
    assert SEVERITY.index(found) >= SEVERITY.index(classify({"name": name}))
    if hints.get("destructiveHint") is True:
        assert found is ToolClass.DESTRUCTIVE


@given(NAMES, st.dictionaries(st.sampled_from(HINTS), st.integers() | st.text() | st.lists(st.none()), min_size=1))
def test_malformed_annotations_change_nothing(name, hints):
    assert classify({"name": name, "annotations": hints}) is classify({"name": name})
