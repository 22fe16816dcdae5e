"""Notes with ids: they are made, changed and deleted; each is a resource, and two prompts are about them."""

from planted import INVALID_PARAMS, STRING, Refused, RpcError, Server, listed, said, serve, structured, tool

NOTES = (
    ("n1", "Groceries", "Milk, eggs, crème fraîche", ["home"]),
    ("n2", "Talk", "# Outline\n\n1. Why\n2. How\n3. What it costs: 30 €\n", ["work", "draft"]),
    ("n3", "Ideas", "A kite that takes photographs", []),
)


class Notes(Server):
    name = "notes"
    tools = (
        tool("create_note", "Make a note.", {"title": STRING, "body": STRING, "tags": listed(STRING)}, ["title"]),
        tool("get_note", "One note.", {"id": STRING}, ["id"]),
        tool(
            "update_note",
            "Change what is given, leave the rest.",
            {"id": STRING, "title": STRING, "body": STRING},
            ["id"],
        ),
        tool("delete_note", "Delete a note.", {"id": STRING}, ["id"]),
        tool("list_notes", "Ids and titles, of all notes or of those with a tag.", {"tag": STRING}),
        tool("delete_notes", "Delete several notes.", {"ids": listed(STRING)}, ["ids"]),
    )
    templates = ({"uriTemplate": "note://{id}", "name": "note", "mimeType": "text/markdown"},)
    prompts = (
        {
            "name": "summarize_note",
            "description": "Sum a note up.",
            "arguments": [{"name": "id", "required": True}, {"name": "style"}],
        },
        {
            "name": "find_connections",
            "description": "What two notes share.",
            "arguments": [{"name": "first", "required": True}, {"name": "second", "required": True}],
        },
    )

    def __init__(self):
        self.notes = {
            id: {"id": id, "title": title, "body": body, "tags": tags, "version": 1} for id, title, body, tags in NOTES
        }
        self.last = len(NOTES)

    @property
    def resources(self):
        return [
            {"uri": f"note://{id}", "name": one["title"], "mimeType": "text/markdown"} for id, one in self.notes.items()
        ]

    def find(self, id):
        if id not in self.notes:
            raise Refused(f"note {id} not found")
        return self.notes[id]

    def shown(self, note):
        return {**note, "characters": len(note["body"])}

    def new_id(self):
        self.last += 1
        return f"n{self.last}"

    def call_create_note(self, title, body="", tags=()):
        if not title.strip():
            raise Refused("title must not be empty")
        id = self.new_id()
        self.notes[id] = {"id": id, "title": title, "body": body, "tags": list(tags), "version": 1}
        return structured(self.shown(self.notes[id]))

    def call_get_note(self, id):
        return structured(self.shown(self.find(id)))

    def call_update_note(self, id, **changes):
        note = self.find(id)
        self.change(note, changes)
        return structured(self.shown(note))

    def change(self, note, changes):
        note.update(changes)
        note["version"] += 1

    def call_delete_note(self, id):
        self.remove(self.find(id))
        return structured({"deleted": id, "left": len(self.notes)})

    def remove(self, note):
        del self.notes[note["id"]]

    def call_delete_notes(self, ids):
        known = [id for id in ids if id in self.notes]
        for id in known:
            self.remove(self.notes[id])
        return structured(self.deletion(known, [id for id in ids if id not in known]))

    def deletion(self, deleted, missing):
        return {"deleted": deleted, "not_found": missing}

    def call_list_notes(self, tag=None):
        found = [one for one in self.notes.values() if tag is None or tag in one["tags"]]
        return structured({"notes": [{"id": one["id"], "title": one["title"]} for one in found], "count": len(found)})

    def read(self, uri):
        id = uri.removeprefix("note://")
        if id not in self.notes:
            return super().read(uri)
        return {"uri": uri, "mimeType": "text/markdown", "text": self.notes[id]["body"]}

    def prompt(self, name, **arguments):
        used = [arguments.get(key) for key in (("id",) if name == "summarize_note" else ("first", "second"))]
        missing = [one for one in used if one not in self.notes]
        if name not in [one["name"] for one in self.prompts] or missing:
            raise RpcError(INVALID_PARAMS, f"cannot make the prompt {name}: no note {missing}")
        notes = [self.notes[one] for one in used]
        return self.summary(notes[0], arguments.get("style", "short")) if len(notes) == 1 else self.connections(*notes)

    def summary(self, note, style):
        return [said("user", f'Sum up the note "{note["title"]}" in a {style} style.\n\n{note["body"]}')]

    def connections(self, first, second):
        return [
            said("user", f"First: {first['body']}"),
            said("user", f"Second: {second['body']}"),
            said("assistant", "They share"),
        ]


class IdsUsedAgain(Notes):
    """The next id was the number of notes plus one, and after a deletion it overwrote a note."""

    def new_id(self):
        return f"n{len(self.notes) + 1}"


class UpdateClearsTheRest(Notes):
    """A change of one field was sent as a whole record, and the others became empty."""

    def change(self, note, changes):
        super().change(note, {"title": "", "body": "", **changes})


class DeletedStays(Notes):
    """A deletion only set a flag that nothing looked at."""

    def remove(self, note):
        note["deleted"] = True

    def shown(self, note):
        return super().shown({key: value for key, value in note.items() if key != "deleted"})


class SummaryByAssistant(Notes):
    """A prompt's only message had the role of the assistant, and models went on with it instead of answering."""

    def summary(self, note, style):
        return [{**one, "role": "assistant"} for one in super().summary(note, style)]


class StyleNotInserted(Notes):
    """A template was not formatted, and its placeholder reached the model."""

    def summary(self, note, style):
        return super().summary(note, "{style}")


class NotFoundHidden(Notes):
    """A deletion of several counted what it was asked for, also what did not exist."""

    def deletion(self, deleted, missing):
        return super().deletion(deleted + missing, [])


class VersionStays(Notes):
    """The version was counted by another way of saving, so that changes by the tool were not noticed."""

    def change(self, note, changes):
        note.update(changes)


class TagsRequired(Notes):
    """An optional argument was read without a default, and calls without it failed."""

    def call_create_note(self, title, body="", tags=None):
        if tags is None:
            raise Refused("'tags'")
        return super().call_create_note(title, body, tags)


if __name__ == "__main__":
    serve(Notes)
