"""A shop's prices: quotes with tax, refunds and currencies, with an output schema for each tool."""

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from planted import INTEGER, NUMBER, STRING, Refused, Server, listed, members, serve, structured, tool

ARTICLES = {
    "pen": ("Fountain pen", "24.90", "standard"),
    "ink": ("Blue ink, 50 ml", "7.35", "standard"),
    "book": ("Notebook, 96 pages", "12.00", "reduced"),
    "stamp": ("Rubber stamp", "5.05", "standard"),
}
TAX = {"standard": Decimal("0.19"), "reduced": Decimal("0.07")}
RATES = {"EUR": Decimal(1), "USD": Decimal("1.08"), "JPY": Decimal("161.50"), "GBP": Decimal("0.85")}
ORDERS = {
    "o-1": ("paid", [("pen", 1), ("ink", 2)]),
    "o-2": ("refunded", [("book", 3)]),
    "o-3": ("paid", [("stamp", 10)]),
}
LINE = members(article=STRING, quantity=INTEGER, net=NUMBER, tax=NUMBER)
FREE_SHIPPING_FROM = Decimal(50)


class Prices(Server):
    name = "prices"
    tools = (
        tool(
            "get_price",
            "What one piece costs with tax.",
            {"article": STRING, "currency": STRING},
            ["article"],
            members(article=STRING, name=STRING, price=NUMBER, currency=STRING),
        ),
        tool(
            "quote",
            "What several articles cost together, in EUR.",
            {"items": listed(members(article=STRING, quantity=INTEGER)), "coupon": STRING},
            ["items"],
            members(
                lines=listed(LINE),
                net=NUMBER,
                tax=NUMBER,
                discount=NUMBER,
                shipping=NUMBER,
                total=NUMBER,
                currency=STRING,
            ),
        ),
        tool(
            "convert",
            "An amount in another currency.",
            {"amount": NUMBER, "source": STRING, "target": STRING},
            ["amount", "source", "target"],
            members(amount=NUMBER, currency=STRING, rate=NUMBER),
        ),
        tool(
            "refund",
            "Give the money of an order back.",
            {"order": STRING},
            ["order"],
            members(order=STRING, status=STRING, balance=NUMBER),
        ),
        tool(
            "order_status",
            "How an order stands.",
            {"order": STRING},
            ["order"],
            members(order=STRING, status=STRING, items=INTEGER, total=NUMBER),
        ),
    )

    def __init__(self):
        self.orders = {id: {"status": status, "items": items} for id, (status, items) in ORDERS.items()}

    def article(self, id):
        if id not in ARTICLES:
            raise Refused(f"unknown article: {id}")
        name, net, tax = ARTICLES[id]
        return name, Decimal(net), TAX[tax]

    def rounded(self, amount, currency="EUR"):
        return float(amount.quantize(Decimal(1) if currency == "JPY" else Decimal("0.01"), ROUND_HALF_UP))

    def rate(self, source, target):
        for currency in (source, target):
            if currency not in RATES:
                raise Refused(f"unknown currency: {currency}")
        return RATES[target] / RATES[source]

    def gross(self, net, tax):
        return net * (1 + tax)

    def call_get_price(self, article, currency="EUR"):
        name, net, tax = self.article(article)
        price = self.rounded(self.gross(net, tax) * self.rate("EUR", currency), currency)
        return structured({"article": article, "name": name, "price": price, "currency": currency})

    def line(self, article, quantity):
        _, net, tax = self.article(article)
        return {"article": article, "quantity": quantity, "net": net * quantity, "tax": net * quantity * tax}

    def discount(self, net, coupon):
        if coupon not in (None, "SPRING10"):
            raise Refused(f"unknown coupon: {coupon}")
        return net / 10 if coupon else Decimal(0)

    def shipping(self, net):
        return Decimal(0) if net >= FREE_SHIPPING_FROM else Decimal("4.95")

    def call_quote(self, items, coupon=None):
        if not items:
            raise Refused("no items")
        lines = [self.line(**one) for one in items]
        net, tax = sum(one["net"] for one in lines), sum(one["tax"] for one in lines)
        discount = self.discount(net, coupon)
        shipping = self.shipping(net - discount)
        shown = [{**one, "net": self.rounded(one["net"]), "tax": self.rounded(one["tax"])} for one in lines]
        sums = {"net": net, "tax": tax, "discount": discount, "shipping": shipping}
        sums["total"] = self.sum_of(**sums)
        return structured({"lines": shown, **{key: self.rounded(one) for key, one in sums.items()}, "currency": "EUR"})

    def sum_of(self, net, tax, discount, shipping):
        return net + tax - discount + shipping

    def call_convert(self, amount, source, target):
        rate = self.rate(source, target)
        converted = self.rounded(Decimal(str(amount)) * rate, target)
        return structured({"amount": converted, "currency": target, "rate": float(round(rate, 6))})

    def order(self, id):
        if id not in self.orders:
            raise Refused(f"unknown order: {id}")
        return self.orders[id]

    def total(self, order):
        lines = [self.line(*one) for one in order["items"]]
        return sum((one["net"] + one["tax"] for one in lines), Decimal(0))

    def call_refund(self, order):
        found = self.order(order)
        if found["status"] == "refunded":
            raise Refused(f"{order} was refunded already")
        found["status"] = "refunded"
        return structured({"order": order, "status": found["status"], "balance": self.refunded(found)})

    def refunded(self, order):
        return -self.rounded(self.total(order))

    def call_order_status(self, order):
        found = self.order(order)
        pieces = sum(quantity for _, quantity in found["items"])
        return structured(
            {"order": order, "status": found["status"], "items": pieces, "total": self.rounded(self.total(found))}
        )


class TaxForgotten(Prices):
    """A list showed prices without tax after the shop was made ready for companies."""

    def gross(self, net, tax):
        return net


class RefundWithoutSign(Prices):
    """Refunds came back as positive amounts and were added to the income."""

    def refunded(self, order):
        return -super().refunded(order)


class CentsCutOff(Prices):
    """Amounts were cut to cents where they should have been rounded."""

    def rounded(self, amount, currency="EUR"):
        return float(amount.quantize(Decimal(1) if currency == "JPY" else Decimal("0.01"), ROUND_DOWN))


class ShippingNotInTotal(Prices):
    """Shipping was shown as a line of its own and forgotten in the sum."""

    def sum_of(self, net, tax, discount, shipping):
        return net + tax - discount


class RateUpsideDown(Prices):
    """The rate was used in the wrong direction."""

    def rate(self, source, target):
        return super().rate(target, source)


class CurrencyStaysEuro(Prices):
    """The amount was converted, and the currency beside it was a constant."""

    def call_get_price(self, article, currency="EUR"):
        return structured({**super().call_get_price(article, currency)["structuredContent"], "currency": "EUR"})


class RefundedTwice(Prices):
    """A second refund of the same order was paid out again."""

    def call_refund(self, order):
        self.order(order)["status"] = "paid"
        return super().call_refund(order)


class PricesAsText(Prices):
    """Decimals were encoded as texts by a serializer that did not know them."""

    def call_get_price(self, **asked):
        found = super().call_get_price(**asked)["structuredContent"]
        return structured({**found, "price": str(found["price"])})


if __name__ == "__main__":
    serve(Prices)
