"""A search with pages: a cursor leads from one to the next. Structured content without an output schema."""

import re
import time

from planted import INTEGER, STRING, Refused, Server, serve, structured, tool

ARTICLES = (
    (1, "Growing tomatoes on a balcony", "garden", 4.6, "2025-04-01"),
    (2, "Ten soups for winter", "kitchen", 3.9, "2025-01-14"),
    (3, "Tomato soup, slowly", "kitchen", 4.8, "2025-08-20"),
    (4, "Pruning roses", "garden", 4.1, "2025-02-11"),
    (5, "What to do with green tomatoes", "kitchen", 4.2, "2025-09-30"),
    (6, "A pond for frogs", "garden", 4.9, "2025-05-05"),
    (7, "Bread without kneading", "kitchen", 4.8, "2025-03-17"),
    (8, "Tomatoes and their diseases", "garden", 3.2, "2025-06-21"),
    (9, "The C++ of cooking", "kitchen", 2.5, "2025-10-02"),
)


class Articles(Server):
    name = "articles"
    tools = (
        tool(
            "search",
            "Articles whose title has a text, the best rated first.",
            {"query": STRING, "topic": STRING, "limit": INTEGER, "cursor": STRING},
            ["query"],
        ),
        tool("get_article", "One article.", {"id": INTEGER}, ["id"]),
        tool(
            "get_articles",
            "Several articles, and the ids that there are none of.",
            {"ids": {"type": "array", "items": INTEGER}},
            ["ids"],
        ),
        tool("topics", "The topics, with the number of articles and their mean rating.", {}),
        tool("latest", "The newest articles.", {"count": INTEGER}),
    )

    def shown(self, row):
        return dict(zip(("id", "title", "topic", "rating", "published"), row, strict=True))

    def matches(self, row, query, topic):
        return query.lower() in row[1].lower() and topic in (None, row[2])

    def ranked(self, rows):
        return sorted(rows, key=lambda row: (-row[3], row[0]))

    def offset(self, cursor):
        if cursor is None:
            return 0
        if not cursor.startswith("after-") or not cursor[6:].isdigit():
            raise Refused(f"bad cursor: {cursor}")
        return int(cursor[6:])

    def page(self, found, offset, limit):
        return found[offset : offset + limit]

    def next_cursor(self, found, offset, limit):
        return {"next_cursor": f"after-{offset + limit}"} if offset + limit < len(found) else {}

    def call_search(self, query, topic=None, limit=2, cursor=None):
        begun = time.perf_counter()
        if not 1 <= limit <= 50:
            raise Refused("limit must be between 1 and 50")
        found = self.ranked(row for row in ARTICLES if self.matches(row, query, topic))
        offset = self.offset(cursor)
        shown = [self.shown(row) for row in self.page(found, offset, limit)]
        took = round((time.perf_counter() - begun) * 1000, 3)
        return structured(
            {"results": shown, "total": len(found), "took_ms": took, **self.next_cursor(found, offset, limit)}
        )

    def find(self, id):
        return next((row for row in ARTICLES if row[0] == id), None)

    def call_get_article(self, id):
        row = self.find(id)
        if row is None:
            raise Refused(f"no article has the id {id}")
        return structured(self.shown(row))

    def call_get_articles(self, ids):
        found = {id: self.find(id) for id in ids}
        return structured(
            {
                "articles": [self.shown(row) for row in found.values() if row],
                "missing": [id for id, row in found.items() if row is None],
            }
        )

    def call_topics(self):
        return structured({"topics": [self.topic(name) for name in ("garden", "kitchen")]})

    def topic(self, name):
        ratings = [row[3] for row in ARTICLES if row[2] == name]
        return {"name": name, "articles": len(ratings), "mean_rating": round(sum(ratings) / len(ratings), 2)}

    def call_latest(self, count=3):
        rows = sorted(ARTICLES, key=lambda row: row[4], reverse=True)
        return structured({"articles": [self.shown(row) for row in rows[:count]]})


class PageRepeatsARow(Articles):
    """The cursor was the last row seen, and the next page began with that row again."""

    def page(self, found, offset, limit):
        return found[max(offset - 1, 0) : offset + limit]


class CursorWithoutEnd(Articles):
    """A cursor came with the last page too, and clients went on for ever."""

    def next_cursor(self, found, offset, limit):
        return {"next_cursor": f"after-{offset + limit}"}


class QueryAsPattern(Articles):
    """What people typed was used as a regular expression, in which signs such as + mean something else."""

    def matches(self, row, query, topic):
        return topic in (None, row[2]) and re.search(query, row[1], re.IGNORECASE)


class MissingIdsHidden(Articles):
    """What could not be loaded was left out without a word."""

    def call_get_articles(self, ids):
        return super().call_get_articles([id for id in ids if self.find(id)])


class RatingOrderLost(Articles):
    """The order of a search was lost when results were collected in a set and sorted by id."""

    def ranked(self, rows):
        return sorted(rows)


class CountIgnored(Articles):
    """An optional number was read under another name, so that its default was always used."""

    def call_latest(self, count=3):
        return super().call_latest()


class RatingsAsText(Articles):
    """A database gave decimals as texts, and they were passed on."""

    def shown(self, row):
        return {**super().shown(row), "rating": str(row[3])}


class TopicsAsObject(Articles):
    """A list became an object with names as keys."""

    def call_topics(self):
        return structured(
            {"topics": {one["name"]: one for one in super().call_topics()["structuredContent"]["topics"]}}
        )


if __name__ == "__main__":
    serve(Articles)
