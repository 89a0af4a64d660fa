import pytest

from clew.messages import AIMessage, HumanMessage, ToolMessage, count_tokens_approximately
from clew.messages._tokens import estimate_text


@pytest.mark.parametrize(
    "text, least, most",
    [
        ("The quick brown fox jumps", 4, 8),
        ("敏捷的棕色狐狸跳过了懒狗", 8, 14),
        ("素早い茶色の狐がのろまな犬を飛び越える", 12, 22),
        ("빠른 갈색 여우가 게으른 개를 뛰어넘는다", 8, 22),
        ("Съешь же ещё этих мягких французских булок", 7, 18),
        ("", 0, 0),
    ],
)
def test_goal_37_text_of_many_scripts_is_about_right(text, least, most):
    assert least <= estimate_text(text) <= most


def test_the_count_says_that_it_is_an_estimate():
    assert count_tokens_approximately([HumanMessage("hi")]).is_estimate is True


def test_messages_cost_more_than_their_text():
    assert count_tokens_approximately([]) == 0
    one = count_tokens_approximately([HumanMessage("hi")])
    assert 3 < one < 10
    assert count_tokens_approximately([HumanMessage("hi", name="a long name of somebody")]) > one
    assert count_tokens_approximately([HumanMessage("hi", name="abcdefgh")], count_name=False) == one


def test_calls_and_results_count():
    bare = count_tokens_approximately([AIMessage("")])
    assert (
        count_tokens_approximately([AIMessage("", tool_calls=[{"name": "f", "args": {"a": "x" * 40}, "id": "1"}])])
        > bare + 10
    )
    assert count_tokens_approximately([ToolMessage("x", tool_call_id="call_123456789")]) > 5


def test_tools_count():
    def weather(city: str) -> str:
        """Weather of a city."""
        return city

    assert (
        count_tokens_approximately([HumanMessage("hi")], tools=[weather])
        > count_tokens_approximately([HumanMessage("hi")]) + 10
    )


def test_case_143_images_are_a_fixed_number_whatever_their_url():
    near = HumanMessage([{"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}])
    far = HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}])
    assert count_tokens_approximately([near]) == count_tokens_approximately([far])


def test_case_143_nothing_is_imported_that_could_fetch():
    import subprocess
    import sys

    code = (
        "import sys; from clew.messages import count_tokens_approximately as c, HumanMessage as H; "
        "c([H([{'type': 'image_url', 'image_url': {'url': 'http://169.254.169.254'}}])]); "
        "assert not {'socket', 'urllib.request', 'http.client', 'requests', 'httpx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
