"""The explorer in a real browser: every view, by mouse and keys, with names that hurt, and after a kill."""

import json
import shutil
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect, sync_playwright

from rnnlogic.data.graph import Graph
from rnnlogic.rules.features import FEATURES
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Chain, Feature, mirrored
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.serve.views import rule_page
from rnnlogic.statistics.pairs import rule_examples
from tests.helpers.site import HEBREW, HTML, LONG, SLASH, Server
from tests.helpers.waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE = {"width": 390, "height": 844}
BANNED = "grandparent(X,Y) <- married(X,Z) & grandparent(Z,Y)"


@pytest.fixture(scope="module")
def page(server):
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    # A click returns before the next page is there: what follows one is expected, not read at once.
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        made = browser.new_context(
            base_url=server.address, viewport={"width": 1100, "height": 800}
        ).new_page()
        made.problems = []
        goto = made.goto

        def until_filled(*arguments, **options):
            """A page, with what comes later."""
            answer = goto(*arguments, **options)
            made.wait_for_selector(
                "[data-fill]:not([data-was]), [data-filling]", state="detached", timeout=1000 * PATIENCE
            )
            return answer

        made.goto = until_filled
        made.set_default_timeout(1000 * PATIENCE)
        made.on("pageerror", lambda error: made.problems.append(str(error)))
        made.on("console", lambda said: made.problems.append(said.text) if said.type == "error" else None)
        made.on("dialog", lambda dialog: (made.problems.append("dialog"), dialog.dismiss()))
        made.on(
            "request",
            lambda asked: None if asked.url.startswith(server.address) else made.problems.append(asked.url),
        )
        yield made
        browser.close()


@pytest.fixture(autouse=True)
def nothing_goes_wrong(request):
    yield
    if "page" in request.fixturenames:
        page = request.getfixturevalue("page")
        assert page.problems == []
        assert page.title() != "broken"


def address(view="", **query):
    return f"/runs/family/{view}?{urlencode(query)}" if view else "/"


def why_of_a_missing_fact(client):
    """A fact that the graph lacks and rules propose."""
    fact = client.get("/v1/complete?max=1").json()
    return {name: fact[name] for name in ("head", "relation", "tail")}


def test_start_has_figures_relations_and_questions(page):
    page.goto("/")
    assert page.locator(".figures dd").first.inner_text() == "64"
    page.wait_for_selector("table:not([data-fill]) td[data-metric='hits@1']:has-text('%')")
    page.locator(".cards a").first.click()
    expect(page.locator(".answers li").first).to_be_visible()


def unfinished(page, path, change):
    """Open a page whose first answer is changed to that of a server which is still at work."""
    changed = []

    def answer(route):
        found = route.fetch()
        changed.append(change(found.text()))
        assert changed[0] != found.text()
        route.fulfill(response=found, body=changed[0])

    page.route(lambda url: url.endswith(path), answer, times=1)
    page.goto(path, wait_until="commit")
    page.wait_for_selector("main")
    assert changed


def test_figures_that_come_later_leave_what_is_typed(page):
    unfinished(page, "/", lambda text: text.replace('id="relations"', 'id="relations" data-fill data-was'))
    page.locator(".search input").fill("grand")
    expect(page.locator("[data-was]")).to_have_count(0)
    expect(page.locator("td[data-metric='hits@1']").first).to_contain_text("%")
    expect(page.locator(".search input")).to_have_value("grand")


def test_answers_that_come_later_are_filled_in(page):
    working = '<div id="answers" data-fill data-was><p class="working">Asking</p></div><div hidden>'
    path = address("question", head="grandpa1", relation="grandparent")
    unfinished(page, path, lambda text: text.replace('<div id="answers">', working))
    expect(page.locator("[data-was]")).to_have_count(0)
    item = page.locator("#answers [data-answers] > li").first
    expect(item).to_be_visible()
    page.locator("#answers [data-filter]").first.fill("1")  # it works as if it had been there
    expect(item).to_be_hidden()


