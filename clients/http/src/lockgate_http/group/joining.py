"""Check the coordinator and the group before the query reads any data.

If the group does not exist, the query is usually the first one of a new group. But the group's name
may also be misspelt, and then the query would be aligned with no other query. So a warning is
logged if the coordinator has groups with similar names.
"""

import logging
from difflib import get_close_matches

from lockgate.wire.events import CatchUp
from lockgate_http.calls.client import CoordinatorClient, NotRegistered, Unreachable, Untrusted
from lockgate_http.config import Coordinator
from lockgate_http.errors import AlignmentError, ConfigurationError
from lockgate_http.group.agreement import Agreement

log = logging.getLogger("lockgate")


def check_coordinator(coordinator: Coordinator, agreement: Agreement) -> None:
    """Check the coordinator before the reader runs. If it is unreachable, log a warning.

    Raises:
        AccessDenied: The token is refused.
        NotACoordinator: Another server answers.
        ConfigurationError: The reader's settings contradict the group's, the reader may not create
            the group, or TLS settings are wrong.
    """
    with CoordinatorClient(coordinator) as client:
        try:
            config = client.config()
            agreement.check(config)
            if agreement.catch_up is CatchUp.STRICT and config.catch_up is not CatchUp.STRICT:
                log.warning(
                    "Coordinator(catch_up='strict') has no effect: group %s already exists with catch_up=%s. Leave "
                    "catch_up out, or change the group's configuration (PUT /v1/groups/%s)",
                    coordinator.group,
                    config.catch_up.value,
                    coordinator.group,
                )
        except NotRegistered:
            meet_new_group(client, coordinator)
        except Untrusted as error:
            raise ConfigurationError(str(error)) from None
        except Unreachable as error:
            log.warning(
                "%s. The %s will wait for the coordinator. Is it running, and is Coordinator(url=…) right?",
                error,
                agreement.asker,
            )


def meet_new_group(client: CoordinatorClient, coordinator: Coordinator) -> None:
    """Handle a group that does not exist yet: log a warning if others have similar names. Raises
    `ConfigurationError` if the query may not create the group.
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
    """Return up to three similar group names that the token may see, or none if listing fails."""
    try:
        return get_close_matches(group, client.groups_from(group[0]), 3, 0.7)
    except AlignmentError as error:
        log.debug("the groups cannot be listed: %s", error)
        return []
