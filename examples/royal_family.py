"""Write examples/royals.csv: descendants of George III, with about one grandparent fact in seven left out.

python examples/royal_family.py FOLDER
"""

from __future__ import annotations

import random
import sys
from itertools import permutations
from pathlib import Path

Fact = tuple[str, str, str]

# Couples and children who matter for the next couples: not everybody is listed.
COUPLES = """
George III + Charlotte of Mecklenburg: George IV, William IV, Edward of Kent, Ernest Augustus I, Adolphus \
of Cambridge
George IV + Caroline of Brunswick: Charlotte of Wales
Charlotte of Wales + Leopold I of Belgium:
William IV + Adelaide of Saxe-Meiningen:
Edward of Kent + Victoria of Saxe-Coburg: Queen Victoria
Ernest Augustus I + Frederica of Mecklenburg: George V of Hanover
Adolphus of Cambridge + Augusta of Hesse-Kassel: George of Cambridge, Augusta of Cambridge, Mary Adelaide \
of Cambridge
Mary Adelaide of Cambridge + Francis of Teck: Mary of Teck, Adolphus of Teck, Alexander of Athlone
Leopold I of Belgium + Louise of Orléans: Leopold II of Belgium, Philippe of Flanders, Charlotte of Belgium
Philippe of Flanders + Marie of Hohenzollern: Albert I of Belgium, Henriette of Belgium
Albert I of Belgium + Elisabeth of Bavaria: Leopold III of Belgium, Charles of Belgium, Marie-José of \
Belgium
Leopold III of Belgium + Astrid of Sweden: Baudouin of Belgium, Albert II of Belgium, Joséphine-Charlotte \
of Belgium
Albert II of Belgium + Paola Ruffo di Calabria: Philippe of Belgium, Astrid of Belgium, Laurent of Belgium
Philippe of Belgium + Mathilde d'Udekem: Elisabeth of Belgium, Gabriel of Belgium, Emmanuel of Belgium, \
Eléonore of Belgium
Queen Victoria + Prince Albert: Victoria Princess Royal, Edward VII, Alice of the UK, Alfred of \
Edinburgh, Helena of the UK, Louise of Argyll, Arthur of Connaught, Leopold of Albany, Beatrice of the UK
Victoria Princess Royal + Frederick III: Wilhelm II, Charlotte of Prussia, Henry of Prussia, Sophia of \
Prussia
Wilhelm II + Augusta Victoria of Holstein: Wilhelm of Prussia, Eitel Friedrich of Prussia, Victoria \
Louise of Prussia
Sophia of Prussia + Constantine I of Greece: George II of Greece, Alexander of Greece, Paul of Greece, \
Helen of Greece
Victoria Louise of Prussia + Ernest Augustus of Brunswick: Ernest Augustus IV of Hanover, Frederica of \
Hanover
Paul of Greece + Frederica of Hanover: Sofía of Greece, Constantine II of Greece, Irene of Greece
Sofía of Greece + Juan Carlos I: Elena of Spain, Cristina of Spain, Felipe VI
Felipe VI + Letizia Ortiz: Leonor of Spain, Sofía of Spain
Edward VII + Alexandra of Denmark: Albert Victor, George V, Louise of Fife, Victoria of the UK, Maud of \
Wales
Maud of Wales + Haakon VII: Olav V
Olav V + Märtha of Sweden: Ragnhild of Norway, Astrid of Norway, Harald V
Harald V + Sonja Haraldsen: Märtha Louise of Norway, Haakon of Norway
Haakon of Norway + Mette-Marit Høiby: Ingrid Alexandra of Norway, Sverre Magnus of Norway
Alice of the UK + Louis IV of Hesse: Victoria of Hesse, Elisabeth of Hesse, Irene of Hesse, Ernest Louis \
of Hesse, Alix of Hesse
Irene of Hesse + Henry of Prussia: Waldemar of Prussia, Sigismund of Prussia
Alix of Hesse + Nicholas II: Olga of Russia, Tatiana of Russia, Maria of Russia, Anastasia of Russia, \
Alexei of Russia
Victoria of Hesse + Louis of Battenberg: Alice of Battenberg, Louise Mountbatten, George Mountbatten, \
Louis Mountbatten
Alice of Battenberg + Andrew of Greece: Margarita of Greece, Theodora of Greece, Cecilie of Greece, \
Sophie of Greece, Prince Philip
Louis Mountbatten + Edwina Ashley: Patricia Mountbatten, Pamela Mountbatten
Alfred of Edinburgh + Maria Alexandrovna: Marie of Edinburgh, Victoria Melita, Alexandra of Edinburgh, \
Beatrice of Edinburgh
Marie of Edinburgh + Ferdinand I of Romania: Carol II of Romania, Elisabeth of Romania, Maria of Yugoslavia
Carol II of Romania + Helen of Greece: Michael I of Romania
Maria of Yugoslavia + Alexander I of Yugoslavia: Peter II of Yugoslavia, Tomislav of Yugoslavia
Arthur of Connaught + Louise Margaret of Prussia: Margaret of Connaught, Arthur the Younger, Patricia of \
Connaught
Margaret of Connaught + Gustaf VI Adolf: Gustaf Adolf of Västerbotten, Sigvard Bernadotte, Ingrid of \
Sweden, Bertil of Sweden
Leopold of Albany + Helena of Waldeck: Alice of Albany, Charles Edward of Coburg
Alice of Albany + Alexander of Athlone: May of Cambridge, Rupert of Trematon
Charles Edward of Coburg + Victoria Adelaide of Holstein: Johann Leopold of Coburg, Sibylla of Coburg
Gustaf Adolf of Västerbotten + Sibylla of Coburg: Margaretha of Sweden, Birgitta of Sweden, Christina of \
Sweden, Carl XVI Gustaf
Carl XVI Gustaf + Silvia Sommerlath: Victoria of Sweden, Carl Philip of Sweden, Madeleine of Sweden
Victoria of Sweden + Daniel Westling: Estelle of Sweden, Oscar of Sweden
Carl Philip of Sweden + Sofia Hellqvist: Alexander of Sweden, Gabriel of Sweden
Ingrid of Sweden + Frederick IX: Margrethe II, Benedikte of Denmark, Anne-Marie of Denmark
Margrethe II + Henri de Monpezat: Frederik X, Joachim of Denmark
Frederik X + Mary Donaldson: Christian of Denmark, Isabella of Denmark, Vincent of Denmark, Josephine of \
Denmark
Constantine II of Greece + Anne-Marie of Denmark: Alexia of Greece, Pavlos of Greece, Nikolaos of Greece
Pavlos of Greece + Marie-Chantal Miller: Maria-Olympia of Greece, Constantine Alexios of Greece
Beatrice of the UK + Henry of Battenberg: Alexander of Carisbrooke, Victoria Eugenie of Battenberg
Victoria Eugenie of Battenberg + Alfonso XIII: Alfonso of Asturias, Jaime of Segovia, Juan of Barcelona, \
Beatriz of Spain
Juan of Barcelona + María de las Mercedes: Pilar of Badajoz, Juan Carlos I, Margarita of Soria
George V + Mary of Teck: Edward VIII, George VI, Mary Princess Royal, Henry of Gloucester, George of Kent
Edward VIII + Wallis Simpson:
Mary Princess Royal + Henry Lascelles: George Lascelles, Gerald Lascelles
Henry of Gloucester + Alice Montagu Douglas Scott: William of Gloucester, Richard of Gloucester
Richard of Gloucester + Birgitte van Deurs: Alexander Windsor, Davina Windsor, Rose Windsor
George of Kent + Marina of Greece: Edward the Younger of Kent, Alexandra of Kent, Michael of Kent
Edward the Younger of Kent + Katharine Worsley: George of St Andrews, Helen Windsor, Nicholas Windsor
Michael of Kent + Marie Christine von Reibnitz: Frederick Windsor, Gabriella Windsor
George VI + Elizabeth Bowes-Lyon: Elizabeth II, Princess Margaret
Princess Margaret + Antony Armstrong-Jones: David Armstrong-Jones, Sarah Chatto
Elizabeth II + Prince Philip: Charles III, Princess Anne, Prince Andrew, Prince Edward
Charles III + Diana Spencer: Prince William, Prince Harry
Charles III + Camilla Shand:
Princess Anne + Mark Phillips: Peter Phillips, Zara Tindall
Zara Tindall + Mike Tindall: Mia Tindall, Lena Tindall, Lucas Tindall
Peter Phillips + Autumn Kelly: Savannah Phillips, Isla Phillips
Prince Andrew + Sarah Ferguson: Princess Beatrice, Princess Eugenie
Princess Beatrice + Edoardo Mapelli Mozzi: Sienna Mapelli Mozzi
Princess Eugenie + Jack Brooksbank: August Brooksbank, Ernest Brooksbank
Prince Edward + Sophie Rhys-Jones: Louise Windsor, James of Wessex
Prince William + Catherine Middleton: Prince George, Princess Charlotte, Prince Louis
Prince Harry + Meghan Markle: Archie of Sussex, Lilibet of Sussex
"""
MISSING, SEED = 7, 1  # one grandparent fact in so many is left out
KNOWN_BY_ALL = ("Queen Victoria", "grandparent_of", "George V")  # the example of own-data.md, left out