def test_a_page_that_comes_later_is_filled_in(page, client):
    start, end = '<main id="main" tabindex="-1">', "</main>"

    def working(text):
        before, rest = text.replace("<body", "<body data-filling").split(start)
        return f"{before}{start}<p class='working'>Looking for reasons</p>{end}{rest.split(end)[1]}"

    unfinished(page, address("why", **why_of_a_missing_fact(client)), working)
    expect(page.locator(".reasons li").first).to_be_visible()
    page.locator("[data-highlight]").first.click()
    expect(page.locator("[data-highlight]").first).to_have_attribute("aria-pressed", "true")


def test_a_review_is_filled_in(page):
    path = "/runs/family/review"
    items = page.locator("[data-queue] > li")
    page.goto(path)
    expect(page.locator("[data-filling]")).to_have_count(0)
    facts = items.evaluate_all("all => all.map(i => i.dataset.fact)")
    assert len(facts) > 3

    def without_the_second(text):
        queue = text.index("data-queue")
        first = text.index("<li", queue)
        second = text.index("<li", first + 1)
        rest = text.index("</li>", second) + len("</li>")
        return (text[:second] + text[rest:]).replace("<body", "<body data-filling")

    unfinished(page, path, without_the_second)
    expect(items).to_have_count(len(facts))
    expect(page.locator("[data-filling]")).to_have_count(0)
    assert items.evaluate_all("all => all.map(i => i.dataset.fact)") == facts


def test_search_finds_as_you_type_and_goes_by_keys(page):
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("grandfather")
    page.wait_for_selector(".suggestions li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=grandpa1")
    expect(page.locator("h1")).to_have_text("Grandfather One")
    page.locator(".search input").fill("parent")
    page.wait_for_selector(".suggestions li:has-text('relation')")
    page.locator(".search input").fill("<script>")
    page.wait_for_selector(f".suggestions li:has-text({HTML[:10]!r})")


def test_keys_wait_for_the_suggestions_of_what_is_typed(page):
    """Enter right after more letters must not open what fewer letters suggested."""
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("grand")
    page.wait_for_selector(".suggestions li")
    assert "Grandfather One" not in page.locator(".suggestions li").first.inner_text()
    page.keyboard.type("father")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=grandpa1")
    page.locator(".search input").fill("no such name anywhere")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=no*")
    page.problems.clear()  # the browser notes that there is no such page


def test_what_is_only_similar_is_offered_and_not_opened(page):
    page.goto("/")
    page.locator(".search input").fill("granpda1")
    page.wait_for_selector(".suggestions li a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=granpda1")
    page.problems.clear()
    expect(page.locator("main")).to_contain_text("unknown entity 'granpda1'")
    page.locator("main .names a", has_text="Grandfather One").click()
    page.wait_for_url("**/entity?name=grandpa1")
    page.locator(".search input").fill("father one")  # a part of its label
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=father*one")
    page.problems.clear()
    expect(page.locator("main .names a").first).to_have_text("Grandfather One")


def test_enter_on_an_unknown_name_keeps_the_question(page):
    page.goto(address("question"))
    page.locator("main [name=head]").fill("grandpa")
    page.locator("main [name=relation]").select_option("married")
    page.wait_for_selector("main .suggestions li a[href*='entity?name=grandpa']")  # links, for another tab
    page.keyboard.press("Tab")
    page.locator("main [name=head]").fill("grandpax")
    page.wait_for_selector("main .suggestions li")
    page.locator("main [name=head]").press("Enter")
    page.wait_for_url("**/question?head=grandpax*")
    page.problems.clear()
    expect(page.locator("[role=alert]")).to_contain_text("unknown entity 'grandpax'")
    expect(page.locator("main [name=head]")).to_have_value("grandpax")
    expect(page.locator("main [name=relation]")).to_have_value("married")
    page.locator("[role=alert] a").first.click()
    expect(page.locator("[data-answers]")).to_be_visible()


