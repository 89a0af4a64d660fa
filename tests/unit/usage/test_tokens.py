"""Token counts: exact with the model's tokenizer, marked as estimates without."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest

from clew.errors import MissingDependencyError
from clew.language_models import ScriptedChatModel, get_tokenizer
from clew.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from clew.usage import TokenCount, count_tokens, estimate_tokens, register_tokenizer, tokenizer_for
from clew.usage import _tokens as tokens_module

TEXTS = {
    "Chinese, news": "国务院总理周二主持召开会议,研究部署进一步扩大内需的政策措施。"
    "会议指出,今年以来我国经济运行总体平稳,"
    "但外部环境更趋复杂严峻,必须坚持稳中求进的工作总基调,着力稳就业、稳企业、稳市场、稳预期。",
    "Chinese, chat": "你好呀!我想问一下,明天上海的天气怎么样?如果下雨的话,我们就改到后天去公园吧,"
    "顺便帮我看看附近有没有好吃的火锅店,最好人均一百以内的那种。",
    "Chinese, technical": "本系统采用分布式架构,消息首先写入日志,然后由后台线程异步刷盘。当节点发生故障时,"
    "协调器会根据租约信息选出新的主节点,并重放未完成的任务,从而保证已经完成的工作不会被重复执行。",
    "Chinese, fiction": "那是一个深秋的傍晚,夕阳把整条巷子染成了金黄色。老人坐在门口的藤椅上,手里捧着一杯早已凉透的茶,"
    "目光越过屋檐,望向远处的山。他想起年轻时的事情,嘴角浮起一丝淡淡的微笑。",
    "Chinese, traditional": "臺北市政府今天宣布,自下個月起將調整公共運輸票價,並提供學生與長者優惠方案。"
    "市長表示,這項措施是為了鼓勵民眾多搭乘大眾運輸工具,減少交通壅塞與空氣污染。",
    "Chinese, classical": "臣聞求木之長者,必固其根本;欲流之遠者,必浚其泉源;思國之安者,必積其德義。",
    "Chinese, with English": "我们用 Python 3.11 写了一个 FastAPI 服务,部署在 Kubernetes 上,通过 Redis 做缓存,"
    "QPS 大约 1200,P99 延迟 35ms。",
    "Chinese, law": "第十二条 当事人一方不履行合同义务或者履行合同义务不符合约定的,应当承担继续履行、"
    "采取补救措施或者赔偿损失等违约责任。",
    "Chinese, medical": "患者女性,五十三岁,因反复咳嗽、咳痰两周入院。查体:双肺呼吸音粗,可闻及少量湿啰音,"
    "心率每分钟八十八次,律齐,未闻及杂音。",
    "English, news": "The committee said on Tuesday that it would keep interest rates unchanged, citing persistent "
    "uncertainty about inflation and a labour market that has remained surprisingly resilient.",
    "English, chat": "Hi! Could you help me plan a three day trip to Lisbon? I like good food, long walks and small "
    "museums, and I'd rather not rent a car.",
    "Python": "def total(values: list[int]) -> int:\n    result = 0\n    for value in values:\n        if value > 0:\n"
    "            result += value\n    return result\n",
    "JSON": '{"city": "Berlin", "days": 3, "weather": [{"temp": 21.5, "sky": "clear"}, {"temp": 18.2, "sky": "rain"}]}',
}
# Several sentences each, as one sentence says little.
OTHERS = {
    "Korean": "안녕하세요, 오늘 저녁에 무엇을 먹을까요? 이 프로그램은 파일을 읽고 각 줄의 길이를 출력합니다. "
    "서울의 지하철은 매우 편리하고 요금도 저렴한 편이다. 그는 어제 친구와 함께 영화를 보고 늦게 집에 돌아왔다.",
    "Japanese": "こんにちは、今日はとても良い天気ですね。散歩に行きませんか?このプログラムはファイルを読み込み、"
    "各行の長さを表示します。彼女は毎朝六時に起きて、コーヒーを飲みながら新聞を読む。",
    "Russian": "Правительство приняло решение увеличить финансирование научных исследований. "
    "Эта программа читает файл и печатает длину каждой строки. Он вернулся домой поздно вечером и сразу лёг спать.",
    "French": "Le gouvernement a annoncé mardi une série de mesures destinées à soutenir les petites entreprises "
    "face à la hausse des prix de l'énergie. Où se trouve la gare la plus proche, s'il vous plaît ?",
}
# Written after the estimate was made: what it does on text it has not seen.
UNSEEN = {
    "Chinese, recipe": "先把五花肉切成两厘米见方的小块,冷水下锅焯去血沫,捞出沥干。锅中放少许油,加入冰糖小火炒至枣红色,"
    "倒入肉块翻炒上色,再加生抽、老抽、料酒和热水,盖上锅盖炖四十分钟,最后大火收汁即可出锅。",
    "Chinese, sport": "上半场第三十二分钟,主队前锋接到队友直塞球后冷静推射破门,取得领先。下半场客队加强了逼抢,"
    "但多次射门都被门将扑出,最终比分定格在一比零。",
    "Chinese, letter": "尊敬的王老师:您好!感谢您上周抽出时间与我见面,并耐心回答了我关于研究生申请的许多问题。"
    "按照您的建议,我已经修改了个人陈述,随信附上,恳请您在方便的时候再看一看。",
    "Chinese, review": "这款耳机音质不错,低音很足,戴着也挺舒服。就是充电盒有点大,放口袋里不太方便,"
    "续航大概五个小时,比宣传的短一些,总体来说这个价位还算值得。",
}
NEEDED = "needs: pip install quicktok-v1"


def exact(text: str) -> int:
    """Tokens by o200k_base itself."""
    quicktok = pytest.importorskip("quicktok", reason=NEEDED)
    return quicktok.get_encoding("o200k_base").count(text)


def test_goal_37_the_table_of_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(name, exact(text), estimate_tokens(text)) for name, text in {**TEXTS, **OTHERS, **UNSEEN}.items()]
    with capsys.disabled():
        print(f"\n{'text':24}{'o200k':>7}{'estimate':>10}{'error':>8}")
        for name, true, guess in rows:
            print(f"{name:24}{true:>7}{guess:>10}{(guess - true) / true:>+8.1%}")
    for name, true, guess in rows:
        assert abs(guess - true) <= 0.10 * true, name


def test_openai_models_are_counted_exactly() -> None:
    for text in TEXTS.values():
        count = count_tokens(text, "gpt-4o-mini")
        assert count == exact(text) and count.is_estimate is False


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("openai/gpt-4o", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("claude-sonnet-4", None),
        ("", None),
        (None, None),
    ],
)
def test_the_name_tells_the_vocabulary(model: str | None, vocabulary: str | None) -> None:
    pytest.importorskip("quicktok", reason=NEEDED)
    found: Any = tokenizer_for(model)
    assert (found.name if found is not None else None) == vocabulary


def test_special_tokens_in_a_text_are_text() -> None:
    pytest.importorskip("quicktok", reason=NEEDED)
    assert count_tokens("<|endoftext|>", "gpt-4o") > 1


def test_without_a_tokenizer_the_count_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("quicktok", "tiktoken"):
        monkeypatch.setitem(sys.modules, module, None)
    tokens_module._vocabulary.cache_clear()
    count = count_tokens("hello world", "gpt-4o")
    assert count.is_estimate and count == estimate_tokens("hello world")
    with pytest.raises(MissingDependencyError, match=r"clew\[tokens\]"):
        get_tokenizer()
    tokens_module._vocabulary.cache_clear()


def test_other_tokenizers_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Words:
        def encode(self, text: str) -> list[int]:
            return list(range(len(text.split())))

    monkeypatch.setattr(tokens_module, "_registered", {})
    register_tokenizer("claude", Words())
    count = count_tokens("one two three", "claude-sonnet-4")
    assert count == 3 and not count.is_estimate
    assert ScriptedChatModel(model="anthropic/claude-x").get_num_tokens("one two") == 2


def test_a_count_is_a_number() -> None:
    count = TokenCount(3, is_estimate=True)
    assert count == 3 and count + 1 == 4 and isinstance(count, int) and repr(count) == "3"


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "😀👍🏽", "\ud800", "\x00", "नमस्ते", "สวัสดี", "a" * 10_000])
def test_any_text_has_an_estimate(text: str) -> None:
    count = estimate_tokens(text)
    assert count >= 0 and (count > 0 or text == "")


def test_longer_texts_never_count_less() -> None:
    text = TEXTS["Chinese, chat"] + TEXTS["English, chat"]
    counts = [estimate_tokens(text[:size]) for size in range(0, len(text), 7)]
    assert all(later >= earlier - 2 for earlier, later in itertools.pairwise(counts))


def test_conversations_count_their_parts() -> None:
    model = ScriptedChatModel()
    one = [HumanMessage("hello there")]
    base = model.get_num_tokens_from_messages(one)
    assert model.get_num_tokens_from_messages([]) == 0
    assert model.get_num_tokens_from_messages([SystemMessage("be kind"), *one]) > base
    assert model.get_num_tokens_from_messages([HumanMessage("hello there", name="bob")]) > base
    call: Any = {"name": "f", "args": {"q": "many words in here"}, "id": "1"}
    assert model.get_num_tokens_from_messages([*one, AIMessage("", tool_calls=[call])]) > base + 5
    assert model.get_num_tokens_from_messages([*one, ToolMessage("r", tool_call_id="1")]) > base

    def tool(query: str) -> str:
        """Look something up."""
        return query

    assert model.get_num_tokens_from_messages(one, tools=[tool]) > base + 10


def test_pictures_have_a_fixed_estimate_and_nothing_is_fetched() -> None:
    model = ScriptedChatModel(model="gpt-4o")
    picture = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/never.png"}}
    data = {"type": "image", "base64": "A" * 100_000, "mime_type": "image/png"}
    for block in (picture, data):
        count = model.get_num_tokens_from_messages([HumanMessage([{"type": "text", "text": "what?"}, block])])
        assert 700 < count < 900 and count.is_estimate  # type: ignore[attr-defined]


def test_own_counters_are_used() -> None:
    class Words(ScriptedChatModel):
        def get_token_ids(self, text: str) -> list[int]:
            return list(range(len(text.split())))

    assert Words().get_num_tokens("a b c") == 3
    assert ScriptedChatModel(custom_get_token_ids=lambda text: [1] * 9).get_num_tokens("x") == 9
    assert ScriptedChatModel(custom_get_token_ids=lambda text: [7]).get_token_ids("x") == [7]


def test_tools_are_counted_as_signatures() -> None:
    from clew.language_models._count import tools_text

    function: Any = {
        "name": "find",
        "description": "Find things.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to find"},
                "kind": {"enum": ["a", "b"]},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "near": {"anyOf": [{"type": "object", "properties": {"x": {"type": "number"}}}, {"type": "null"}]},
            },
            "required": ["query"],
        },
    }
    assert tools_text([{"type": "function", "function": function}]) == "\n".join(
        [
            "## functions",
            "namespace functions {",
            "// Find things.",
            "type find = (_: {",
            "// what to find",
            "query: string,",
            'kind?: "a" | "b",',
            "sizes?: number[],",
            "near?: {",
            "x?: number,",
            "} | null,",
            "}) => any;",
            "}",
        ]
    )
