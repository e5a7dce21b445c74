"""A respondent who has nothing but the printed sheets: reads them, goes through all that chance can do, and answers.

Nothing here knows how the sheets were made. Cards are counted on the page, throws are looked up in the printed table,
and every sentence that tells what to say is taken literally; one that is not understood fails.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from xml.etree import ElementTree as ET

Chances = dict[str, Fraction]
SVG = ".//{http://www.w3.org/2000/svg}svg"


def printed_matrix(page: str, truths: Sequence[Hashable], reports: Sequence[Hashable]) -> list[list[Fraction]]:
    """The chance of each report (rows) for each truth (columns), by the printed sheets alone."""
    sheets = Sheets.read(page)
    said = [sheets.answers(truth, name) for truth, name in zip(truths, spoken(truths), strict=True)]
    words = spoken(reports)
    for chances in said:
        assert sum(chances.values()) == 1
        assert set(chances) <= set(words), f"{set(chances)} are said, {words} are meant"
    return [[chances.get(word, Fraction(0)) for chances in said] for word in words]


def spoken(labels: Sequence[Hashable]) -> list[str]:
    """Labels as they are printed: the parts of tuples with commas, and in quotes where some part has a comma itself."""
    parts = [str(part) for label in labels if isinstance(label, tuple) for part in label]
    mark = "“{}”" if any("," in part for part in parts) else "{}"
    return [", ".join(mark.format(p) for p in label) if isinstance(label, tuple) else str(label) for label in labels]


@dataclass(frozen=True)
class Face:
    """What a card, or an entry of a table, tells."""

    text: str
    note: str
    rows: tuple[tuple[str, str], ...]
    ordered: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, element: ET.Element) -> Face:
        rows = [(_text(row[0]), _text(row[1])) for row in element.iterfind(".//table[@class='answers']/tbody/tr")]
        ordered = [(_text(item[0]), _text(item[1])) for item in element.iterfind(".//ol[@class='order']/li")]
        says = [_text(p) for p in element.iter("p") if "says" in p.get("class", "")]
        notes = [_text(p) for p in element.iter("p") if p.get("class") == "note"]
        return cls(" ".join(says), " ".join(notes), tuple(rows), tuple(ordered))

    def says(self, truth: str) -> str:
        """What somebody with this true answer says."""
        if self.rows:
            (found,) = [report for name, report in self.rows if name == truth]
            return found
        if self.ordered:
            assert re.fullmatch(r"Say only the (number|word) before your true answer\.", self.note)
            (found,) = [place for place, name in self.ordered if name == truth]
            return found
        if self.text == "Give your true answer.":
            return truth
        if found := _for(self.text, "Say the truth: ", truth):
            return found
        if match := re.fullmatch(r"Say “(.*)”\.", self.text):
            assert self.note == "Say it whatever your true answer is."
            return match[1]
        return self._of_statement("“My true answer is: ", truth)

    def _of_statement(self, opening: str, truth: str) -> str:
        assert self.text.startswith(opening), self.text
        right = self.text == f"{opening}{truth}.”"
        rule = self.note
        if match := re.fullmatch(r"If your true answer is “(.*)”, always say “(.*)”\. Otherwise: (.*)", rule):
            if match[1] == truth:
                return match[2]
            rule = match[3]
        match = re.fullmatch(r"[Ss]ay “(.*)” if it is right for you, else “(.*)”\.", rule)
        assert match, rule
        return match[1] if right else match[2]

    def says_to_two(self, own: str, other: bool) -> str:
        """What somebody says whose answers to questions A and B are these."""
        if self.text.startswith("“My true answer to A is: "):
            return self._of_statement("“My true answer to A is: ", own)
        rule, _, always = self.note.partition(" But if your answer to A is ")
        if always:
            match = re.fullmatch(r"“(.*)”, always say “(.*)”\.", always)
            assert match, always
            if match[1] == own:
                return match[2]
        answer = {"Answer question A.": own, "Answer question B.": "yes" if other else "no"}[self.text]
        if found := _for(rule, "Say ", answer):
            return found
        assert re.fullmatch(r"Say “.*” or “.*”\.", rule), rule
        assert f"“{answer}”" in rule, f"{answer} is not among the answers: {rule}"
        return answer


@dataclass(frozen=True)
class Letter:
    """What a letter stands for, and from where to where its field of a spinner goes."""

    face: Face
    where: str


@dataclass(frozen=True)
class Sheets:
    """The printed sheets."""

    body: ET.Element

    @classmethod
    def read(cls, page: str) -> Sheets:
        inside = page[page.index("<body>") : page.index("</body>") + len("</body>")]
        return cls(ET.fromstring(inside))  # also a proof that no label broke out of its place

    @property
    def steps(self) -> str:
        return " ".join(_text(item) for item in self.body.iterfind(".//ol[@class='steps']/li"))

    @property
    def rules(self) -> str:
        return " ".join(_text(item) for item in self.body.iterfind(".//ul[@class='checks']/li"))

    def decks(self) -> dict[str, list[tuple[int, Face]]]:
        """Cards by the name of their deck, counted on the page."""
        found: dict[str, list[tuple[int, Face]]] = {}
        for section in self.body.iterfind("section[@class='page cards']"):
            heading = _text(section.find("p"))
            faces = [Face.of(card) for card in section.iterfind(".//div[@class='card']")]
            many = re.match(
                r"(.*): ([\d,]+) of this kind\. Print this sheet (?:once|(\d+) times)(?: and throw (\d+) away)?",
                heading,
            )
            if many:
                copies = int(many[3] or 1) * len(faces) - int(many[4] or 0)
                assert copies == int(many[2].replace(",", ""))
                found.setdefault(many[1], []).append((copies, faces[0]))
                assert len(set(faces)) == 1
            else:
                name = re.sub(r"(: cards)? \d+ to \d+ of \d+.*", "", heading)
                found.setdefault(name, []).extend((1, face) for face in faces)
        return found

    def answers(self, truth: Hashable, name: str) -> Chances:
        """The chance of each answer for somebody of this truth, which is printed under this name."""
        questions = [_text(p) for p in self.body.iterfind(".//section[1]/div[@class='question']/p[@class='small']")]
        if "use deck 1" in self.steps:
            return self._kuk(name)
        if "count the red ones" in self.steps:
            return self._chow(name)
        tables = any(face.rows for _, face in self._outcomes)
        if tables or not questions[0].startswith("Question A"):
            return _mixed((chance, {face.says(name): Fraction(1)}) for chance, face in self._outcomes)
        own, other = truth if isinstance(truth, tuple) else (str(truth), None)
        if other is None:
            share = self._share()
            yes = self._two_questions(own, other=True) if share else {}
            return _mixed([(share, yes), (1 - share, self._two_questions(own, other=False))])
        return self._two_questions(own, other=other in ("yes", "any"))

    def _share(self) -> Fraction:
        match = re.search(r"a share of ([\d./]+) of the people asked must say yes", self.rules)
        assert match, self.rules
        return Fraction(match[1])

    # ---- chance

    @cached_property
    def _outcomes(self) -> list[tuple[Fraction, Face]]:
        """What chance can show, and how likely it is."""
        if self.body.find(SVG) is not None:
            return self._sectors()
        if self._table("square") is not None or self._table("list") is not None:
            return self._throws()
        decks = self.decks()
        return _shuffled(decks.get("Cards", []))

    @cached_property
    def _legend(self) -> dict[str, Letter]:
        entries = [
            (_text(entry.find("b")), Face.of(entry), "".join(map(_text, entry.iterfind("div/p[@class='small']"))))
            for entry in self.body.iterfind(".//div[@class='meaning']")
        ]
        for table in self.body.iterfind(".//table[@class='letters']"):
            heads = [_text(head) for head in table.iterfind("thead/tr/th")]
            skip = 2 if heads[1] == "Field" else 1
            for row in table.iterfind("tbody/tr"):
                cells = [_text(cell) for cell in row]
                rows = tuple(zip(heads[skip:], cells[skip:], strict=True))
                entries.append((cells[0], Face("", "", rows, ()), cells[1] if skip == 2 else ""))
        found = {name: Letter(face, where) for name, face, where in entries}
        assert len(found) == len(entries), "a letter stands for two things"
        return found

    def _table(self, kind: str) -> ET.Element | None:
        return next((table for table in self.body.iter("table") if table.get("class", "").split()[:1] == [kind]), None)

    def _sectors(self) -> list[tuple[Fraction, Face]]:
        found, end = [], Fraction(0)
        drawn = _drawn_angles(self.body.find(SVG))
        for entry in self._legend.values():
            match = re.fullmatch(r"([\d.]+)° to ([\d.]+)°", entry.where)
            assert match
            start, stop = Fraction(match[1]), Fraction(match[2])
            assert start == end
            assert not drawn or min(abs(angle - stop) for angle in drawn) < 0.05, f"{stop} is not drawn: {drawn}"
            found.append(((stop - start) / 360, entry.face))
            end = stop
        assert end == 360
        return found

    def _throws(self) -> list[tuple[Fraction, Face]]:
        dice, faces = self._dice()
        outcomes = product(range(1, faces + 1), repeat=dice)
        square = self._table("square")
        counts = Counter(self._in_list(outcomes) if square is None else self._in_square(square, outcomes))
        counts.pop(None, None)  # roll again
        return [(Fraction(count, counts.total()), face) for face, count in counts.items() if face is not None]

    def _dice(self) -> tuple[int, int]:
        if match := re.search(r"Bring (\d+) ordinary coins", self.rules):
            return int(match[1]), 2
        match = re.search(r"Bring (?:(\d+) dice|one die) of (\d+) faces", self.rules)
        assert match, self.rules
        return int(match[1] or 1), int(match[2])

    def _in_square(self, square: ET.Element, outcomes: Iterable[tuple[int, ...]]) -> Iterator[Face | None]:
        rows = {int(_text(row[0])): [_text(cell) for cell in row[1:]] for row in square.iterfind("tbody/tr")}
        return (self._named(rows[first][second - 1]) for first, second in outcomes)

    def _in_list(self, outcomes: Iterable[tuple[int, ...]]) -> Iterator[Face | None]:
        table = self._table("list")
        assert table is not None
        head = _text(table.find("thead/tr/th"))
        lines = [(_line(head, _text(row[0])), self._entry(row[1])) for row in table.iterfind("tbody/tr")]
        for outcome in outcomes:
            seen = (sum(outcome),) if head == "Sum" else outcome
            (found,) = [face for covers, face in lines if covers(seen)]
            yield found

    def _entry(self, cell: ET.Element) -> Face | None:
        return Face.of(cell) if cell.get("class") == "does" else self._named(_text(cell))

    def _named(self, name: str) -> Face | None:
        return None if name == "again" else self._legend[name].face

    # ---- procedures of their own

    def _two_questions(self, own: str, *, other: bool) -> Chances:
        decks = self.decks()
        if not decks:
            return {self._at_once(own, other=other): Fraction(1)}
        each = [
            _mixed((chance, {face.says_to_two(own, other): Fraction(1)}) for chance, face in _shuffled(cards))
            for cards in decks.values()
        ]
        if len(each) == 1:
            return each[0]
        assert list(decks) == ["Box 1", "Box 2"]
        assert "Do the same once more with box 2." in self.steps
        return {f"{i}, {j}": p * q for (i, p), (j, q) in product(each[0].items(), each[1].items())}

    def _at_once(self, own: str, *, other: bool) -> str:
        answers = (own, "yes" if other else "no")
        fitting = [
            re.sub(r".*\? Say “(.*)”\.", r"\1", step)
            for step in (_text(item) for item in self.body.iterfind(".//ol[@class='steps']/li"))
            if re.search(r"\? Say “.*”\.$", step) and _holds(step.rpartition("? Say")[0], *answers)
        ]
        (only,) = fitting
        return only

    def _kuk(self, truth: str) -> Chances:
        match = re.search(r"Is it “(.*)”\? Then use deck 1\. Is it “(.*)”\? Then use deck 2\.", self.steps)
        assert match
        cards = self.decks()[f"Deck {match.groups().index(truth) + 1}"]
        share = sum((chance for chance, face in _shuffled(cards) if face.text == "Red"), Fraction(0))
        number = re.search(r"Draw (?:a card|(\d+) cards, one at a time): look, put it back, mix\.", self.steps)
        assert number
        draws = int(number[1] or 1)
        drawn = [(1, share), (0, 1 - share)]
        chances: dict[int, Fraction] = {}
        for outcome in product(drawn, repeat=draws):
            red, chance = sum(is_red for is_red, _ in outcome), Fraction(1)
            for _, p in outcome:
                chance *= p
            chances[red] = chances.get(red, Fraction(0)) + chance
        return {self._count_said(n): p for n, p in chances.items() if p}

    def _chow(self, truth: str) -> Chances:
        match = re.search(
            r"Is your true answer “(.*)”\? Then count the red ones\. Is it “(.*)”\? Then count the blue ones\.",
            self.steps,
        )
        assert match
        colour = ("Red", "Blue")[match.groups().index(truth)]
        cards = [face.text for copies, face in self.decks()["Cards"] for _ in range(copies)]
        number = re.search(r"Draw (\d+) of them, all at once", self.steps)
        assert number
        drawn = Counter(sum(card == colour for card in hand) for hand in combinations(cards, int(number[1])))
        return {self._count_said(n): Fraction(count, drawn.total()) for n, count in drawn.items()}

    def _count_said(self, number: int) -> str:
        match = re.search(r"Say only (?:that number|how many were red)(: .*?\.|, as a number\.)", self.steps)
        assert match, self.steps
        return _for(match[1], ": ", str(number)) or str(number)


def _text(element: ET.Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def _for(sentence: str, opening: str, answer: str) -> str | None:
    """The word that a list of the kind “yes” for “evaded”, “no” for “honest” gives for an answer."""
    if not sentence.startswith(opening) or "” for “" not in sentence:
        return None
    parts = re.split("(?<=”), (?=“)", sentence.removeprefix(opening).removesuffix("."))
    (found,) = [part.removesuffix(f" for “{answer}”") for part in parts if part.endswith(f" for “{answer}”")]
    return found.removeprefix("“").removesuffix("”")


def _mixed(parts: Iterable[tuple[Fraction, Chances]]) -> Chances:
    total: Chances = {}
    for share, chances in parts:
        for word, chance in chances.items():
            total[word] = total.get(word, Fraction(0)) + share * chance
    return {word: chance for word, chance in total.items() if chance}


def _shuffled(cards: Sequence[tuple[int, Face]]) -> list[tuple[Fraction, Face]]:
    size = sum(copies for copies, _ in cards)
    return [(Fraction(copies, size), face) for copies, face in cards]


def _line(head: str, shown: str) -> Callable[[tuple[int, ...]], bool]:
    """Whether a line of a table of throws is about an outcome."""
    if head.startswith("Coins"):
        tossed = {tuple("HT".index(side) + 1 for side in coins) for coins in shown.split(", ")}
        return tossed.__contains__
    ends = [tuple(map(int, end.split("-"))) for end in re.split(" to | or ", shown)]
    return lambda seen: ends[0] <= seen <= ends[-1]


def _holds(condition: str, own: str, other: str) -> bool:
    """Whether a sentence about the answers to two questions is true."""
    short = {
        "Are your two answers the same, both yes or both no": own == other,
        "Is one answer yes and the other no": own != other,
        "Is at least one of your answers yes": "yes" in (own, other),
        "Are both answers no": (own, other) == ("no", "no"),
    }
    if condition in short:
        assert own in ("yes", "no")
        return short[condition]
    if match := re.fullmatch(r"Is your answer to A “(.*)”, or your answer to B “(.*)”, or both", condition):
        return own == match[1] or other == match[2]
    if match := re.fullmatch(r"Is your answer to A “(.*)” and your answer to B “(.*)”", condition):
        return (own, other) == match.groups()
    match = re.fullmatch(r"Is your answer to A “(.*)” and to B “(.*)”, or to A “(.*)” and to B “(.*)”", condition)
    assert match, condition
    return (own, other) in (match.groups()[:2], match.groups()[2:])


def _drawn_angles(svg: ET.Element | None) -> list[float]:
    """Where the sectors of a drawing end, in degrees from the top with the clock."""
    assert svg is not None
    paths = [path.get("d", "") for path in svg.iter("{http://www.w3.org/2000/svg}path")]
    ends = [tuple(map(float, re.findall(r"-?[\d.]+", path)[-2:])) for path in paths]
    return [math.degrees(math.atan2(x, -y)) % 360 or 360.0 for x, y in ends]