def test_a_question_for_heads_is_asked_and_said(page):
    page.goto(address("question", tail="grandchild1_0", relation="parent"))
    expect(page.locator("h1")).to_have_text("? parent grandchild1_0")
    assert "^-1" not in page.locator("main").inner_text()
    page.goto(address("question", tail="grandchild1_0", relation="married"))
    expect(page.locator("h1")).to_have_text("grandchild1_0 is married to ?")


@pytest.mark.parametrize("name", [HTML, HEBREW, LONG.strip(), SLASH])
@pytest.mark.parametrize("width", [1100, 390])
def test_an_entity_of_any_name(page, name, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address("entity", name=name))
    heading = page.locator("h1")
    assert heading.inner_text() == name or heading.locator("[title]").get_attribute("title") == name
    assert page.locator(".group .names a").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1100, "height": 800})


def test_answers_are_filtered(page):
    page.goto(address("question", head="grandpa1", relation="grandparent"))
    items = page.locator("[data-answers] > li")
    total = items.count()
    assert page.locator("[data-answers] .tag").count() > 0
    page.locator("[data-hide-known]").check()
    assert 0 < page.locator("[data-answers] > li:visible").count() < total
    page.locator("[data-filter]").fill("1")
    expect(page.locator("[data-answers] > li:visible")).to_have_count(0)
    expect(page.locator("[data-empty]")).to_be_visible()


def test_why_highlights_the_paths_of_a_rule(page, client):
    page.goto(address("why", **why_of_a_missing_fact(client)))
    marked = page.locator(".picture path[data-marks]")
    assert marked.count() > 2
    button = page.locator("[data-highlight]").first
    button.focus()
    page.keyboard.press("Enter")
    mark = button.get_attribute("data-highlight")
    for i in range(marked.count()):
        is_dim = "dim" in (marked.nth(i).get_attribute("class") or "")
        assert is_dim != (mark in marked.nth(i).get_attribute("data-marks").split())
    button.click()
    expect(page.locator(".picture .dim")).to_have_count(0)
    page.locator("[name=instead]").fill("grandpa3")
    page.locator("main .ask-form button").click()
    expect(page.locator("h1")).to_contain_text("not grandpa3")


def test_the_facts_of_the_runner_up_stand_beside_those_of_the_answer(page, client):
    page.goto(address("why", **why_of_a_missing_fact(client)))
    assert page.locator(".beside figure").count() == 2
    left, right = (page.locator(".beside figure").nth(i).bounding_box() for i in (0, 1))
    assert left["x"] + left["width"] <= right["x"]
    page.locator("main .names a").first.click()
    expect(page.locator("h1")).to_contain_text(", not ")
    expect(page.locator(".beside figure")).to_have_count(2)


def test_a_neighbourhood_is_opened_in_place(page):
    page.goto(address("entity", name="grandpa1", min=0))
    drawn = page.locator("#around a.entity")
    number = drawn.count()
    assert number > 2
    sign = page.locator("#around a.sign").first
    assert sign.get_attribute("aria-label").startswith("Show the facts about")
    page.evaluate("document.body.dataset.same = 'yes'")
    sign.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "number => document.querySelectorAll('#around a.entity').length > number", arg=number
    )
    assert page.evaluate("document.body.dataset.same") == "yes"  # the page stays
    assert "open=" in page.url
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("Hide the facts about")
    page.reload()
    assert page.locator("#around a.entity").count() > number
    page.locator("#around a.sign[aria-label^=Hide]").click()
    expect(drawn).to_have_count(number)


def test_without_scripts_pages_are_complete_and_pictures_open(page, server):
    context = page.context.browser.new_context(base_url=server.address, java_script_enabled=False)
    try:
        plain = context.new_page()
        plain.goto(address("question", head="grandpa1", relation="grandparent"))
        expect(plain.locator("[data-answers] > li").first).to_be_visible()
        plain.goto("/runs/family/review")
        expect(plain.locator("[data-queue] > li").first).to_be_visible()
        plain.goto(address("entity", name="grandpa1"))
        drawn = plain.locator("#around a.entity")
        number = drawn.count()
        plain.locator("#around a.sign").first.click()
        plain.wait_for_url("**/entity?*open=*")
        assert drawn.count() > number
    finally:
        context.close()


