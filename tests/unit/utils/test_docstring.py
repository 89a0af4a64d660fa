import pytest

from clew.utils._docstring import parse_docstring

GOOGLE = """Search the web.

    Longer words.

    Args:
        query (str): what to look for,
            in any language
        top_k: how many
        **options: the rest

    Returns:
        The results.
    """
NUMPY = """Search the web.

    Longer words.

    Parameters
    ----------
    query : str
        what to look for,
        in any language
    top_k : int, optional
        how many

    Returns
    -------
    list
        The results.
    """
SPHINX = """Search the web.

    Longer words.

    :param str query: what to look for,
        in any language
    :param top_k: how many
    :type top_k: int
    :returns: the results
    """
EPYTEXT = """Search the web.

    Longer words.

    @param query: what to look for,
        in any language
    @param top_k: how many
    @return: the results
    """


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX, EPYTEXT], ids=["google", "numpy", "sphinx", "epytext"])
def test_western_forms(doc):
    description, args = parse_docstring(doc)
    assert description == "Search the web.\n\nLonger words."
    assert args["query"] == "what to look for, in any language" and args["top_k"] == "how many"
    assert set(args) <= {"query", "top_k", "options"}


@pytest.mark.parametrize("heading", ["参数:", "参数：", "参数说明：", "入参:", "Args:", "Arguments:", "Parameters:"])
@pytest.mark.parametrize("colon", [":", "："])
def test_chinese_forms(heading, colon):
    entries = f'        location（str）{colon}地点名称,如"北京"\n        days{colon} 天数\n'
    doc = f"获取天气\n\n    {heading}\n{entries}\n    返回：\n        天气\n"
    description, args = parse_docstring(doc)
    assert description == "获取天气" and args == {"location": '地点名称,如"北京"', "days": "天数"}


def test_sections_without_arguments():
    assert parse_docstring("Do it.\n\nReturns:\n    x: y\n") == ("Do it.", {})
    assert parse_docstring("Do it.\n\nRaises:\n    ValueError: often\n") == ("Do it.", {})
    assert parse_docstring("First.\n\nNote: this is text") == ("First.", {})


def test_no_docstring():
    assert parse_docstring(None) == parse_docstring("") == ("", {})


def test_lists_and_backticks():
    assert parse_docstring("X.\n\nArgs:\n    - `a`: one\n    - b: two: with colon\n")[1] == {
        "a": "one",
        "b": "two: with colon",
    }


def test_blank_lines_between_entries():
    assert parse_docstring("X.\n\nArgs:\n    a: one\n\n    b: two\n\nMore.")[1] == {"a": "one", "b": "two"}


def test_several_names_of_one_numpy_entry():
    assert parse_docstring("X.\n\nParameters\n----------\na, b : int\n    both\n")[1] == {"a": "both", "b": "both"}
