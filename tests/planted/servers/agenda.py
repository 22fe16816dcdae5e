"""A calendar in one time zone: structured content without an output schema, and a prompt."""

from datetime import UTC, date, datetime, timedelta, timezone

from planted import BOOLEAN, INTEGER, INVALID_PARAMS, STRING, Refused, RpcError, Server, said, serve, structured, tool

ZONE = timezone(timedelta(hours=2))
EVENTS = (
    ("e1", "Stand-up", "2026-06-15T07:00", 15, ["ana@example.com", "ben@example.com"], "Room 2"),
    ("e2", "Review of the budget", "2026-06-15T11:30", 90, ["ana@example.com", "cleo@example.com"], None),
    ("e3", "Call with Tokyo", "2026-06-15T22:30", 30, ["ben@example.com"], "online"),
    ("e4", "Stand-up", "2026-06-16T07:00", 15, ["ana@example.com", "ben@example.com"], "Room 2"),
    ("e5", "Midsummer", "2026-06-19", None, [], None),
)
"""Start in UTC and minutes; a date without minutes is a whole day."""


class Agenda(Server):
    name = "agenda"
    tools = (
        tool("list_events", "The events of a day, by their start.", {"day": STRING, "attendee": STRING}, ["day"]),
        tool("get_event", "One event.", {"id": STRING}, ["id"]),
        tool(
            "create_event", "Make an event.", {"title": STRING, "start": STRING, "minutes": INTEGER}, ["title", "start"]
        ),
        tool(
            "free_time", "Whether nothing is on between two times.", {"start": STRING, "end": STRING}, ["start", "end"]
        ),
        tool(
            "move_event",
            "Move an event by minutes.",
            {"id": STRING, "minutes": INTEGER, "notify": BOOLEAN},
            ["id", "minutes"],
        ),
    )
    prompts = (
        {
            "name": "prepare_meeting",
            "description": "Get ready for an event.",
            "arguments": [{"name": "id", "required": True}, {"name": "language"}],
        },
    )

    def __init__(self):
        self.events = {}
        for id, title, start, minutes, attendees, place in EVENTS:
            moment = None if minutes is None else datetime.fromisoformat(start).replace(tzinfo=UTC)
            day = date.fromisoformat(start) if minutes is None else None
            self.events[id] = {"id": id, "title": title, "start": moment, "day": day, "minutes": minutes} | {
                "attendees": list(attendees),
                "place": place,
            }

    def find(self, id):
        if id not in self.events:
            raise Refused(f"no event has the id {id}")
        return self.events[id]

    def time_of(self, text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise Refused(f"not a time: {text}") from None
        return moment if moment.tzinfo else moment.replace(tzinfo=ZONE)

    def local(self, moment):
        return moment.astimezone(ZONE).isoformat()

    def end(self, event):
        return event["start"] + timedelta(minutes=event["minutes"])

    def shown(self, event):
        if event["day"]:
            when = {"all_day": True, "start": self.day_of(event).isoformat(), "end": None}
        else:
            when = {"all_day": False, "start": self.local(event["start"]), "end": self.local(self.end(event))}
        people = {"attendees": event["attendees"], "place": event["place"]}
        return {"id": event["id"], "title": event["title"], **when, **people}

    def day_of(self, event):
        return event["day"] or event["start"].astimezone(ZONE).date()

    def call_list_events(self, day, attendee=None):
        found = [
            one for one in self.events.values() if self.day_of(one).isoformat() == day and self.is_of(one, attendee)
        ]
        found.sort(key=lambda one: (one["start"] is not None, one["start"] or day))
        return structured({"day": day, "count": len(found), "events": [self.shown(one) for one in found]})

    def is_of(self, event, attendee):
        return attendee is None or attendee in event["attendees"]

    def call_get_event(self, id):
        return structured(self.shown(self.find(id)))

    def call_create_event(self, title, start, minutes=60):
        id = f"e{len(self.events) + 1}"
        made = {"id": id, "title": title, "start": self.time_of(start), "day": None, "minutes": minutes}
        self.events[id] = {**made, "attendees": [], "place": None}
        return structured({"created": self.shown(self.events[id])})

    def call_free_time(self, start, end):
        first, last = self.time_of(start), self.time_of(end)
        busy = [one["id"] for one in self.events.values() if one["start"] and self.overlaps(one, first, last)]
        return structured({"free": not busy, "conflicts": busy})

    def overlaps(self, event, first, last):
        return event["start"] < last and first < self.end(event)

    def call_move_event(self, id, minutes, notify=True):
        event = self.find(id)
        if event["day"]:
            raise Refused("an event of a whole day cannot be moved by minutes")
        event["start"] += timedelta(minutes=minutes)
        return structured({"event": self.shown(event), "notified": self.notified(event, notify)})

    def notified(self, event, notify):
        return event["attendees"] if notify else []

    def prompt(self, name, id="", language="English"):
        if name != "prepare_meeting" or id not in self.events:
            raise RpcError(INVALID_PARAMS, f"no prompt {name} for the event {id or '(none)'}")
        event = self.events[id]
        return [
            said("user", f'Prepare me for "{event["title"]}" on {self.day_of(event)}. Answer in {language}.'),
            said("assistant", f"{len(event['attendees'])} people take part. What is it about?"),
        ]


class UtcLabelledAsLocal(Agenda):
    """Times came in UTC and were given the offset of the calendar without being moved."""

    def local(self, moment):
        return moment.replace(tzinfo=ZONE).isoformat()


class WholeDayADayEarly(Agenda):
    """A date was taken for midnight in UTC and moved to a zone in the west, which is the day before."""

    def day_of(self, event):
        return event["day"] - timedelta(days=1) if event["day"] else super().day_of(event)


class TouchingIsConflict(Agenda):
    """A meeting that ends as another begins was told to be in conflict with it."""

    def overlaps(self, event, first, last):
        return event["start"] <= last and first <= self.end(event)


class MoveIsNotSaved(Agenda):
    """A copy was changed and shown, and the event stayed where it was."""

    def find(self, id):
        return dict(super().find(id))


class LanguageIgnored(Agenda):
    """An optional argument of a prompt was listed and never used."""

    def prompt(self, name, id="", language="English"):
        return super().prompt(name, id)


class NullsLeftOut(Agenda):
    """A serializer was told to leave out what is null, and clients missed the keys."""

    def shown(self, event):
        return {key: value for key, value in super().shown(event).items() if value is not None}


class StartAsSeconds(Agenda):
    """Times became numbers when a library was replaced."""

    def local(self, moment):
        return int(moment.timestamp())


if __name__ == "__main__":
    serve(Agenda)
