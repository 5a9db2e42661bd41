import pytest

from rnnlogic.rules.rule import Chain
from rnnlogic.rules.table import RuleTable

A, B, C = Chain(0, (1,)), Chain(1, (0,)), Chain(0, (1, 1))
TABLE = RuleTable.from_rows([(A, {"weight": 1.0}), (B, {"weight": 3.0, "support": 4}), (C, {"weight": 2.0})])


def test_rows_and_columns():
    assert list(TABLE.rules) == [A, B, C]
    assert TABLE.column("support") == [None, 4, None]
    assert TABLE.column("nothing") == [None, None, None]
    assert TABLE.row(0) == {"weight": 1.0}
    assert list(RuleTable.from_rows(TABLE.rows()).rows()) == list(TABLE.rows())
    assert [rule for rule, _ in TABLE.rows()] == [A, B, C]
    assert TABLE.with_columns({"support": [1, 2, 3]}).row(1) == {"weight": 3.0, "support": 2}
    with pytest.raises(ValueError, match="must have one value for each of 3 rules"):
        TABLE.with_columns({"support": [1]})


def test_the_first_of_repeated_rules_stays():
    assert RuleTable.from_rows([(A, {"weight": 1.0}), (A, {"weight": 2.0})]).columns == {"weight": [1.0]}


def test_heaviest_first_by_relation():
    assert list(TABLE.heaviest().rules) == [C, A, B]
    assert TABLE.heaviest().columns["weight"] == [2.0, 1.0, 3.0]
    assert list(TABLE.heaviest(top=1).rules) == [C, B]
    assert list(TABLE.heaviest(relation=1).rules) == [B]
    assert len(TABLE.heaviest(relation=7)) == 0
