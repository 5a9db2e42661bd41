"""People with ages and birthdays: who is old has a high risk, and elders were born before."""

import numpy as np

from rnnlogic.data.attributes import value_text


def people(number=120, noise=0.0, seed=0):
    """Facts about people; a share of them contradicts the rules that the others follow."""
    rng = np.random.default_rng(seed)
    ages, days = rng.integers(20, 90, number), rng.permutation(20_000)[:number]
    facts = []
    for i in range(number):
        is_old = (ages[i] >= 60) != (rng.random() < noise)
        facts += [
            (f"p{i}", "age", str(ages[i])),
            (f"p{i}", "born", value_text(float(days[i]), "date")),
            (f"p{i}", "risk", "high" if is_old else "low"),
        ]
    for one, other in rng.integers(0, number, (4 * number, 2)).tolist():
        pair = (one, other) if (days[one] < days[other]) != (rng.random() < noise) else (other, one)
        if one != other:
            facts.append((f"p{pair[0]}", "elder", f"p{pair[1]}"))
        if abs(ages[one] - ages[other]) <= 3 and one != other:
            facts.append((f"p{one}", "peer", f"p{other}"))
    return facts
