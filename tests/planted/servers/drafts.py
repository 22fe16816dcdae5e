"""E-mail drafts: texts as they are sent, JSON in texts, a prompt with roles, an attachment as a resource."""

import base64
import time

from planted import INVALID_PARAMS, STRING, Refused, RpcError, Server, as_json, listed, said, serve, text, tool

DRAFTS = (
    (
        "d1",
        ["lena@example.com"],
        [],
        "Angebot für März",
        "Liebe Lena,\n\nanbei das Angebot über 1.200 €.\n\nGrüße\nPaul",
        "2026-02-20T09:15:00Z",
    ),
    ("d2", ["team@example.com"], ["boss@example.com"], "Lunch", "Who joins?\n", "2026-02-22T11:00:00Z"),
    ("d3", ["kim@example.com", "lou@example.com"], [], "Minutes of Monday", "See the file.\n", "2026-02-21T16:40:00Z"),
)
ATTACHMENT = b"%PDF-1.4 minutes of monday"
SIGNATURE = "-- \nPaul Ek"


class Drafts(Server):
    name = "drafts"
    tools = (
        tool("list_drafts", "Drafts, the one that was changed last first.", {"to": STRING}),
        tool("render_draft", "A draft as it will be sent.", {"id": STRING}, ["id"]),
        tool(
            "create_draft",
            "Write a draft.",
            {"to": listed(STRING), "subject": STRING, "body": STRING, "cc": listed(STRING)},
            ["to", "subject"],
        ),
        tool("reply", "A draft that answers another one.", {"id": STRING, "body": STRING}, ["id", "body"]),
        tool("send_draft", "Send a draft, which is gone then.", {"id": STRING}, ["id"]),
        tool("count_words", "How many words a draft has.", {"id": STRING}, ["id"]),
    )
    resources = ({"uri": "draft://d3/minutes.pdf", "name": "minutes.pdf", "mimeType": "application/pdf"},)
    prompts = (
        {
            "name": "improve",
            "description": "Make a draft better.",
            "arguments": [{"name": "id", "required": True}, {"name": "tone", "required": True}],
        },
    )

    def __init__(self):
        keys = ("id", "to", "cc", "subject", "body", "changed")
        self.drafts = {row[0]: dict(zip(keys, row, strict=True)) for row in DRAFTS}
        self.last = len(DRAFTS)

    def find(self, id):
        if id not in self.drafts:
            raise Refused(f"no draft {id}")
        return self.drafts[id]

    def newest_first(self, drafts):
        return sorted(drafts, key=lambda one: one["changed"], reverse=True)

    def call_list_drafts(self, to=None):
        found = [one for one in self.drafts.values() if to is None or to in self.recipients(one)]
        rows = [{key: one[key] for key in ("id", "subject", "to", "changed")} for one in self.newest_first(found)]
        return as_json({"count": len(rows), "drafts": rows})

    def recipients(self, draft):
        return draft["to"] + draft["cc"]

    def headers(self, draft):
        copies = [f"Cc: {', '.join(draft['cc'])}"] if draft["cc"] else []
        return [f"To: {', '.join(draft['to'])}", *copies, f"Subject: {draft['subject']}"]

    def body(self, draft):
        return draft["body"].rstrip("\n")

    def call_render_draft(self, id):
        draft = self.find(id)
        return text("\n".join([*self.headers(draft), "", self.body(draft), SIGNATURE]))

    def call_create_draft(self, to, subject, body="", cc=()):
        wrong = [one for one in [*to, *cc] if "@" not in one]
        if wrong or not to:
            raise Refused(f"not an address: {', '.join(wrong)}" if wrong else "no recipient")
        return as_json(self.made(to, cc, subject, body))

    def made(self, to, cc, subject, body):
        self.last += 1
        id, changed = f"d{self.last}", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.drafts[id] = {"id": id, "to": [*to], "cc": [*cc], "subject": subject, "body": body, "changed": changed}
        return self.drafts[id]

    def call_reply(self, id, body):
        draft = self.find(id)
        return as_json(
            self.made(draft["to"], draft["cc"], self.reply_subject(draft["subject"]), body + self.quoted(draft))
        )

    def reply_subject(self, subject):
        return subject if subject.startswith("Re: ") else f"Re: {subject}"

    def quoted(self, draft):
        return "\n\n" + "\n".join(f"> {line}" for line in self.body(draft).split("\n"))

    def call_send_draft(self, id):
        draft = self.find(id)
        del self.drafts[id]
        return text(f"sent to {self.people(draft)}")

    def people(self, draft):
        count = len(self.recipients(draft))
        return "1 person" if count == 1 else f"{count} people"

    def call_count_words(self, id):
        return text(str(len(self.find(id)["body"].split())))

    def read(self, uri):
        if uri != "draft://d3/minutes.pdf":
            return super().read(uri)
        return {"uri": uri, "mimeType": "application/pdf", "blob": base64.b64encode(ATTACHMENT).decode()}

    def prompt(self, name, id="", tone=""):
        if name != "improve" or id not in self.drafts or not tone:
            raise RpcError(INVALID_PARAMS, "improve needs the id of a draft and a tone")
        return [said("assistant", f"I rewrite e-mails in a {tone} tone."), said("user", self.body(self.drafts[id]))]


class CopiesNotShown(Drafts):
    """Those who get a copy were not shown before sending."""

    def headers(self, draft):
        return super().headers({**draft, "cc": []})


class LettersBroken(Drafts):
    """Subjects were decoded as Latin-1."""

    def headers(self, draft):
        return super().headers({**draft, "subject": draft["subject"].encode().decode("latin-1")})


class CopiesNotCounted(Drafts):
    """The number of people left out those in copy."""

    def people(self, draft):
        return super().people({**draft, "cc": []})


class SentStays(Drafts):
    """A mail that was sent stayed among the drafts, and agents sent it again."""

    def call_send_draft(self, id):
        draft = self.find(id)
        answer = super().call_send_draft(id)
        self.drafts[id] = draft
        return answer


class RolesSwapped(Drafts):
    """The roles of two messages of a prompt were the wrong way round."""

    def prompt(self, name, **arguments):
        first, second = super().prompt(name, **arguments)
        return [{**first, "role": second["role"]}, {**second, "role": first["role"]}]


class LineBreaksLost(Drafts):
    """Texts went through HTML, where line breaks are blanks."""

    def body(self, draft):
        return " ".join(draft["body"].split())


class TimesWithoutZone(Drafts):
    """Times were written without their Z and read as local time."""

    def newest_first(self, drafts):
        return [{**one, "changed": one["changed"].removesuffix("Z")} for one in super().newest_first(drafts)]


class NumberInASentence(Drafts):
    """A bare number was made a sentence for people, and programs no longer understood it."""

    def call_count_words(self, id):
        return text(f"The draft has {super().call_count_words(id)['content'][0]['text']} words.")


if __name__ == "__main__":
    serve(Drafts)
