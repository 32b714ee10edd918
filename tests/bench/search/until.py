"""When a bench that may take hours is to stop: the environment's UNTIL=HH:MM."""
import datetime
import math
import os


def deadline() -> float:
    """The next time at which the clock shows UNTIL, also when that is tomorrow."""
    if "UNTIL" not in os.environ:
        return math.inf
    hour, minute = map(int, os.environ["UNTIL"].split(":"))
    now = datetime.datetime.now()
    at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (at if at > now else at + datetime.timedelta(days=1)).timestamp()
