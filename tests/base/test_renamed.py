"""Arguments by their old names are understood, with a warning."""

import pytest

from rnnlogic.base.renamed import renamed


@renamed(k="most")
def first(text, most=1):
    return text[:most]


def test_an_old_name_means_the_new_one_and_warns():
    with pytest.warns(FutureWarning, match="k= is now most="):
        assert first("abc", k=2) == "ab"


def test_new_names_do_not_warn(recwarn):
    assert first("abc", most=2) == "ab"
    assert not recwarn.list
