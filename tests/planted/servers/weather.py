"""The weather: structured content with an output schema, and a sentence for people."""

import time

from planted import INTEGER, NUMBER, STRING, Refused, Server, listed, members, serve, tool

CITIES = {
    "Oslo": {"country": "NO", "celsius": -3.4, "wind_ms": 5.2, "humidity": 81, "sky": "snow"},
    "Lisbon": {"country": "PT", "celsius": 17.25, "wind_ms": 7.9, "humidity": 64, "sky": "clear"},
    "Łódź": {"country": "PL", "celsius": 2.0, "wind_ms": 3.1, "humidity": 90, "sky": "fog"},
}
FORECAST = {
    "Oslo": [(-6.1, -1.2, 70), (-4.0, 0.3, 20), (-2.5, 1.9, 0), (-8.0, -3.0, 5), (-9.7, -5.5, 10)],
    "Lisbon": [(12.0, 18.4, 0), (13.1, 19.0, 0), (11.8, 16.2, 80), (10.9, 15.5, 60), (12.3, 17.7, 10)],
    "Łódź": [(-1.0, 4.1, 30), (0.5, 6.0, 45), (1.2, 7.3, 90), (-0.4, 5.1, 15), (-2.2, 3.9, 0)],
}
DATES = ("2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02")
WARNINGS = (
    {"region": "north", "level": "orange", "event": "storm", "until": "2026-02-27T18:00:00+01:00"},
    {"region": "north", "level": "yellow", "event": "ice", "until": "2026-02-26T23:00:00+01:00"},
    {"region": "south", "level": "red", "event": "flood", "until": "2026-02-28T06:00:00+01:00"},
)
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}


class Weather(Server):
    name = "weather"
    tools = (
        tool(
            "current_weather",
            "The weather now.",
            {"city": STRING, "unit": UNIT},
            ["city"],
            members(
                city=STRING,
                country=STRING,
                temperature=NUMBER,
                unit=UNIT,
                wind_kmh=NUMBER,
                humidity=INTEGER,
                sky=STRING,
                observed_at=STRING,
            ),
        ),
        tool(
            "forecast",
            "The next days, three if not said otherwise, five at most.",
            {"city": STRING, "days": {"type": "integer", "minimum": 1, "maximum": 5}},
            ["city"],
            members(city=STRING, days=listed(members(date=STRING, low=NUMBER, high=NUMBER, rain_percent=INTEGER))),
        ),
        tool(
            "warnings",
            "Warnings of a region, the most serious first.",
            {"region": STRING},
            ["region"],
            members(region=STRING, count=INTEGER, warnings=listed(members(level=STRING, event=STRING, until=STRING))),
        ),
        tool(
            "compare_cities",
            "Which of two cities is warmer, and by how much.",
            {"first": STRING, "second": STRING},
            ["first", "second"],
            members(warmer=STRING, difference=NUMBER),
        ),
    )

    def city(self, name):
        if name not in CITIES:
            raise Refused(f"unknown city: {name}")
        return CITIES[name]

    def answer(self, sentence, value):
        return {"content": [{"type": "text", "text": sentence}], "structuredContent": value}

    def temperature(self, celsius, unit):
        return round(celsius * 9 / 5 + 32, 1) if unit == "fahrenheit" else celsius

    def wind_kmh(self, metres_per_second):
        return round(metres_per_second * 3.6, 1)

    def call_current_weather(self, city, unit="celsius"):
        found = self.city(city)
        degrees = self.temperature(found["celsius"], unit)
        value = {
            "city": city,
            "country": found["country"],
            "temperature": degrees,
            "unit": unit,
            "wind_kmh": self.wind_kmh(found["wind_ms"]),
            "humidity": found["humidity"],
            "sky": found["sky"],
            "observed_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        return self.answer(f"{city}: {degrees} degrees {unit}, {found['sky']}", value)

    def call_forecast(self, city, days=3):
        self.city(city)
        if not 1 <= days <= 5:
            raise Refused("days must be between 1 and 5")
        return self.answer(f"{days} days for {city}", {"city": city, "days": self.days(city, days)})

    def days(self, city, count):
        found = list(zip(DATES, FORECAST[city], strict=True))[:count]
        return [self.day(date, *values) for date, values in found]

    def day(self, date, low, high, rain):
        return {"date": date, "low": low, "high": high, "rain_percent": rain}

    def call_warnings(self, region):
        order = ["red", "orange", "yellow"]
        found = sorted(self.warnings_of(region), key=lambda one: order.index(one["level"]))
        shown = [{key: one[key] for key in ("level", "event", "until")} for one in found]
        sentence = f"{len(shown)} warnings" if shown else "no warnings"
        return self.answer(sentence, {"region": region, "count": len(shown), "warnings": shown})

    def warnings_of(self, region):
        if region not in ("north", "south", "west"):
            raise Refused(f"unknown region: {region}")
        return [one for one in WARNINGS if one["region"] == region]

    def call_compare_cities(self, first, second):
        difference = round(self.city(first)["celsius"] - self.city(second)["celsius"], 1)
        warmer = first if difference >= 0 else second
        sentence = f"{warmer} is {abs(difference)} degrees warmer"
        return self.answer(sentence, {"warmer": warmer, "difference": abs(difference)})


class WindInMetres(Weather):
    """The service changed its unit of wind, and the number was passed on under the old name."""

    def wind_kmh(self, metres_per_second):
        return metres_per_second


class UnitIgnored(Weather):
    """The unit was written into the answer, but not used for the number."""

    def temperature(self, celsius, unit):
        return celsius


class ForecastFromTomorrow(Weather):
    """Today was taken for the day before the forecast, so every day came one too late."""

    def days(self, city, count):
        return super().days(city, count + 1)[1:]


class LowIsHigh(Weather):
    """Two arguments of the same type changed their places in a refactoring."""

    def day(self, date, low, high, rain):
        return super().day(date, high, low, rain)


class ZoneIsLost(Weather):
    """Times were parsed and written again without their offset."""

    def warnings_of(self, region):
        return [{**one, "until": one["until"][:19]} for one in super().warnings_of(region)]


class HumidityAsText(Weather):
    """A parser of XML left numbers as texts."""

    def city(self, name):
        found = super().city(name)
        return {**found, "humidity": str(found["humidity"])}


class UnknownCityIsOslo(Weather):
    """A search for places fell back to a default instead of failing."""

    def city(self, name):
        return CITIES.get(name, CITIES["Oslo"])


class SkyIsMissing(Weather):
    """A field that the service sends only with some plans was passed on when it was there, and left out otherwise."""

    def answer(self, sentence, value):
        return super().answer(sentence, {key: one for key, one in value.items() if key != "sky"})


if __name__ == "__main__":
    serve(Weather)
