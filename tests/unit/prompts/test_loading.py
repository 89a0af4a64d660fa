import json

import pytest

from clew.prompts import ChatPromptTemplate, PromptTemplate, load_prompt


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_saved_prompts_load(tmp_path, suffix):
    if suffix == ".yaml":
        pytest.importorskip("yaml", reason="PyYAML is not installed")
    prompt = PromptTemplate.from_template("讲{n}个笑话")
    prompt.save(tmp_path / f"p{suffix}")
    assert load_prompt(tmp_path / f"p{suffix}").format(n=2) == "讲2个笑话"


def test_files_beside_the_prompt(tmp_path):
    write(tmp_path / "t" / "t.txt", "{a}!")
    write(tmp_path / "examples.json", [{"q": "1", "a": "2"}])
    write(tmp_path / "e.json", {"template": "{q}->{a}"})
    assert load_prompt(write(tmp_path / "p.json", {"template_path": "t/t.txt"})).format(a=1) == "1!"
    few = {"_type": "few_shot", "examples": "examples.json", "example_prompt_path": "e.json", "suffix": "{q}"}
    assert load_prompt(write(tmp_path / "f.json", few)).format(q="5") == "1->2\n\n5"


@pytest.mark.parametrize("how", ["absolute", "dots", "link", "folder link"])
@pytest.mark.parametrize("key", ["template_path", "prefix_path", "suffix_path"])
def test_case_139_no_path_leads_out_of_the_folder(tmp_path, how, key):
    secret = write(tmp_path / "secret" / "s.txt", "sk-hidden")
    folder = tmp_path / "prompts"
    folder.mkdir()
    if how == "absolute":
        path = str(secret)
    elif how == "dots":
        path = "../secret/s.txt"
    elif how == "link":
        (folder / "s.txt").symlink_to(secret)
        path = "s.txt"
    else:
        (folder / "sub").symlink_to(secret.parent)
        path = "sub/s.txt"
    config = {key: path}
    if key != "template_path":
        config |= {"_type": "few_shot", "examples": [], "example_prompt": {"template": "x"}, "suffix": "x"}
        config.pop(key.removesuffix("_path"), None)
        config.setdefault("suffix_path" if key == "suffix_path" else "suffix", path if key == "suffix_path" else "x")
    with pytest.raises(ValueError, match="leads out"):
        load_prompt(write(folder / "p.json", config))


def test_case_139_examples_and_prompts_of_prompts_stay_inside_too(tmp_path):
    write(tmp_path / "e.json", [{"q": "sk-hidden"}])
    base = {"_type": "few_shot", "suffix": "x", "example_prompt": {"template": "{q}"}}
    with pytest.raises(ValueError, match="leads out"):
        load_prompt(write(tmp_path / "p" / "a.json", {**base, "examples": "../e.json"}))
    with pytest.raises(ValueError, match="leads out"):
        load_prompt(write(tmp_path / "p" / "b.json", {**base, "examples": [], "example_prompt_path": "../e.json"}))


def test_a_root_can_be_named(tmp_path):
    write(tmp_path / "shared.txt", "{a}")
    prompt = write(tmp_path / "p" / "a.json", {"template_path": "../shared.txt"})
    assert load_prompt(prompt, root=tmp_path).format(a=1) == "1"
    with pytest.raises(ValueError, match="leads out"):
        load_prompt(prompt)
    assert load_prompt(prompt, allow_dangerous_paths=True).format(a=1) == "1"


def test_case_142_jinja_is_not_loaded_from_files(tmp_path):
    for extra in ({}, {"trusted": True}):
        with pytest.raises(ValueError, match="jinja2"):
            load_prompt(write(tmp_path / "p.json", {"template": "{{ x }}", "template_format": "jinja2", **extra}))


@pytest.mark.parametrize(
    "data", ["[]", '{"_type": "chat"}', '{"template": "a", "template_path": "b"}', "{", '{"template_path": "p.json"}']
)
def test_broken_files(tmp_path, data):
    with pytest.raises(ValueError):
        load_prompt(write(tmp_path / "p.json", data))
    with pytest.raises(ValueError):
        load_prompt(write(tmp_path / "p.toml", ""))


def test_what_can_not_be_saved(tmp_path):
    with pytest.raises(ValueError, match="partial"):
        PromptTemplate.from_template("{a}").partial(a=1).save(tmp_path / "p.json")
    with pytest.raises(NotImplementedError):
        ChatPromptTemplate([("user", "x")]).save(tmp_path / "p.json")
