"""Which news of splits make a reader exchange: those that no answer has covered."""

from math import inf

from lockgate_reader.group.news import Unheeded


def test_news_of_a_revision_stay_until_an_answer_of_it_in_any_order() -> None:
    news = Unheeded()
    assert not news.is_there(seen=0)
    news.comes(7)
    assert news.is_there(seen=6)
    assert not news.is_there(seen=7)
    news.comes(6)
    assert not news.is_there(seen=7)


def test_news_during_an_exchange_are_there_after_its_answer() -> None:
    news = Unheeded()
    news.comes(inf)
    mark = news.mark
    news.answered(mark)
    assert not news.is_there(seen=3)
    mark = news.mark
    news.comes(inf)
    news.answered(mark)
    assert news.is_there(seen=3)
    mark = news.mark
    news.comes(4)
    news.answered(mark)
    assert news.is_there(seen=3)


def test_answer_covers_news_of_a_lost_history_with_a_lower_revision() -> None:
    news = Unheeded()
    news.comes(90_000)
    news.answered(news.mark)
    assert not news.is_there(seen=5)
    news.comes(6)
    assert news.is_there(seen=5)