def test_proposals_are_dashed_and_say_why(page, client):
    fact = why_of_a_missing_fact(client)
    page.goto(address("entity", name=fact["head"], min=0))
    proposed = page.locator("#around a.proposed")
    assert proposed.count() > 0
    assert (
        page.locator("#around .fact.proposed").first.evaluate("one => getComputedStyle(one).strokeDasharray")
        != "none"
    )
    proposed.first.focus()
    expect(page.locator("[data-why-text]")).to_contain_text("Proposed with probability")
    expect(page.locator("[data-why-text]")).to_contain_text("because")
    page.locator("h1").click()
    expect(page.locator("[data-why-text]")).not_to_contain_text("Proposed with probability")
    expect(page.locator("#missing .because").first).to_contain_text("because")


def test_the_keys_are_listed_everywhere(page):
    for view in ("", "question", "rules", "review"):
        page.goto(address(view))
        page.locator("main").click(position={"x": 1, "y": 1})
        page.keyboard.press("?")
        expect(page.locator("dialog[data-keys]")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog[data-keys]")).to_be_hidden()


def test_rules_are_banned_and_pictures_scrolled_on_a_phone(page, client):
    page.set_viewport_size({"width": 400, "height": 800})
    try:
        page.goto(address("rules", relation="grandparent"))
        for button in page.locator("[data-edit]").all():
            box = button.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 400
        page.goto(address("entity", name="grandpa1"))
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        hint = page.locator("#around [data-scroll-hint]")
        expect(hint).to_be_visible()
        page.locator("#around [data-scroll]").evaluate("one => { one.scrollLeft = 50; }")
        expect(hint).to_be_hidden()
    finally:
        page.set_viewport_size({"width": 1100, "height": 800})


def test_why_on_a_phone_in_the_dark(page, client):
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    page.goto(address("why", **why_of_a_missing_fact(client)))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 24, 30)"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1100, "height": 800})


def test_rules_are_banned_and_downloaded(page):
    page.goto(address("rules", relation="grandparent", sort="confidence"))
    page.locator(f"[data-edit=ban][data-rule='{BANNED}']").click()
    page.reload()
    expect(page.locator("[data-edits-text]")).to_have_text("1 banned, 0 pinned")
    with page.expect_download() as waited:
        page.locator("[data-edits] button").first.click()
    text = waited.value.path().read_text(encoding="utf-8")
    assert waited.value.suggested_filename == "family-edited.rules"
    rules = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(rules) == 5
    assert BANNED not in rules
    assert f"# banned: {BANNED}" in text


def test_a_rule_has_right_and_wrong_examples(page):
    page.goto(address("rule", text="parent(X,Y) <- married(X,Z) & parent(Z,Y)"))
    assert page.locator(".examples").first.locator(".path").count() > 0
    assert "confidence" in page.locator(".figures").inner_text()


def test_examples_of_a_rule_with_constants(app):
    run = app.state.runs["family"]
    rule = parse_rule("grandparent(X,grandchild3_0) <- married(X,Z)", run.vocab)
    found = rule_page(run, rule)
    assert {one["tail"] for kind in ("right", "wrong") for one in found[kind]} == {"grandchild3_0"}
    turned = rule_page(run, mirrored(rule, run.vocab.num_relations))
    assert {one["head"] for kind in ("right", "wrong") for one in turned[kind]} == {"grandchild3_0"}


def test_examples_of_features_are_pairs_without_paths():
    graph = Graph.from_triples([(0, 0, 1), (0, 1, 1), (2, 1, 1), (1, 0, 2), (3, 1, 2)], 4, 2)
    rules = RuleSet.from_rules([Chain(0, (1,)), *(Feature(0, name) for name in FEATURES)])
    for rule in list(rules)[1:]:
        found = rule_examples(graph, graph, rule, among=rules)
        assert all(path.relations == () and len(path.entities) == 2 for path in (*found.right, *found.wrong))
        wrong = [path.entities for path in found.wrong]
        if rule.name == "linked":
            assert [path.entities for path in found.right] == [(0, 1)]
        assert ((2, 1) in wrong) == (rule.name in ("reversed", "linked", "seen", "frequency", "degree"))


