import pytest

from clew.prompts import check_valid_template, get_template_variables
from clew.prompts._template import compile_template


def render(source, format="f-string", trusted=False, **values):
    return compile_template(source, format, trusted=trusted).render(values)


def test_fstring():
    assert render("{a} and {b:>3} and {{c}} {a!r}", a="x", b=1) == "x and   1 and {c} 'x'"
    assert compile_template("{名字}{a}{名字}").variables == ["名字", "a"]
    with pytest.raises(KeyError, match="a"):
        render("{a}")


@pytest.mark.parametrize(
    "source", ["{a.b}", "{a[0]}", "{a[b]}", "{a.__class__}", "{}", "{0}", "{", "}", "{a", "{a:{b}}", "{a!x"]
)
def test_case_140_fstring_fields_are_plain_names(source):
    with pytest.raises(ValueError):
        compile_template(source)


def test_mustache():
    assert render("{{a}} {{{a}}} {{& a }}", "mustache", a="<'x'>") == "<'x'> <'x'> <'x'>"
    assert render("{{d.k.l}}|{{d.no}}|{{d.k.l.m}}", "mustache", d={"k": {"l": 1}}) == "1||"
    assert render("{{#xs}}<{{n}}>{{/xs}}{{^xs}}none{{/xs}}", "mustache", xs=[{"n": 1}, {"n": 2}]) == "<1><2>"
    assert render("{{#xs}}<{{n}}>{{/xs}}{{^xs}}none{{/xs}}", "mustache", xs=[]) == "none"
    assert render("{{#xs}}{{.}},{{/xs}}", "mustache", xs=["a", "b"]) == "a,b,"
    assert render("{{#user}}{{name}} {{other}}{{/user}}", "mustache", user={"name": "A"}, other="B") == "A B"
    assert render("a{{! note }}b", "mustache") == "ab"
    assert render("x\n{{#yes}}\nin\n{{/yes}}\ny", "mustache", yes=True) == "x\nin\ny"
    assert compile_template("{{a.b}} {{#c}}{{d}}{{/c}} {{a}}", "mustache").variables == ["a", "c"]
    with pytest.raises(KeyError, match="a"):
        render("{{a}}", "mustache")


class Secretive:
    token = "sk-hidden"

    def __str__(self):
        return "shown"


@pytest.mark.parametrize(
    "source",
    ["{{m.token}}", "{{m.__class__}}", "{{#m}}{{token}}{{__class__}}{{/m}}", "{{l.0}}", "{{l.__len__}}", "{{s.upper}}"],
)
def test_case_140_mustache_goes_through_dict_keys_only(source):
    text = render(source, "mustache", m=Secretive(), l=["x"], s="x")
    assert text == ""


@pytest.mark.parametrize("source", ["{{#a}}", "{{/a}}", "{{#a}}{{/b}}", "{{> file}}", "{{=<% %>=}}"])
def test_broken_mustache(source):
    with pytest.raises(ValueError):
        compile_template(source, "mustache")


def test_case_142_jinja_needs_trust():
    with pytest.raises(ValueError, match="trusted"):
        compile_template("{{ x }}", "jinja2")


def test_jinja():
    pytest.importorskip("jinja2", reason="the extra jinja2 is not installed")
    assert render("{% for i in xs %}{{ loop.index }}:{{ i }};{% endfor %}", "jinja2", True, xs="ab") == "1:a;2:b;"
    assert (
        render("{{ d.k }}{{ d['k'] }}{% for k, v in d.items() %}{{ k }}{% endfor %}", "jinja2", True, d={"k": 1})
        == "11k"
    )
    assert compile_template("{{ a }}{% set b = 1 %}{{ b }}", "jinja2", trusted=True).variables == ["a"]
    with pytest.raises(KeyError, match="a"):
        render("{{ a }}", "jinja2", True)


@pytest.mark.parametrize(
    "source",
    [
        "{{ x.__class__ }}",
        "{{ x.token }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ x|attr('token') }}",
        "{% for i in range(10**6) %}a{% endfor %}",
        "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}",
        "{% for a in s %}" * 4 + "{% endfor %}" * 4,
        "{{ 'a' * 10**7 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{% for a in s %}{% for b in s %}{% for c in s %}{{ s }}{% endfor %}{% endfor %}{% endfor %}",
        "{% include 'x' %}",
        "{{",
    ],
)
def test_case_142_jinja_is_sandboxed_and_bounded(source):
    pytest.importorskip("jinja2", reason="the extra jinja2 is not installed")
    try:
        text = render(source, "jinja2", True, x=Secretive(), s="x" * 100)
    except (ValueError, PermissionError):
        return
    assert "hidden" not in text and "class" not in text


def test_unknown_formats():
    with pytest.raises(ValueError, match="template_format"):
        compile_template("x", "erb")


def test_names_of_a_template():
    assert get_template_variables("{b}{a}", "f-string") == ["a", "b"]
    check_valid_template("{a}", "f-string", ["a"])
    with pytest.raises(ValueError, match="missing"):
        check_valid_template("{a}", "f-string", ["b"])
