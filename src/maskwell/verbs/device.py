"""The physical device that carries out a design: cards, dice, coins or a spinner, and the sheets to print."""

from __future__ import annotations

import json
from pathlib import Path

from maskwell.core.arguments import as_count
from maskwell.core.atomic import write_files
from maskwell.core.documents import from_json, read_document
from maskwell.core.exact import Number
from maskwell.core.phrases import fault_of, option
from maskwell.designs.wire import dumps, read_design
from maskwell.errors import InputError, ParameterError
from maskwell.procedures.realisation import Device, make_device
from maskwell.reports.device.device_sheets import SheetOptions, device_page, device_texts
from maskwell.verbs.inputs import DesignOrPath


def device(
    design: DesignOrPath,
    *,
    deck: Number | None = None,
    dice: bool = False,
    coins: bool = False,
    spinner: bool = False,
    faces: Number | None = None,
    throws: Number | None = None,
    general: bool = False,
    not_less_private: bool = False,
    output: str | Path | None = None,
    realised: str | Path | None = None,
    sheets: SheetOptions | None = None,
    overwrite: bool = False,
) -> Device:
    """Cards, dice, coins or a spinner that carry out a design, written as sheets to print if asked.

    Parameters
    ----------
    design
        The design, or the path of its file.
    deck
        Maximal number of cards or of their equivalents, rounded if necessary; then the design that the device realises
        must be used to estimate.
    dice, coins, spinner
        In place of cards; at most one of them.
    faces, throws
        Faces of a die, 6 by default, and how many are thrown.
    general
        A line for each true answer on every card, whatever the procedure.
    not_less_private
        Round only to decks of at most the parity of the design.
    output, realised
        Where the sheets, and the design that the device realises, go; written both or not at all.
    sheets
        The questions as they are printed, and the paper.
    overwrite
        Replace files that exist.

    >>> from maskwell.verbs.design import design
    >>> [(card.face, card.copies) for card in device(design("warner", p="0.7")).deck.cards]
    [('statement 0', 7), ('statement 1', 3)]
    """
    media = [name for name, chosen in (("dice", dice), ("coins", coins), ("spinner", spinner)) if chosen]
    if len(media) > 1:
        raise ParameterError("are-two-devices", media=" and ".join(map(option, media)))
    thrown = bool(media) and media[0] != "spinner"
    if (throws is not None and not thrown) or (faces is not None and media != ["dice"]):
        raise ParameterError("faces-and-throws-go-with-dice")
    most = None if deck is None else as_count(deck, option("deck"))
    if most is not None and most < 1:
        raise ParameterError("deck-a-deck-has-at-least", deck=deck)
    made = make_device(
        read_design(design),
        medium="dice" if thrown else "spinner" if media else "cards",
        most=most,
        not_less_private=not_less_private,
        general=general,
        dice=None if throws is None else as_count(throws, "throws"),
        faces=2 if media == ["coins"] else 6 if faces is None else as_count(faces, "faces") or 6,
    )
    if output is not None or realised is not None:
        write_device(made, sheets or SheetOptions(), output, realised, overwrite=overwrite)
    return made


def write_device(
    made: Device,
    sheets: SheetOptions,
    output: str | Path | None,
    realised: str | Path | None,
    texts: str | Path | None = None,
    *,
    overwrite: bool = False,
    inputs: tuple[str, ...] = (),
) -> dict[str, str]:
    """Write the sheets, the design that the device realises and all sentences, all or none, and name the files."""
    contents: dict[str, tuple[str | None, bytes | None]] = {}
    if output is not None:
        contents["output"] = str(output), device_page(made, sheets).encode()
    if realised is not None:
        contents["realised_file"] = str(realised), dumps(made.realised).encode()
    if texts is not None:
        told = json.dumps(device_texts(made, sheets), ensure_ascii=False, indent=2)
        contents["texts_file"] = str(texts), f"{told}\n".encode()
    return write_files(contents, force=overwrite, inputs=list(inputs))


def read_texts(path: str | Path) -> dict[str, str]:
    """The sentences of a file that ``--save-texts`` wrote and somebody edited."""
    hint = "make it with maskwell device D.json --save-texts texts.json, and edit what stands after the colons"
    text = read_document(path, error=InputError, hint=hint)
    try:
        texts = from_json(text)
    except ValueError as error:
        raise InputError("path-is-not-json-fault-make", path=path, fault=fault_of(error)) from error
    if not isinstance(texts, dict) or not all(isinstance(one, str) for one in texts.values()):
        raise InputError("does-not-give-one-text", path=path)
    return texts
