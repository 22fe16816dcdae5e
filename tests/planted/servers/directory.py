"""The people of a company: JSON in texts, a content block for each of a list, nested objects."""

import json

from planted import BOOLEAN, STRING, Refused, Server, as_json, serve, tool

PEOPLE = (
    ("u1", "Zoë Müller", "zoe@example.com", "Head of engineering", "engineering", None, "+49 30 1234", True),
    ("u2", "Tomasz Wójcik", "tomasz@example.com", "Developer", "engineering", "u1", None, True),
    ("u3", "Ines García", "ines@example.com", "Developer", "engineering", "u1", "+34 91 5678", False),
    ("u4", "Bea Lund", "bea@example.com", "Head of sales", "sales", None, "+45 3312", True),
    ("u5", "Carl Lund", "carl@example.com", "Seller", "sales", "u4", "+45 3313", True),
    ("u6", "Tom Baker", "tom@example.com", "Tester", "engineering", "u2", None, True),
)
KEYS = ("id", "name", "email", "title", "team", "manager", "phone", "active")


class Directory(Server):
    name = "directory"
    tools = (
        tool("get_user", "A person, with the manager.", {"id": STRING}, ["id"]),
        tool(
            "find_users",
            "People whose name has a text, in any case; a block each.",
            {"name": STRING, "include_inactive": BOOLEAN},
            ["name"],
        ),
        tool("list_team", "A team with its head and its members.", {"team": STRING}, ["team"]),
        tool("reports_of", "Who works for a person, also indirectly.", {"id": STRING}, ["id"]),
        tool("set_phone", "Change the phone number of a person.", {"id": STRING, "phone": STRING}, ["id", "phone"]),
    )

    def __init__(self):
        self.people = {row[0]: dict(zip(KEYS, row, strict=True)) for row in PEOPLE}

    def find(self, id):
        if id not in self.people:
            raise Refused(f"unknown user: {id}")
        return self.people[id]

    def brief(self, person):
        return {"id": person["id"], "name": person["name"], "email": person["email"]}

    def manager(self, person):
        return self.brief(self.find(person["manager"])) if person["manager"] else None

    def call_get_user(self, id):
        person = self.find(id)
        contact = {"email": person["email"], "phone": person["phone"]}
        work = {"title": person["title"], "team": person["team"], "manager": self.manager(person)}
        return as_json({"id": id, "name": person["name"], "active": person["active"], "contact": contact, "work": work})

    def call_find_users(self, name, include_inactive=False):
        found = [
            one for one in self.people.values() if self.has_name(one, name) and self.is_shown(one, include_inactive)
        ]
        found.sort(key=lambda one: one["name"])
        return {"content": [{"type": "text", "text": json.dumps(self.brief(one), ensure_ascii=False)} for one in found]}

    def has_name(self, person, name):
        return name.casefold() in person["name"].casefold()

    def is_shown(self, person, include_inactive):
        return person["active"] or include_inactive

    def call_list_team(self, team):
        people = [one for one in self.people.values() if one["team"] == team]
        if not people:
            raise Refused(f"unknown team: {team}")
        head = next(one for one in people if one["manager"] is None)
        members = [self.brief(one) for one in people if one is not head]
        return as_json({"team": team, "size": len(people), "head": self.brief(head), "members": members})

    def call_reports_of(self, id):
        self.find(id)
        return as_json({"id": id, "direct": self.direct(id), "indirect": self.indirect(id)})

    def direct(self, id):
        return [one["id"] for one in self.people.values() if one["manager"] == id]

    def indirect(self, id):
        return [lower for one in self.direct(id) for lower in [*self.direct(one), *self.indirect(one)]]

    def call_set_phone(self, id, phone):
        person = self.find(id)
        if not phone.startswith("+"):
            raise Refused("a phone number starts with +")
        before, person["phone"] = person["phone"], phone
        return as_json({"id": id, "before": before, "phone": person["phone"]})


class EncodedTwice(Directory):
    """JSON was encoded by the tool and once more by the framework."""

    def call_get_user(self, id):
        return as_json(super().call_get_user(id)["content"][0]["text"])


class ManagerIsThePerson(Directory):
    """A lookup used the id of the row and not the one that the row refers to."""

    def manager(self, person):
        return self.brief(person) if person["manager"] else None


class InactiveShown(Directory):
    """People who had left were found, since the flag was tested for being there and not for its value."""

    def is_shown(self, person, include_inactive):
        return True


class SizeWithoutHead(Directory):
    """The size was the length of a list in which one person was missing on purpose."""

    def call_list_team(self, team):
        answer = json.loads(super().call_list_team(team)["content"][0]["text"])
        return as_json({**answer, "size": len(answer["members"])})


class OnlyTheFirst(Directory):
    """A handler returned its first content block, and the others were lost."""

    def call_find_users(self, **asked):
        return {"content": super().call_find_users(**asked)["content"][:1]}


class PhoneIsNotSaved(Directory):
    """The new number was written to a copy from the cache."""

    def call_set_phone(self, id, phone):
        before = dict(self.find(id))
        answer = super().call_set_phone(id, phone)
        self.people[id] = before
        return answer


class ContactFlattened(Directory):
    """A nested object was flattened when two models were merged."""

    def call_get_user(self, id):
        person = json.loads(super().call_get_user(id)["content"][0]["text"])
        contact = person.pop("contact")
        return as_json({**person, **contact})


if __name__ == "__main__":
    serve(Directory)
