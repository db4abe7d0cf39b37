"""How many of one thing a name may hold at once, in this process."""

from collections.abc import Sequence


class Quota:
    """A bound for each name. Who holds nothing takes no memory."""

    def __init__(self, kind: str, most: int) -> None:
        self.kind = kind
        self.most = most
        self._held: dict[str, int] = {}

    def take(self, name: str) -> bool:
        """Whether there was room for one more."""
        held = self._held.get(name, 0)
        if held >= self.most:
            return False
        self._held[name] = held + 1
        return True

    def give_back(self, name: str) -> None:
        left = self._held[name] - 1
        if left:
            self._held[name] = left
        else:
            del self._held[name]

    def __len__(self) -> int:
        return len(self._held)


Claim = tuple[Quota, str]


def take_all(claims: Sequence[Claim]) -> Claim | None:
    """Take one under each claim, or under none; gives the claim that had no room."""
    for number, (quota, name) in enumerate(claims):
        if not quota.take(name):
            give_all_back(claims[:number])
            return quota, name
    return None


def give_all_back(claims: Sequence[Claim]) -> None:
    for quota, name in claims:
        quota.give_back(name)
