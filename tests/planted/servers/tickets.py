"""A ticket tracker that answers with JSON in a text."""

import json

from planted import INTEGER, STRING, Refused, Server, as_json, serve, tool

TICKETS = (
    ("T-101", "Login page stays blank", "open", "high", "maria", "2026-03-02", ["web", "login"]),
    ("T-102", "Export drops the last row", "open", "low", None, "2026-03-03", ["export"]),
    ("T-103", "Typo on the invoice", "closed", "low", "jonas", "2026-03-05", []),
    ("T-104", "Search is slow", "open", "medium", "maria", "2026-03-09", ["search", "web"]),
    ("T-105", "Password mail never arrives", "closed", "high", "amina", "2026-03-11", ["login", "mail"]),
    ("T-106", "Dark mode flickers", "open", "low", "jonas", "2026-03-12", ["web"]),
    ("T-107", "Import of dates fails", "open", "high", "amina", "2026-03-20", ["import"]),
)
FIELDS = ("id", "title", "status", "priority", "assignee", "created", "tags")


class Tickets(Server):
    name = "tickets"
    tools = (
        tool("list_tickets", "Tickets, a page at a time.", {"status": STRING, "page": INTEGER, "per_page": INTEGER}),
        tool("get_ticket", "One ticket.", {"id": STRING}, ["id"]),
        tool("search_tickets", "Tickets whose title has this text, in any case.", {"query": STRING}, ["query"]),
        tool("close_ticket", "Close a ticket.", {"id": STRING}, ["id"]),
        tool("ticket_stats", "How many tickets there are, by status and by person.", {}),
    )

    def __init__(self):
        self.tickets = {row[0]: dict(zip(FIELDS, row, strict=True)) for row in TICKETS}

    def find(self, id):
        if id not in self.tickets:
            raise Refused(f"there is no ticket {id}")
        return self.tickets[id]

    def brief(self, ticket):
        return {key: ticket[key] for key in ("id", "title", "status", "priority")}

    def with_status(self, status):
        return [one for one in self.tickets.values() if status in (None, one["status"])]

    def page_of(self, found, page, per_page):
        return found[(page - 1) * per_page : page * per_page]

    def call_list_tickets(self, status=None, page=1, per_page=3):
        if page < 1 or per_page < 1:
            raise Refused("page and per_page start at 1")
        found = self.with_status(status)
        shown = [self.brief(one) for one in self.page_of(found, page, per_page)]
        more = page * per_page < len(found)
        return as_json({"tickets": shown, "page": page, "total": len(found), "has_more": more})

    def call_get_ticket(self, id):
        return as_json(self.find(id))

    def call_search_tickets(self, query):
        found = [one for one in self.tickets.values() if self.matches(one, query)]
        return as_json([self.brief(one) for one in found])

    def matches(self, ticket, query):
        return query.lower() in ticket["title"].lower()

    def call_close_ticket(self, id):
        ticket = self.find(id)
        if ticket["status"] == "closed":
            raise Refused(f"{id} is closed already")
        ticket["status"] = "closed"
        return as_json({"id": id, "status": ticket["status"]})

    def call_ticket_stats(self):
        people = [one["assignee"] for one in self.tickets.values() if one["status"] == "open"]
        open_by_person = {name or "nobody": people.count(name) for name in people}
        return as_json(
            {"open": len(people), "closed": len(self.tickets) - len(people), "open_by_person": open_by_person}
        )


class PagesStartAtZero(Tickets):
    """The API beneath counted pages from 0 and the tool from 1, so the first page was never seen."""

    def page_of(self, found, page, per_page):
        return found[page * per_page : (page + 1) * per_page]


class TotalOfThePage(Tickets):
    """The total was the number of rows on the page, so that nobody asked for a second page."""

    def call_list_tickets(self, **asked):
        answer = json.loads(super().call_list_tickets(**asked)["content"][0]["text"])
        return as_json({**answer, "total": len(answer["tickets"])})


class CacheWithoutKey(Tickets):
    """A cache had the name of the tool as its key and not the id, so the first ticket was the answer for all."""

    cached = None

    def find(self, id):
        self.cached = self.cached or super().find(id)
        return self.cached


class SearchMindsCase(Tickets):
    """A search found nothing for a word in capitals, after the database behind it was changed."""

    def matches(self, ticket, query):
        return query in ticket["title"]


class ClosingIsNotSaved(Tickets):
    """The answer to a change was made of the arguments, while the change itself was lost."""

    def call_close_ticket(self, id):
        before = self.find(id)["status"]
        answer = super().call_close_ticket(id)
        self.find(id)["status"] = before
        return answer


class UnknownTicketIsNull(Tickets):
    """A 404 of the API was caught and became an empty success."""

    def call_get_ticket(self, id):
        return as_json(self.tickets.get(id))


class AssigneeRenamed(Tickets):
    """The API renamed a field in a new version, and the tool passed on what came."""

    def find(self, id):
        return {{"assignee": "assigned_to"}.get(key, key): value for key, value in super().find(id).items()}


if __name__ == "__main__":
    serve(Tickets)
