"""When a cron expression is due: five fields (minute, hour, day, month, weekday), or @hourly, @daily, @weekly …

A field is *, a number, a name (mon, jan), a range a-b, a list a,b or any of these with a step /n. Day and weekday
together
mean either, as cron has it.
"""

from __future__ import annotations

import datetime

_SHORT = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
_MONTHS = {
    name: i
    for i, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_DAYS = {name: i for i, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def _field(text: str, low: int, high: int, names: dict[str, int], whole: str) -> frozenset[int]:
    def number(part: str) -> int:
        value = names.get(part.lower())
        if value is None:
            if not part.isdigit():
                raise ValueError(f"{part!r} in the cron expression {whole!r} is no number")
            value = int(part)
        if not low <= value <= high:
            raise ValueError(f"{value} in the cron expression {whole!r} is not between {low} and {high}")
        return value

    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if step and (not step.isdigit() or int(step) == 0):
            raise ValueError(f"the step {step!r} in the cron expression {whole!r} is no positive number")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (number(one) for one in span.split("-", 1))
        else:
            first = number(span)
            last = high if step else first
        found.update(range(first, last + 1, int(step) if step else 1))
    return frozenset(found)


class Cron:
    """A cron expression in a time zone (an IANA name; UTC by default). Raises: ValueError for what it is not."""

    def __init__(self, text: str, zone: str = "UTC") -> None:
        self.text = text
        fields = _SHORT.get(text.strip().lower(), text).split()
        if len(fields) != 5:
            raise ValueError(f"a cron expression has five fields, not {len(fields)}: {text!r}")
        names: tuple[dict[str, int], ...] = ({}, {}, {}, _MONTHS, _DAYS)
        parsed = [_field(one, *_BOUNDS[i], names[i], text) for i, one in enumerate(fields)]
        self.minutes, self.hours, self.days, self.months = parsed[:4]
        self.weekdays = frozenset(day % 7 for day in parsed[4])
        self.either = fields[2] != "*" and fields[4] != "*"
        if zone == "UTC":
            self.zone: datetime.tzinfo = datetime.UTC
        else:
            from zoneinfo import ZoneInfo

            self.zone = ZoneInfo(zone)

    def _day_fits(self, when: datetime.datetime) -> bool:
        if when.month not in self.months:
            return False
        day, weekday = when.day in self.days, (when.weekday() + 1) % 7 in self.weekdays
        return day or weekday if self.either else day and weekday

    def after(self, seconds: float) -> float:
        """Return the first hour that is due after this one (both seconds since the epoch).

        Raises: ValueError when there is none within five years (30 February).
        """
        utc = datetime.UTC
        when = datetime.datetime.fromtimestamp(seconds, utc).replace(second=0, microsecond=0) + datetime.timedelta(
            minutes=1
        )
        end = when + datetime.timedelta(days=5 * 366)
        while when < end:
            local = when.astimezone(self.zone)
            if not self._day_fits(local):
                when += datetime.timedelta(
                    minutes=(24 - local.hour) * 60 - local.minute if local.hour < 23 else 60 - local.minute
                )
            elif local.hour not in self.hours:
                when += datetime.timedelta(minutes=60 - local.minute)
            elif local.minute not in self.minutes:
                when += datetime.timedelta(minutes=1)
            else:
                return when.timestamp()
        raise ValueError(f"the cron expression {self.text!r} is never due")
