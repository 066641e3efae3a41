"""The checks of a coordinator and a group before anything is read."""

import logging

from lockgate.wire.events import CatchUp
from lockgate_http.calls.client import CoordinatorClient, NotRegistered, Unreachable, Untrusted
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.new_groups import meet_new_group

log = logging.getLogger("lockgate")


def check_coordinator(coordinator: Coordinator, agreement: Agreement) -> None:
    """Find before the reader runs that the token is refused, or that the group has another
    configuration.
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
