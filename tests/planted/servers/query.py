"""Tables that are asked with filters, an order and a limit: rows as structured content with an output schema, and as CSV."""

import json

from planted import BOOLEAN, INTEGER, STRING, Refused, Server, as_json, listed, members, serve, structured, text, tool

TABLES = {
    "customers": (
        ("id", "name", "city", "joined"),
        [
            (1, "Ada, Ltd.", "Paris", "2021-05-01"),
            (2, "Birch", "Rome", "2022-11-30"),
            (3, "Cedar", "paris", None),
            (10, "Dune", "Rome", "2020-01-15"),
        ],
    ),
    "orders": (
        ("id", "customer", "amount", "open"),
        [
            (100, 1, 250.5, True),
            (101, 2, 80.0, False),
            (102, 1, 19.99, False),
            (103, 10, 1200.0, True),
            (104, 2, -35.0, False),
        ],
    ),
}
TYPES = {"id": "integer", "customer": "integer", "amount": "real", "open": "boolean", "joined": "date"}
VALUE = {"type": ["string", "number", "boolean", "null"]}


class Query(Server):
    name = "query"
    tools = (
        tool(
            "select",
            "Rows of a table.",
            {
                "table": STRING,
                "columns": listed(STRING),
                "where": {"type": "object"},
                "order_by": STRING,
                "descending": BOOLEAN,
                "limit": INTEGER,
            },
            ["table"],
            members(columns=listed(STRING), rows=listed(listed(VALUE)), row_count=INTEGER, truncated=BOOLEAN),
        ),
        tool(
            "aggregate",
            "Sum, count, mean, least and most of a column.",
            {"table": STRING, "column": STRING, "where": {"type": "object"}},
            ["table", "column"],
        ),
        tool("join_orders", "Customers with the number and the sum of their orders.", {}),
        tool("export_csv", "A table as CSV.", {"table": STRING}, ["table"]),
        tool("describe", "The columns of a table.", {"table": STRING}, ["table"]),
    )
    resources = tuple({"uri": f"schema://{name}", "name": name, "mimeType": "application/sql"} for name in TABLES)

    def table(self, name):
        if name not in TABLES:
            raise Refused(f"no such table: {name}")
        return TABLES[name]

    def position(self, columns, column):
        if column not in columns:
            raise Refused(f"no such column: {column}")
        return columns.index(column)

    def filtered(self, columns, rows, where):
        tests = [(self.position(columns, column), value) for column, value in (where or {}).items()]
        return [row for row in rows if all(self.is_equal(row[place], value) for place, value in tests)]

    def is_equal(self, found, wanted):
        return found == wanted

    def ordered(self, rows, place, descending):
        known = sorted((row for row in rows if row[place] is not None), key=lambda row: row[place], reverse=descending)
        return known + [row for row in rows if row[place] is None]

    def call_select(self, table, columns=None, where=None, order_by=None, descending=False, limit=100):
        names, rows = self.table(table)
        rows = self.filtered(names, rows, where)
        if order_by is not None:
            rows = self.ordered(rows, self.position(names, order_by), descending)
        shown = self.columns(names, columns)
        cut = [[row[place] for place in shown] for row in rows[:limit]]
        described = {"columns": [names[place] for place in shown], "rows": cut}
        return structured({**described, "row_count": len(cut), "truncated": len(rows) > len(cut)})

    def columns(self, names, wanted):
        return [self.position(names, one) for one in wanted or names]

    def call_aggregate(self, table, column, where=None):
        names, rows = self.table(table)
        place = self.position(names, column)
        values = [row[place] for row in self.filtered(names, rows, where) if row[place] is not None]
        if any(isinstance(one, str) for one in values):
            raise Refused(f"{column} has no numbers")
        return structured(self.aggregates(values))

    def aggregates(self, values):
        if not values:
            return {"count": 0, "sum": 0, "mean": None, "min": None, "max": None}
        mean = round(sum(values) / len(values), 2)
        return {
            "count": len(values),
            "sum": round(sum(values), 2),
            "mean": mean,
            "min": min(values),
            "max": max(values),
        }

    def call_join_orders(self):
        orders = TABLES["orders"][1]
        found = [(name, [order[2] for order in orders if order[1] == id]) for id, name, _, _ in TABLES["customers"][1]]
        return as_json([{"customer": name, "orders": len(sums), "sum": round(sum(sums), 2)} for name, sums in found])

    def call_export_csv(self, table):
        names, rows = self.table(table)
        return text("".join(",".join(map(self.cell, row)) + "\r\n" for row in [names, *rows]))

    def cell(self, value):
        if value is None:
            return ""
        words = str(value).lower() if isinstance(value, bool) else str(value)
        return f'"{words}"' if "," in words else words

    def type_of(self, column):
        return TYPES.get(column, "text")

    def call_describe(self, table):
        names, rows = self.table(table)
        return as_json({"table": table, "columns": {one: self.type_of(one) for one in names}, "rows": len(rows)})

    def read(self, uri):
        name = uri.removeprefix("schema://")
        if name not in TABLES:
            return super().read(uri)
        columns = ", ".join(f"{one} {self.type_of(one).upper()}" for one in TABLES[name][0])
        return {"uri": uri, "mimeType": "application/sql", "text": f"CREATE TABLE {name} ({columns});"}


class NullRowsDropped(Query):
    """An index without nulls was used for the order, and rows without a value vanished."""

    def ordered(self, rows, place, descending):
        return [row for row in super().ordered(rows, place, descending) if row[place] is not None]


class CustomersWithoutOrdersGone(Query):
    """An inner join took the place of an outer one."""

    def call_join_orders(self):
        rows = json.loads(super().call_join_orders()["content"][0]["text"])
        return as_json([one for one in rows if one["orders"]])


class DecimalComma(Query):
    """Numbers were exported in the language of the server's system."""

    def cell(self, value):
        return str(value).replace(".", ",") if isinstance(value, float) else super().cell(value)


class OrderedAsText(Query):
    """A column was compared as text, so that 10 came before 2."""

    def ordered(self, rows, place, descending):
        return sorted(rows, key=lambda row: str(row[place]), reverse=descending)


class RowCountOfAll(Query):
    """The count was that of the whole result, and the rows were cut at the limit."""

    def call_select(self, limit=100, **asked):
        count = super().call_select(**asked)["structuredContent"]["row_count"]
        return structured({**super().call_select(limit=limit, **asked)["structuredContent"], "row_count": count})


class AmountsAsText(Query):
    """A driver gave decimals as texts, since JSON has none."""

    def call_select(self, **asked):
        found = super().call_select(**asked)["structuredContent"]
        rows = [[str(one) if isinstance(one, float) else one for one in row] for row in found["rows"]]
        return structured({**found, "rows": rows})


class NullBreaksExport(Query):
    """An export failed at the first row without a value."""

    def cell(self, value):
        if value is None:
            raise Refused("'NoneType' object has no attribute 'strip'")
        return super().cell(value)


if __name__ == "__main__":
    serve(Query)
