"""A small memory: what it keeps, what it forgets, threads and pickling."""

import pickle
from concurrent.futures import ThreadPoolExecutor

from rnnlogic.base.types import Recent


def test_the_values_used_last_stay():
    made = []

    def make(key):
        made.append(key)
        return key * 10

    recent = Recent(2)
    for key in (1, 2, 1, 3, 1, 2):
        assert recent.get(key, lambda key=key: make(key)) == key * 10
    assert made == [1, 2, 3, 2]  # 2 was forgotten when 3 came, as 1 had been used later


def test_what_is_kept_is_left_behind_when_pickled():
    recent = Recent(2)
    recent.get(1, lambda: object)
    copied = pickle.loads(pickle.dumps(recent))
    assert copied.get(1, lambda: "anew") == "anew"


def test_all_threads_get_the_same_object():
    recent = Recent(1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: recent.get("graph", object), range(200)))
    assert len({id(one) for one in found[100:]}) == 1
