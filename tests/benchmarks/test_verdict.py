"""The rates that the classifier's benchmark reports."""

from benchmarks import verdict


def row(w1, size, logsd=0.0, fit="default"):
    return {"w1": w1, "w1_floor": 0.03, "logsd_err": logsd, "size": size, "fit": fit}


ROWS = [
    row(0.03, 0.5),  # right and good
    row(0.04, 1.5),  # right and accused
    row(0.20, 0.5),  # bad and good
    row(0.20, 3.0),
    row(0.03, 3.0, logsd=0.3),  # bad by its sd
    row(0.10, 0.1),  # in between
    row(0.03, 9.0, fit=verdict.MARGINS),  # right by its margins alone
]


def test_false_good_is_a_share_of_the_bad_and_false_alarm_one_of_the_right():
    assert verdict.rates(ROWS) == (1 / 3, 1 / 2)
    assert verdict.rates(ROWS, size=10.0) == (1.0, 0.0)
    assert verdict.rates(ROWS, size=0.0) == (0.0, 1.0)
    assert [verdict.bad(r) for r in ROWS] == [False, False, True, True, True, False, False]
