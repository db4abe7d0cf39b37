"""The sheet that a coder fills in: blind, drawn by the seed, and taken whole or not at all."""

import csv
import io
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_agora.coding import sheet, thoughts
from playmolt_agora.coding.sheet import SheetFault
from playmolt_agora.coding.thoughts import Thought
from playmolt_schemas.instrument.laboratory import key_of
from playmolt_schemas.stored.agora.experiment import SheetRow

KEYS = ("0" * 16, "1" * 16)
HEAD = "key,language,thought,survival,social,note\n"


def thought(number: int, phase: str = "phase1", language: Any = "en", model: str = "E", text: str = "so") -> Thought:
    return Thought("agora-1", "agent_01", number, phase, language, model, text)


def read(text: str, known: Any = KEYS) -> Any:
    return sheet.read(text.encode(), known)


class TestTheSample:
    def test_takes_from_every_stratum_alike_until_it_has_no_more(self) -> None:
        many = [thought(turn, "phase1") for turn in range(300)] + [thought(1000 + turn, "phase2") for turn in range(30)]
        drawn = thoughts.sample(many, "seed")
        assert Counter(each.phase for each in drawn) == {"phase1": 170, "phase2": 30}
        drawn = thoughts.sample(many + [thought(2000 + turn, language="ko") for turn in range(300)], "seed", size=100)
        assert sorted(Counter((each.phase, each.language) for each in drawn).values()) == [30, 35, 35]

    def test_follows_from_the_seed_alone_and_is_shuffled(self) -> None:
        many = [thought(turn, f"phase{turn % 2}") for turn in range(300)]
        drawn = thoughts.sample(many, "seed")
        assert drawn == thoughts.sample(many, "seed")
        assert {each.key for each in drawn} != {each.key for each in thoughts.sample(many, "other")}
        assert [each.phase for each in drawn] != sorted(each.phase for each in drawn)
        assert len({each.key for each in drawn}) == 200

    def test_of_nothing_is_nothing(self) -> None:
        assert thoughts.sample([], "seed") == []

    def test_a_key_is_of_run_agent_and_turn(self) -> None:
        assert thought(3).key == key_of("agora-1", "agent_01", 3) == "e579dd626d42779d"


class TestWriting:
    def test_a_coder_sees_key_language_and_thought(self) -> None:
        text = sheet.written([thought(1, text='a "quote",\nand a line')])
        assert text.startswith("\ufeffkey,language,thought,survival,social,note\r\n")
        rows = list(csv.DictReader(io.StringIO(text[1:], newline="")))
        assert rows == [
            {
                "key": thought(1).key, "language": "en", "thought": 'a "quote",\nand a line', "survival": "",
                "social": "", "note": "",
            }
        ]  # fmt: skip

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "\tx", "\rx"])
    def test_no_thought_is_a_formula(self, text: str) -> None:
        assert f"'{text}" in sheet.written([thought(1, text=text)])

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    @pytest.mark.parametrize(
        "text",
        [
            "＝1+1",
            "＋1",
            "－1",
            "＠sum",
            "a;=1+1",
            'a";=1',
            'a; "=1',
            "a\n=1",
            "a\t+1",
            "a,-1",
            '"=1',
            " @x",
            "a;＝1",
            "−1",
        ],
    )
    def test_no_program_finds_a_formula_whatever_it_takes_for_a_separator(self, text: str, separator: str) -> None:
        written = sheet.written([thought(1, text=text)])
        for quote in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            read_again = csv.reader(io.StringIO(written[1:], newline=""), delimiter=separator, quoting=quote)
            cells = [cell for row in read_again for cell in row]
            assert not [
                cell for cell in cells if cell.lstrip(" \"'“”")[:1] in tuple("=+-@＝＋－＠−") and "'" not in cell
            ]


