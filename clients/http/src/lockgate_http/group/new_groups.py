"""A group that is not there yet. Most often a query is the first of its group; now and then the
group's name is misspelt, and the query would align with nobody.
"""

import logging
from difflib import get_close_matches

from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.config import Coordinator
from lockgate_http.errors import AlignmentError, ConfigurationError

log = logging.getLogger("lockgate")


def meet_new_group(client: CoordinatorClient, coordinator: Coordinator) -> None:
    """Log a missing group with similar names, or raise `ConfigurationError` where the
    query may not create it.
    """
    near = _near(client, coordinator.group)
    if coordinator.new_group == "refuse":
        there = f" (did you mean {' or '.join(near)}?)" if near else ""
        raise ConfigurationError(
            f"{coordinator.url} has no group {coordinator.group}{there}: correct Coordinator(group=…), create the "
            f'group (PUT /v1/groups/{coordinator.group}), or leave new_group="refuse" out'
        )
    if near:
        log.warning(
            "group %s does not exist yet at %s. Did you mean %s? If so, correct Coordinator(group=…)",
            coordinator.group,
            coordinator.url,
            " or ".join(near),
        )


def _near(client: CoordinatorClient, group: str) -> list[str]:
    """Similar names among those that the token may see; none where they cannot be listed."""
    try:
        return get_close_matches(group, client.groups_from(group[0]), 3, 0.7)
    except AlignmentError as error:
        log.debug("the groups cannot be listed: %s", error)
        return []
