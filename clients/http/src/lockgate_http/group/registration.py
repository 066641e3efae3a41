"""The registration of a query's readers, and fencing: one run of a query at a time.

Each registration opens a new epoch. A reader is fenced if its epoch is no longer the newest because
another run has registered it. Then its query must stop, while other queries go on. A registration
that was sent twice may have been applied twice. Then the newest epoch is this run's own, and the
run goes on with it.
"""

import logging
from collections.abc import Iterable

from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_http.calls.client import NotRegistered, Stale
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError, Fenced
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.joining import meet_new_group

log = logging.getLogger("lockgate")


class Registration:
    """The readers of one run of a query. `epochs` maps the readers' subtasks to their epochs.

    `epochs` is empty before the readers are registered, and after the coordinator has lost one of
    them.
    """

    def __init__(
        self, session: GroupSession, coordinator: Coordinator, agreement: Agreement, source: str, owner: str, run: str
    ) -> None:
        self.epochs: dict[int, int] = {}
        self._session, self._coordinator, self._agreement = session, coordinator, agreement
        self._source, self._owner, self._run = source, owner, run
        self._checked: GroupConfig | None = None

    def register(self, subtasks: Iterable[int], ceiling: int | None) -> None:
        """Register a reader for each of `subtasks`, and store its epoch.

        `ceiling` is the last one (ms) that the query received, or None. A coordinator that has lost
        its memory lets no reader pass that ceiling.

        Raises:
            Busy: Another owner's lease of a reader still runs.
            ConfigurationError: The group may not be created, or its configuration contradicts the
                query's settings.
        """
        self._refuse_new_group()
        versions, epochs = [], {}
        for subtask in sorted(subtasks):
            registration = ReaderRegistrationEvent(
                subtask=subtask,
                owner=self._owner,
                attributes={"run": self._run},
                config=self._session.config or self._agreement.config,
                ceiling=ceiling,
                configured_at=self._session.configured_at,
            )
            answer = self._session.client.register(self._source, registration)
            epochs[subtask] = answer.epoch
            versions.append(answer.alignment.config_version)
        self.epochs = epochs
        self._leave_removed_sources()
        self._session.follow_config(versions[0])  # a later change shows in the next answer
        self.check_config()

    def _refuse_new_group(self) -> None:
        """Raise `ConfigurationError` if the group does not exist and `new_group` is "refuse".

        `check_coordinator` cannot notice this if the coordinator is unreachable at that time.
        """
        if self._coordinator.new_group != "refuse" or self._session.config is not None:
            return
        try:
            self._session.client.config()
        except NotRegistered:
            meet_new_group(self._session.client, self._coordinator)

    def _leave_removed_sources(self) -> None:
        """Remove the readers of sources that are no longer in the query, if the sources have names.

        No other run would remove these readers, and once lost or parked they would block the group.
        """
        if self.epochs.keys() == set(range(len(self.epochs))):
            return  # numbered one by one: no source has a name
        for subtask, reader in self._session.client.registered(self._source).items():
            if reader.owner == self._owner and subtask not in self.epochs:
                try:
                    self._session.client.leave(self._source, subtask, reader.epoch)
                except (NotRegistered, Stale):
                    continue
                log.info(
                    "group %s: removed reader %s/%d, because its source is no longer in the query",
                    self._session.group,
                    self._source,
                    subtask,
                )

    def check_config(self) -> None:
        """Compare the group's configuration, if it has changed, with the query's settings.

        If they contradict each other, raise `ConfigurationError` at the start, and later only log a
        warning.
        """
        config, before = self._session.config, self._checked
        if config is None or config is before:
            return
        try:
            self._agreement.check(config)
        except ConfigurationError as error:
            if before is None:
                raise
            if config != before:
                log.warning("the group's configuration has changed: %s. The group's value now applies", error)
        self._checked = config

    def find_epochs(self, error: Stale) -> None:
        """Store the readers' newest epochs if this run opened them.

        If a reader is no longer registered, clear `epochs`. Raises `Fenced`, with the text of
        `error`, if another run has registered a newer epoch.
        """
        try:
            newest = self._session.client.registered(self._source)
        except NotRegistered:
            newest = {}
        if not self.epochs.keys() <= newest.keys():
            self.epochs = {}
            return
        for subtask in self.epochs:
            other = newest[subtask]
            if (other.owner, other.attributes.get("run")) != (self._owner, self._run):
                me = f"source {self._source}, run {self._run} of query {self._owner}"
                by = f"run {other.attributes.get('run', '?')} of query {other.owner or '?'}"
                raise Fenced(f"group {self._session.group}: {by} took over from {me}: {error}") from None
        self.epochs = {subtask: newest[subtask].epoch for subtask in self.epochs}
