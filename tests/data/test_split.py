import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import DataError
from rnnlogic.data.cleaning import parse_ratios, split_facts, split_sizes

ENTITIES, RELATIONS = 8, 3
fact = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))
fact_sets = st.lists(fact, min_size=1, max_size=120, unique=True)
ratio_lists = st.tuples(st.integers(1, 90), st.integers(0, 90), st.integers(0, 90))


def split_as_sets(facts, ratios=(80, 10, 10), seed=0):
    splits, extra = split_facts(np.array(facts, np.int32), ratios, seed, ENTITIES, RELATIONS)
    return {split: {tuple(row) for row in part.tolist()} for split, part in splits.items()}, extra


def mentioned(facts):
    return {("e", x) for h, _, t in facts for x in (h, t)} | {("r", r) for _, r, _ in facts}


@given(fact_sets, ratio_lists, st.integers(0, 5))
def test_a_split_covers_all_names_and_loses_nothing(facts, ratios, seed):
    splits, extra = split_as_sets(facts, ratios, seed)
    assert set.union(*splits.values()) == set(facts)
    assert sum(map(len, splits.values())) == len(facts)
    assert mentioned(splits["train"]) == mentioned(facts)
    assert len(splits["train"]) == split_sizes(len(facts), ratios)[0] + extra


@given(fact_sets, ratio_lists)
def test_sizes_follow_the_ratios_where_coverage_permits(facts, ratios):
    splits, extra = split_as_sets(facts, ratios)
    if not extra:
        assert tuple(map(len, splits.values())) == split_sizes(len(facts), ratios)
    elif ratios[1] + ratios[2]:
        rest = len(splits["valid"]) + len(splits["test"])
        assert abs(len(splits["valid"]) - rest * ratios[1] / (ratios[1] + ratios[2])) < 1


@given(fact_sets, st.randoms(use_true_random=False))
def test_the_order_of_facts_does_not_matter(facts, random):
    shuffled = list(facts)
    random.shuffle(shuffled)
    assert split_as_sets(facts, seed=3) == split_as_sets(shuffled, seed=3)


def test_another_seed_gives_another_split():
    facts = [(h, 0, t) for h in range(ENTITIES) for t in range(ENTITIES)]
    assert split_as_sets(facts, seed=0) != split_as_sets(facts, seed=1)


def test_train_grows_only_when_names_need_it():
    path = [(i, 0, i + 1) for i in range(ENTITIES - 1)]  # both ends of the path occur once
    splits, extra = split_as_sets(path, (10, 45, 45))
    assert extra >= 3
    assert {(0, 0, 1), (ENTITIES - 2, 0, ENTITIES - 1)} <= splits["train"]


@given(st.integers(0, 10_000), ratio_lists)
def test_sizes_are_within_one_of_the_ratio(total, ratios):
    sizes = split_sizes(total, ratios)
    assert sum(sizes) == total
    assert all(abs(n - total * r / sum(ratios)) < 1 for n, r in zip(sizes, ratios, strict=True))


@pytest.mark.parametrize(
    ("total", "sizes"), [(6_529, (1_959, 1_306, 3_264)), (10_686, (3_206, 2_137, 5_343))]
)
def test_sizes_of_the_paper(total, sizes):
    assert split_sizes(total, (30, 20, 50)) == sizes


def test_ratios_are_read_and_checked():
    assert parse_ratios("80/10/10") == (80, 10, 10)
    for text in ("80/20", "a/b/c", "0/50/50", "80/-10/30", "nan/1/1", ""):
        with pytest.raises(DataError, match="80/10/10"):
            parse_ratios(text)