def royals() -> tuple[list[Fact], list[Fact]]:
    """The facts of the file, and the true facts that it lacks."""
    facts: list[Fact] = []
    children: dict[str, list[str]] = {}
    for line in COUPLES.strip().splitlines():
        couple, _, names = line.partition(":")
        first, second = couple.split(" + ")
        listed = [name.strip() for name in names.split(",") if name.strip()]
        facts.append((first, "married_to", second))
        for parent in (first, second):
            children.setdefault(parent, []).extend(listed)
            facts += [(parent, "parent_of", child) for child in listed]
        facts += [(one, "sibling_of", other) for one, other in permutations(listed, 2)]
    grand = [
        (parent, "grandparent_of", grandchild)
        for parent, own in children.items()
        for child in own
        for grandchild in children.get(child, ())
    ]
    missing = set(random.Random(SEED).sample(grand, len(grand) // MISSING)) | {KNOWN_BY_ALL}
    return [*facts, *(fact for fact in grand if fact not in missing)], sorted(missing)


def csv(facts: list[Fact]) -> str:
    """The text of the file; no name holds a comma."""
    return "".join(f"{','.join(line)}\n" for line in [("head", "relation", "tail"), *facts])


if __name__ == "__main__":
    target = Path(sys.argv[1]) / "royals.csv"
    target.write_text(csv(royals()[0]), encoding="utf-8")
    print(f"{target} written")
