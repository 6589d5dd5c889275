"""Template tags: what people read for each kind of value."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import translation
from lucide import IconDoesNotExist

from core.templatetags.quantities import bytes_, gpus, number, percent, signed, utilisation
from core.templatetags.ui import and_more, duration, sentence


def render(source: str, **context: object) -> str:
    return Template("{% load icons ui quantities figures %}" + source).render(Context(context))


def test_an_icon_is_drawn_by_css_and_hidden_from_readers() -> None:
    drawn = render('{% icon "boxes" "small" %}')

    assert drawn.startswith('<svg class="icon small" viewBox="0 0 24 24" aria-hidden="true"><path ')
    assert "stroke-width" not in drawn
    assert "style" not in drawn


def test_an_icon_alone_has_a_name() -> None:
    assert 'role="img" aria-label="Search &amp; find"' in render('{% icon "search" label=l %}', l="Search & find")


def test_an_icon_that_does_not_exist_fails() -> None:
    with pytest.raises(IconDoesNotExist):
        render('{% icon "no-such-icon" %}')


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("32.000"), "32"),
        (0.1 + 0.2, "0.3"),
        (Decimal("1234567.5"), "1,234,567.5"),
        (Decimal("32462.762619"), "32,462.763"),
        (Decimal("0.125"), "0.125"),
        (-1, "unlimited"),
        (0, '<span class="zero">0</span>'),
        (Decimal("0.0"), '<span class="zero">0</span>'),
        (None, '<span class="none">–</span>'),
    ],
)
def test_gpus_tell_zero_nothing_and_unlimited_apart(value: object, text: str) -> None:
    assert gpus(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1024, "1 KiB"), (76_450_000_000, "71.2 GiB"), (2**40, "1 TiB"), (-1, "unlimited")],
)
def test_bytes_are_binary_and_say_so(value: int, text: str) -> None:
    assert bytes_(value).replace("\u00a0", " ") == text


def test_percent_is_neither_all_nor_nothing_before_it_is() -> None:
    assert percent(97, 144) == "67 %"
    assert percent(Decimal("0.999")) == "99 %"
    assert percent(Decimal("0.003")) == "<\u202f1 %"
    assert percent(0) == "0 %"
    assert percent(5, 0) == '<span class="none">–</span>'
    assert utilisation(0) == '<span class="zero">0 %</span>'
    assert utilisation(None) == '<span class="none">–</span>'


def test_a_difference_has_a_sign() -> None:
    assert signed(Decimal(5)) == "+5"
    assert signed(-21) == "\u221221"


def test_numbers_follow_the_language() -> None:
    with translation.override("zh-hans"):
        assert number(Decimal("12345.5")) == "12,345.5"


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(seconds=12), "12 s"),
        (timedelta(minutes=39, seconds=59), "39 min"),
        (timedelta(minutes=72), "1 h 12 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=19, minutes=5), "19 h"),
        (timedelta(days=4, hours=3), "4 d"),
        (timedelta(seconds=-5), "0 s"),
    ],
)
def test_a_span_has_at_most_two_units(span: timedelta, text: str) -> None:
    assert duration(span) == text


def test_a_moment_is_machine_readable_with_utc_in_the_tooltip() -> None:
    moment = datetime.now(UTC) - timedelta(hours=11)

    assert render("{% moment moment %}", moment=moment) == (
        f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}" title="{moment:%Y-%m-%d %H:%M:%S} UTC" data-time="time">'
        f"{moment:%H:%M:%S} UTC</time>"
    )


@pytest.mark.parametrize("moment", [datetime(2001, 11, 24, 15, 2, 31, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)])
def test_a_moment_of_another_day_is_not_shown_as_todays(moment: datetime) -> None:
    drawn = render("{% moment moment %}", moment=moment)

    assert f'data-time="datetime">{moment:%Y-%m-%d %H:%M} UTC</time>' in drawn


@pytest.mark.parametrize(
    ("phase", "css", "word"),
    [("Running", "running", "Running"), ("NotReady", "failed", "Not ready"), ("Odd", "unknown", "Odd")],
)
def test_a_phase_is_icon_and_word(phase: str, css: str, word: str) -> None:
    drawn = render('{% phase p "chipped" %}', p=phase)

    assert drawn.startswith(f'<span class="phase {css} chipped"><svg class="icon"')
    assert drawn.endswith(f"</svg>{word}</span>")


def test_long_lists_of_names_are_cut() -> None:
    assert and_more(["a", "b", "c"]) == "a, b, c"
    assert and_more(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_the_query_is_edited_and_the_page_dropped(rf: RequestFactory) -> None:
    request = rf.get("/x", {"cluster": "a", "page": "3", "sort": "name"})

    assert render('{% query sort="-name" tab="" %}', request=request) == "?cluster=a&amp;sort=-name"


def test_bars_have_no_style_and_say_what_they_show() -> None:
    drawn = render('{% quota_bar "GPU: 17 of 12" held=17 deserved=12 limit=-1 %}')

    assert 'aria-label="GPU: 17 of 12"' in drawn
    assert '<rect class="f-allocated" x="0%" width="56.471%" height="100%"/>' in drawn
    assert '<rect class="f-over" x="56.471%" width="23.529%" height="100%"/>' in drawn
    assert '<line class="mark thin" x1="56.471%" x2="56.471%"' in drawn
    assert "dashed" not in drawn
    assert "style" not in drawn


def test_a_chart_carries_its_data_as_a_block_that_cannot_break_out() -> None:
    drawn = render('{% chart_data "busy" f %}', f={"title": "</script><b>"})

    assert drawn.startswith('<script id="busy-data" type="application/json">')
    assert "</script><b>" not in drawn


def test_numbers_that_no_cluster_has_are_written_short() -> None:
    assert number(10**39) == "1.000E+39"
    assert number(Decimal("-1e25")) == "-1.000E+25"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("it reads secret hf-token", "It reads secret hf-token"),
        ("nvidia.com/v1beta1 has no such field", "nvidia.com/v1beta1 has no such field"),
        ("'x' is not a duration", "'x' is not a duration"),
        ("32 GPUs would be borrowed", "32 GPUs would be borrowed"),
        ("", ""),
    ],
)
def test_a_message_that_stands_alone_begins_with_a_capital_where_it_begins_with_a_word(
    message: str, shown: str
) -> None:
    assert sentence(message) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.0004", "0.0004"),
        ("10.6666666667", "10.666667"),
        ("99.9999994", "99.999999"),
        ("100.0004", "100"),
        ("1234.5678", "1,234.568"),
    ],
)
def test_a_cell_and_a_sentence_round_an_amount_alike(value: str, shown: str) -> None:
    with translation.override("en"):
        assert (number(Decimal(value)), gpus(Decimal(value))) == (shown, shown)
        assert number(float(value)) == shown