def test_a_review_survives_a_kill(page, run_folder):
    file = run_folder.with_name("family.decisions.jsonl")
    first = Server(str(run_folder))
    try:
        page.goto("about:blank")
        page.problems.clear()
        page.goto(f"{first.address}{address('review')}")
        assert page.locator("[data-queue] > li").count() > 3
        for key, verdict in (("a", "accept"), ("r", "reject"), ("s", "unsure")):
            place = page.locator("li.current")
            handle = place.element_handle()
            page.keyboard.press(key)
            page.wait_for_function(
                "([item, verdict]) => item.dataset.decision === verdict", arg=[handle, verdict]
            )
        first.kill()
        # The kill may cut off an answer that was under way: the browser complains, and rightly.
        page.goto("about:blank")
        page.problems[:] = [p for p in page.problems if "Failed to load resource: net::" not in p]
        kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert [line["verdict"] for line in kept] == ["accept", "reject", "unsure"]
        second = Server(str(run_folder))
        try:
            page.goto(f"{second.address}{address('review')}")
            decided = page.locator("[data-queue] > li").evaluate_all(
                "all => all.map(i => i.dataset.decision)"
            )
            assert sorted(filter(None, decided)) == ["accept", "reject", "unsure"]
            assert decided[0] == ""
            with page.expect_download() as waited:
                page.locator("a[download]").first.click()
            exported = waited.value.path().read_text(encoding="utf-8").splitlines()
            assert len(exported) == 2
            page.locator("li[data-decision=accept] button[value=undo]").click()
            expect(page.locator("li[data-decision=accept]")).to_have_count(0)
            assert json.loads(file.read_text(encoding="utf-8").splitlines()[-1])["verdict"] == "undo"
        finally:
            second.kill()
    finally:
        first.kill()
        file.unlink(missing_ok=True)
        page.problems[:] = [p for p in page.problems if "127.0.0.1" not in p]


def test_pages_work_without_a_browser(client):
    """Every view answers, and errors are pages for those who read pages."""
    for view in ("", "question", "rules", "review"):
        assert client.get(f"/runs/family/{view}".rstrip("/")).status_code == 200
    assert client.get("/api").status_code == 200
    missing = client.get(address("entity", name="grandpa11"), headers={"Accept": "text/html"})
    assert missing.status_code == 404
    assert missing.headers["content-type"].startswith("text/html")
    assert "name=grandpa1" in missing.text
    for text in (HTML, HEBREW):
        answer = client.get(address("entity", name=text)).text
        assert "<script>document" not in answer
        assert "<img" not in answer


def test_a_decision_on_the_page_of_a_fact_is_undone_by_a_key(page, server, run_folder):
    file = run_folder.with_name("family.decisions.jsonl")
    try:
        fact = {"head": "grandpa1", "relation": "married", "tail": "child1_0"}
        page.goto(address("why", **fact))
        page.locator("[name=comment]").fill("they are not")
        page.locator("button[value=reject]").click()
        expect(page.locator("[data-decision=reject] .verdict")).to_be_visible()
        page.goto(address("question", head=fact["head"], relation=fact["relation"]))
        assert page.locator("[data-answers] > li input[name=tail][value=child1_0]").count() == 0
        page.keyboard.press("?")
        expect(page.locator("[data-keys]")).to_have_attribute("open", "")
        page.keyboard.press("?")
        expect(page.locator("[data-keys]")).not_to_have_attribute("open", "")
        page.keyboard.press("u")
        page.wait_for_function("() => performance.getEntriesByType('navigation')[0].type === 'reload'")
        made = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert [one["verdict"] for one in made] == ["reject", "undo"]
        assert made[0]["comment"] == "they are not"
    finally:
        file.unlink(missing_ok=True)
