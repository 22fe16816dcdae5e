"""A stock in two warehouses that calls change: structured content with an output schema."""

from planted import INTEGER, STRING, Refused, Server, listed, members, serve, structured, tool

STOCK = {
    "bolt-m4": {"name": "Bolt M4", "north": 120, "south": 30, "reserved": 20, "low": 50},
    "nut-m4": {"name": "Nut M4", "north": 0, "south": 8, "reserved": 0, "low": 10},
    "washer": {"name": "Washer 5 mm", "north": 10, "south": 0, "reserved": 0, "low": 10},
    "hinge": {"name": "Hinge", "north": 3, "south": 1, "reserved": 4, "low": 2},
}
HOUSES = ("north", "south")
STATE = members(
    sku=STRING,
    name=STRING,
    on_hand=members(north=INTEGER, south=INTEGER),
    total=INTEGER,
    reserved=INTEGER,
    available=INTEGER,
)


class Inventory(Server):
    name = "inventory"
    tools = (
        tool("stock", "What there is of an article.", {"sku": STRING}, ["sku"], STATE),
        tool(
            "receive",
            "Put pieces into a warehouse, north if not said otherwise.",
            {"sku": STRING, "count": INTEGER, "warehouse": STRING},
            ["sku", "count"],
            STATE,
        ),
        tool("reserve", "Set pieces aside.", {"sku": STRING, "count": INTEGER}, ["sku", "count"], STATE),
        tool(
            "transfer",
            "Bring pieces from one warehouse to the other.",
            {"sku": STRING, "count": INTEGER, "source": STRING, "target": STRING},
            ["sku", "count", "source", "target"],
            STATE,
        ),
        tool(
            "low_stock",
            "Articles of which fewer are available than wanted, the scarcest first.",
            {},
            (),
            members(articles=listed(members(sku=STRING, available=INTEGER, wanted=INTEGER))),
        ),
        tool(
            "receive_many",
            "Put pieces of several articles into the warehouse in the north.",
            {"items": listed(members(sku=STRING, count=INTEGER))},
            ["items"],
            members(received=INTEGER, failed=listed(members(sku=STRING, reason=STRING))),
        ),
    )

    def __init__(self):
        self.stock = {sku: dict(one) for sku, one in STOCK.items()}

    def find(self, sku):
        if sku not in self.stock:
            raise Refused(f"unknown article: {sku}")
        return self.stock[sku]

    def house(self, name):
        if name not in HOUSES:
            raise Refused(f"unknown warehouse: {name}")
        return name

    def total(self, one):
        return one["north"] + one["south"]

    def available(self, one):
        return self.total(one) - one["reserved"]

    def state(self, sku):
        one = self.find(sku)
        on_hand = {house: one[house] for house in HOUSES}
        counts = {"total": self.total(one), "reserved": one["reserved"], "available": self.available(one)}
        return {"sku": sku, "name": one["name"], "on_hand": on_hand, **counts}

    def positive(self, count):
        if count < 1:
            raise Refused("count must be at least 1")
        return count

    def call_stock(self, sku):
        return structured(self.state(sku))

    def call_receive(self, sku, count, warehouse="north"):
        self.find(sku)[self.house(warehouse)] += self.positive(count)
        return structured(self.state(sku))

    def call_reserve(self, sku, count):
        one = self.find(sku)
        if self.positive(count) > self.available(one):
            raise Refused(f"only {self.available(one)} of {sku} are available")
        one["reserved"] += count
        return structured(self.state(sku))

    def call_transfer(self, sku, count, source, target):
        one = self.find(sku)
        if self.positive(count) > one[self.house(source)]:
            raise Refused(f"only {one[source]} of {sku} in {source}")
        self.move(one, count, source, self.house(target))
        return structured(self.state(sku))

    def move(self, one, count, source, target):
        one[source] -= count
        one[target] += count

    def is_low(self, one):
        return self.available(one) < one["low"]

    def call_low_stock(self):
        found = [(self.available(one), sku, one["low"]) for sku, one in self.stock.items() if self.is_low(one)]
        rows = [
            {"sku": sku, "available": available, "wanted": low} for available, sku, low in self.scarcest_first(found)
        ]
        return structured({"articles": rows})

    def scarcest_first(self, found):
        return sorted(found)

    def call_receive_many(self, items):
        received, failed = 0, []
        for one in items:
            try:
                self.call_receive(**one)
                received += one["count"]
            except Refused as refused:
                failed.append({"sku": one["sku"], "reason": str(refused)})
        return structured(self.received(received, failed))

    def received(self, count, failed):
        return {"received": count, "failed": failed}


class ReservedIsAvailable(Inventory):
    """What was set aside was still offered to others."""

    def available(self, one):
        return self.total(one)


class TransferOnlyAdds(Inventory):
    """One of two writes failed silently, and pieces were there twice."""

    def move(self, one, count, source, target):
        one[target] += count


class EqualIsLow(Inventory):
    """An article was ordered again although there was just enough of it."""

    def is_low(self, one):
        return self.available(one) <= one["low"]


class FailuresHidden(Inventory):
    """A batch that worked in part was reported as if all of it had."""

    def received(self, count, failed):
        return super().received(count, [])


class TotalIsStale(Inventory):
    """A sum was stored when the server started, and no change reached it."""

    def __init__(self):
        super().__init__()
        self.totals = {sku: super(TotalIsStale, self).total(one) for sku, one in self.stock.items()}

    def total(self, one):
        return next(self.totals[sku] for sku, other in self.stock.items() if other is one)


class NullForZero(Inventory):
    """A zero was taken for nothing and became null."""

    def state(self, sku):
        found = super().state(sku)
        return {**found, "reserved": found["reserved"] or None}


class ListAlone(Inventory):
    """The structured content was a list, which the protocol does not allow."""

    def call_low_stock(self):
        return structured(super().call_low_stock()["structuredContent"]["articles"])


if __name__ == "__main__":
    serve(Inventory)
