"""A survey as an XLSForm, for ODK and KoBo: the respondent draws; the form has no place for a true answer."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, cast

from maskwell.collection.check_page import promises
from maskwell.collection.embeds import field_name, report_texts, words_for
from maskwell.collection.page_texts import texts_in
from maskwell.collection.survey import Question, Survey, Texts
from maskwell.core.extras import require_library
from maskwell.designs.set_reports import SetDesign
from maskwell.errors import MaskwellError, ParameterError
from maskwell.procedures.decks import Card
from maskwell.procedures.dice_spinner import DiceTable
from maskwell.procedures.realisation import Device, make_device

DEVICES = ("cards", "dice")
MOST_LINES = 24  # lines of a dice table that people can find their way in on a screen
Row = dict[str, "str | dict[str, str]"]  # a row of a sheet; a text in each language becomes one column for each


def form_bytes(survey: Survey, device: str) -> bytes:
    """The file (.xlsx) with the sheets survey, choices and settings; the same bytes every time."""
    if device not in DEVICES:
        raise ParameterError("there-are-no-forms", device=device, devices=", ".join(DEVICES))
    form = _Form(survey, device)
    sheets = {"survey": form.survey_rows(), "choices": form.choice_rows(), "settings": form.settings()}
    return _workbook(survey, sheets)


def form_names(survey: Survey) -> dict[str, str]:
    """The names that questions have in the form and in its exports."""
    return dict(zip(survey.by_name, choice_names(survey.by_name), strict=True))


def choice_names(labels: Iterable[str]) -> list[str]:
    """The names that answers or reports have in the form and in its exports, in their order."""
    names: list[str] = []
    for label in labels:
        plain = field_name(label)
        number = 1
        while (name := plain if number == 1 else f"{plain}_{number}").lower() in {one.lower() for one in names}:
            number += 1
        names.append(name)
    return names


@dataclass(frozen=True)
class _Form:
    """The rows of a form."""

    survey: Survey
    medium: str

    @property
    def names(self) -> dict[str, str]:
        return form_names(self.survey)

    @cached_property
    def words(self) -> dict[str, Any]:
        return words_for(self.survey, "form")

    def say(self, key: str, **values: Any) -> dict[str, str]:
        """A text of ours in all languages of the survey."""
        return {one: _filled(str(words[key]), one, values) for one, words in self.words.items()}

    def survey_rows(self) -> list[Row]:
        own = [texts for texts in (self.survey.title, self.survey.introduction) if texts]
        said = {one: "\n\n".join(promises(self.survey, words)) for one, words in self.words.items()}
        opening = _joined([*own, said], "\n\n")  # with what all reports of one person can reveal
        rows: list[Row] = [{"type": "note", "name": "maskwell_start", "label": opening}]
        for question in self.survey.questions:
            rows += self._open(question) if question.design is None else self._sensitive(question)
        if self.survey.thanks:
            rows.append({"type": "note", "name": "maskwell_end", "label": dict(self.survey.thanks)})
        return rows

    def _open(self, question: Question) -> list[Row]:
        name = self.names[question.name]
        row: Row = {"type": f"select_one {name}", "name": name, "label": dict(question.ask), "required": "yes"}
        return [{**row, "hint": dict(question.help), "relevant": self._relevant(question)}]

    def _sensitive(self, question: Question) -> list[Row]:
        name = self.names[question.name]
        group, note = f"{name}__asked", f"{name}__how"
        return [
            {"type": "begin_group", "name": group, "relevant": self._relevant(question), "appearance": "field-list"},
            {"type": "note", "name": note, "label": _joined(self._instructions(question), "\n\n")},
            {
                "type": f"select_one {name}",
                "name": name,
                "label": self.say("report"),
                "hint": self.say("report_hint"),
                "required": "yes",
            },
            {"type": "end_group", "name": group},
        ]

    def _relevant(self, question: Question) -> str:
        every = []
        for other, after in question.show_if.items():
            labels = self.survey.by_name[other].labels
            known = dict(zip(labels, choice_names(labels), strict=True))
            every.append(" or ".join(f"${{{self.names[other]}}} = '{known[one]}'" for one in after))
        return " and ".join(f"({one})" for one in every)

    def choice_rows(self) -> list[Row]:
        rows: list[Row] = []
        for question in self.survey.questions:
            labels = reports_of(question)
            for label, name in zip(labels, choice_names(labels), strict=True):
                said = question.answers.get(label, dict.fromkeys(self.survey.languages, label))
                rows.append({"list_name": self.names[question.name], "name": name, "label": dict(said)})
        return rows

    def settings(self) -> list[Row]:
        first, mark = self.survey.languages[0], self.survey.fingerprint.removeprefix("sha256:")
        return [
            {
                "form_title": self.survey.title[first],
                "form_id": f"maskwell_{mark[:12]}",
                "version": mark[:16],
                "default_language": language_name(first),
            }
        ]

    def _instructions(self, question: Question) -> list[Mapping[str, str]]:
        device = _device(question, self.medium)
        asked: list[Mapping[str, str]] = [question.ask, *([question.help] if question.help else [])]
        if device.procedure is not None:
            return [*asked, self.say("think"), self.say("follow_sheet")]
        if device.dice is None:
            return [*asked, *(self.say(key) for key in ("think", "draw_card", "follow_card", "card_back"))]
        table = _joined(self._table(question, device.dice), "\n\n")
        roll = self.say("roll_two", count=device.dice.dice)
        if device.dice.dice == 1 or device.dice.sums() is not None:
            roll = self.say("roll_one" if device.dice.dice == 1 else "roll_sum")
        return [*asked, self.say("think"), roll, table, self.say("say_only")]

    def _table(self, question: Question, table: DiceTable) -> list[Mapping[str, str]]:
        sums = table.sums()
        if sums is not None:
            ranges: list[tuple[str, str, int | None]] = [(str(low), str(high), kind) for low, high, kind in sums]
        else:
            ranges = [(_shown(table, run.first), _shown(table, run.last), run.kind) for run in table.runs()]
        if len(ranges) > MOST_LINES:
            raise ParameterError("question-its-dice-table-has-lines", name=question.name, ranges_count=len(ranges))
        return [self._line(question, table, *one) for one in ranges]

    def _line(self, question: Question, table: DiceTable, low: str, high: str, kind: int | None) -> dict[str, str]:
        where = (
            dict.fromkeys(self.survey.languages, low) if low == high else self.say("range", **{"from": low, "to": high})
        )
        what = self.say("again") if kind is None else self._rule(question, table.deck.cards[kind])
        return {one: f"**{where[one]}**: {what[one]}" for one in self.survey.languages}

    def _rule(self, question: Question, card: Card) -> Mapping[str, str]:
        """The content of a card: the truth, a word, or a word for each truth."""
        reports = reports_of(question)
        said = [reports[code] for code in card.answers]
        if len(set(said)) == 1:
            return self.say("say_fixed", report=self._texts(question, said[0]))
        if said == list(question.labels):
            return self.say("say_truth")
        pairs = zip(question.labels, said, strict=True)
        rules = [self.say("say_if", answer=question.answers[a], report=self._texts(question, r)) for a, r in pairs]
        return _joined(rules, "; ")

    def _texts(self, question: Question, report: str) -> Texts:
        return question.answers.get(report, dict.fromkeys(self.survey.languages, report))


def reports_of(question: Question) -> list[str]:
    """The labels of the reports of a question; of an open one those of its answers."""
    return report_texts(question) or []


def _device(question: Question, medium: str) -> Device:
    """The device that carries out the design exactly; ParameterError where there is none."""
    assert question.design is not None
    if isinstance(question.design, SetDesign):
        raise ParameterError("question-its-reports-are-sets-which", name=question.name)
    no_device = {"name": question.name, "medium": medium, "design": question.design}
    try:
        device = make_device(question.design, medium=cast(Literal["cards", "dice"], medium))
    except MaskwellError as error:
        raise ParameterError("question-no-of-a-handy-size", **no_device) from error
    if device.deck.realised.exact_matrix() != question.design.exact_matrix():
        raise ParameterError("question-no-of-a-handy-size", **no_device)
    return device


def _shown(table: DiceTable, outcome: int) -> str:
    return "-".join(map(str, table.shown(outcome)))


def _filled(text: str, language: str, values: Mapping[str, Any]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value[language] if isinstance(value, Mapping) else value))
    return text


def _joined(texts: Sequence[Mapping[str, str]], between: str) -> dict[str, str]:
    return {one: between.join(text[one] for text in texts) for one in texts[0]}


def language_name(code: str) -> str:
    """A language as XLSForm names it."""
    known = texts_in(code, "page", {}) or {"name": code}
    return f"{known['name']} ({code})"


def _workbook(survey: Survey, sheets: Mapping[str, list[Row]]) -> bytes:
    xlsxwriter = require_library("xlsxwriter", "a form")
    packed = io.BytesIO()
    with xlsxwriter.Workbook(packed, {"in_memory": True}) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})  # the same bytes every time
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, line in enumerate(_table(survey, rows)):
                for column, value in enumerate(line):
                    if value:
                        sheet.write_string(at, column, value)
    return packed.getvalue()


def _table(survey: Survey, rows: list[Row]) -> list[list[str]]:
    """The header and the lines of a sheet; ``${`` in a text would be taken for the name of a question."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    spoken = {key for row in rows for key, value in row.items() if isinstance(value, dict)}
    columns = [(key, one) for key in keys for one in (survey.languages if key in spoken else ("",))]
    header = [f"{key}::{language_name(one)}" if one else key for key, one in columns]
    return [header, *([_cell(row.get(key, ""), one) for key, one in columns] for row in rows)]


def _cell(value: str | dict[str, str], language: str) -> str:
    return value.get(language, "").replace("${", "$ {") if isinstance(value, dict) else value