class TestReading:
    @pytest.mark.parametrize("separator", [";", "\t", "|", ","])
    def test_the_separators_of_spreadsheets(self, separator: str) -> None:
        body = f"{HEAD}{KEYS[0]},ko,so,WAHR,falsch,\n{KEYS[1]},ko,so,x,1,\n".replace(",", separator)
        rows, faults = read(body)
        assert rows == (SheetRow(key=KEYS[0], survival=True, social=False),)
        assert [(fault.line, fault.message.partition(" ")[0]) for fault in faults] == [(3, "survival")]

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
    def test_the_encodings_of_spreadsheets(self, encoding: str) -> None:
        rows, faults = sheet.read(f"{HEAD}{KEYS[0]},ko,속생각,참,否,\n".replace(",", "\t").encode(encoding), KEYS)
        assert (rows, faults) == ((SheetRow(key=KEYS[0], survival=True, social=False),), ())

    @pytest.mark.parametrize(
        ("yes", "no"),
        [
            *(("WAHR", "FALSCH"), ("VRAI", "FAUX"), ("是", "否"), ("참", "거짓"), ("１", "０"), ("はい", "いいえ")),
            ("ИСТИНА", "ЛОЖЬ"),
        ],
    )  # fmt: skip
    def test_truth_values_of_other_languages(self, yes: str, no: str) -> None:
        rows, faults = read(f"{HEAD}{KEYS[0]},en,so,{yes},{no},\n")
        assert (rows, faults) == ((SheetRow(key=KEYS[0], survival=True, social=False),), ())

    def test_one_line_says_what_to_do_with_another_separator(self) -> None:
        for text in (f"{HEAD}{KEYS[0]},en,so,1,0,\n".replace(",", "~"), f"sep=;\n{HEAD}"):
            [fault] = read(text)[1]
            assert (fault.line, "semicolons or tabs" in fault.message) == (1, True)

    @pytest.mark.parametrize(
        ("word", "label"),
        [("1", True), ("yes", True), ("TRUE", True), ("예", True), ("0", False), (" No ", False), ("false", False),
         ("아니오", False), ("", None)],
    )  # fmt: skip
    def test_words_for_labels(self, word: str, label: bool | None) -> None:
        rows, faults = read(f"{HEAD}{KEYS[0]},en,so,{word},1,\n")
        assert (rows, faults) == ((SheetRow(key=KEYS[0], survival=label, social=True),), ())

    def test_what_is_not_coded_is_left_out_and_columns_may_stand_otherwise(self) -> None:
        rows, faults = read(f"\ufeffsocial,note,key,survival\r\n,,{KEYS[0]},\r\n,why?,{KEYS[1]},\r\n\r\n")
        assert (rows, faults) == ((SheetRow(key=KEYS[1], note="why?"),), ())

    def test_every_fault_is_reported_with_its_line_and_nothing_is_taken(self) -> None:
        text = (
            f'{HEAD}{KEYS[0]},en,"two\nlines",maybe,2,\nffff,en,so,1,1,\n{KEYS[0]},en,so,1,1,{"n" * 201}\n'
            f"{KEYS[1]},en,so,1,0,\n"
        )
        _, faults = read(text)
        assert [fault.line for fault in faults] == [2, 2, 4, 5, 5]
        assert [fault.message.split(" ")[0] for fault in faults] == ["survival", "social", "key", "key", "note"]
        assert "already appears on line 2" in faults[3].message

    def test_a_missing_column(self) -> None:
        assert read(f"key,social\n{KEYS[0]},1\n")[1] == (SheetFault(1, "has no column survival"),)
        assert [fault.message for fault in read("a,b\n1,2\n")[1]] == [
            f"has no column {name}" for name in ("key", "survival", "social")
        ]
        assert [fault.line for fault in read("")[1]] == [1]

    @pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
    def test_lines_may_end_as_any_spreadsheet_ends_them(self, end: str) -> None:
        rows, faults = read(f"{HEAD}{KEYS[0]},ko,so,1,no,\n".replace("\n", end))
        assert (rows, faults) == ((SheetRow(key=KEYS[0], survival=True, social=False),), ())

    @pytest.mark.parametrize("cell", ['"so', f'"{"x" * 200_000}"', '"so"and'])
    def test_a_record_that_is_no_csv_loses_no_row_silently(self, cell: str) -> None:
        _, faults = read(f"{HEAD}{KEYS[0]},ko,so,1,0,\n{KEYS[1]},ko,{cell},1,0,\n")
        assert [(fault.line, "is not valid CSV" in fault.message) for fault in faults] == [(3, True)]

    def test_a_column_that_is_there_twice(self) -> None:
        assert read(f"key,key,survival,social\n{KEYS[0]},{KEYS[1]},1,0\n")[1] == (
            SheetFault(1, "has the column key twice"),
        )

    def test_what_is_not_utf_8(self) -> None:
        rows, faults = sheet.read(f"{HEAD}{KEYS[0]},ko,속생각,예,,\n".encode("euc-kr"), KEYS)
        assert (rows, [fault.line for fault in faults]) == ((), [2])

    def test_more_rows_than_a_sheet_has(self) -> None:
        keys = [f"{number:016x}" for number in range(201)]
        body = HEAD + "".join(f"{key},en,so,1,0,\n" for key in keys)
        assert [fault.line for fault in read(body, keys)[1]] == [1]

    @given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
    def test_what_is_written_is_read_again(self, texts: list[str]) -> None:
        written = [thought(number, text=text) for number, text in enumerate(texts)]
        rows = list(csv.reader(io.StringIO(sheet.written(written)[1:].replace("\x00", " "), newline="")))
        for row in rows[1:]:
            row[3:5] = ["1", "no"]
        out = io.StringIO()
        csv.writer(out).writerows(rows)
        found, faults = read(out.getvalue(), {each.key for each in written})
        assert faults == ()
        assert found == tuple(SheetRow(key=each.key, survival=True, social=False) for each in written)

    @given(st.binary(max_size=300))
    def test_any_file_is_read(self, body: bytes) -> None:
        rows, faults = sheet.read(body, KEYS)
        assert isinstance(rows, tuple)
        assert all(fault.line >= 1 for fault in faults)
