from clew._kernel.usage import combine, fold_usage


def usage(i, o, **details):
    return {"input_tokens": i, "output_tokens": o, "total_tokens": i + o, **details}


def test_deltas_add_up():
    total, mode = fold_usage([(usage(7, 0), "delta"), (usage(0, 5), "delta")])
    assert total == usage(7, 5) and mode == "delta"


def test_case_001_running_totals_replace():
    assert fold_usage([(usage(713, 1), "running"), (usage(713, 2), "running")]) == (usage(713, 2), "running")


def test_case_002_a_final_count_given_twice_counts_once():
    assert fold_usage([(usage(713, 1), "final"), (usage(713, 1), "final")])[0] == usage(713, 1)


def test_a_delta_after_a_total_is_added():
    assert fold_usage([(usage(1, 1), "delta"), (usage(10, 1), "running"), (usage(0, 3), "delta")])[0] == usage(10, 4)


def test_details_that_only_the_earlier_report_has_are_kept():
    first = usage(10, 1, input_token_details={"cache_read": 4, "audio": 1})
    last = usage(10, 5, input_token_details={"cache_read": 4})
    assert fold_usage([(first, "running"), (last, "final")])[0]["input_token_details"] == {"cache_read": 4, "audio": 1}


def test_details_add_and_subtract_never_below_zero():
    a = usage(10, 4, output_token_details={"reasoning": 3})
    b = usage(4, 6, output_token_details={"reasoning": 1, "audio": 2})
    assert combine(a, b)["output_token_details"] == {"reasoning": 4, "audio": 2}
    assert combine(a, b, -1) == {
        "input_tokens": 6,
        "output_tokens": 0,
        "total_tokens": 4,
        "output_token_details": {"reasoning": 2, "audio": 0},
    }
    assert combine(None, None) == usage(0, 0)


def test_no_report_is_none():
    assert fold_usage([]) == (None, "delta")
