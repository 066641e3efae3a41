"""A network of operators, which runs in one thread and in a known order.

Each task runs one operator. Channels connect tasks, one from each sender to each receiver. Each
input of a task has a valve, which combines the watermarks and statuses of its channels. All other
elements go directly from the channel to the operator.

The order within a channel is always kept. The `choose` argument of `run` picks the channel to
process next, by default each in turn. Event time must not depend on the choice.

    network = Network()
    left, right = network.source("left"), network.source("right")
    joined = network.add("join", Operator(inputs=2))
    network.connect([left], [joined], index=0)
    network.connect([right], [joined], index=1)
    left.output.emit(Watermark(29))
    right.output.emit(Watermark(14))
    network.run()                                   # joined.operator gets 14

`examples/broadcast_watermarks.py` is a complete example.
"""

from collections import deque
from collections.abc import Callable, Sequence

from lockgate.errors import InvalidValue, UnknownName, WrongState
from lockgate.flink.elements import DataOutput, StreamElement, Watermark, WatermarkStatus
from lockgate.flink.propagation.channels import Channel, ChannelOutput, Outputs, Partitioner, forward
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.valve import StatusWatermarkValve


class _Input:
    """The input `index` of an operator, to which the valve of this input writes."""

    def __init__(self, operator: Operator, index: int) -> None:
        self._operator = operator
        self._index = index

    def emit(self, element: StreamElement) -> None:
        self._operator.take(self._index, element)


class Task:
    def __init__(self, name: str, operator: Operator) -> None:
        self.name = name
        self.operator = operator
        self.output = Outputs()
        self.channels: list[list[Channel]] = [[] for _ in range(operator.inputs)]
        self._valves: list[StatusWatermarkValve] = []
        operator.setup(self.output)

    def open(self) -> None:
        """Open the operator, after creating a valve over the connected channels of each input."""
        self._valves = [
            StatusWatermarkValve(len(channels), _Input(self.operator, index))
            for index, channels in enumerate(self.channels)
        ]
        self.operator.open()

    def take(self, index: int, at: int) -> None:
        """Process the first element in channel number `at` of input `index`."""
        element = self.channels[index][at].popleft()
        if isinstance(element, Watermark):
            self._valves[index].input_watermark(at, element.timestamp)
        elif isinstance(element, WatermarkStatus):
            self._valves[index].input_status(at, element)
        else:
            self.operator.take(index, element)


Choice = Callable[[Sequence[tuple[Task, int, int]]], tuple[Task, int, int]]
"""A function that chooses the next channel out of those that are not empty."""


class Network:
    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self._started = False

    def add(self, name: str, operator: Operator) -> Task:
        """Add a task. Raises `InvalidValue` for a taken name, and `WrongState` after `start`."""
        self._not_started()
        if name in self.tasks:
            raise InvalidValue("name", f"must be new, but there is a task {name!r} already")
        self.tasks[name] = task = Task(name, operator)
        return task

    def source(self, name: str) -> Task:
        """Add a task to whose `output` the caller emits elements. Raises the errors of `add`."""
        return self.add(name, Operator())

    def connect(
        self, senders: Sequence[Task], receivers: Sequence[Task], *, index: int = 0, partition: Partitioner = forward
    ) -> None:
        """Add a channel from each sender to input `index` of each receiver.

        `partition` chooses the receivers of a record; by default, all records go to the first
        receiver. Raises `UnknownName` if a receiver has no such input, and `WrongState` after
        `start`.
        """
        self._not_started()
        for receiver in receivers:
            if not 0 <= index < receiver.operator.inputs:
                raise UnknownName("input", index, f"{receiver.name} has inputs 0 to {receiver.operator.inputs - 1}")
        for sender in senders:
            channels: list[Channel] = [deque() for _ in receivers]
            for receiver, channel in zip(receivers, channels, strict=True):
                receiver.channels[index].append(channel)
            sender.output.connections.append(ChannelOutput(channels, partition))

    def collect(self, senders: Sequence[Task], output: DataOutput) -> None:
        """Also send everything that `senders` emit to `output`, which is outside the network."""
        for sender in senders:
            sender.output.connections.append(output)

    def run(self, choose: Choice | None = None) -> None:
        """Start the network if necessary, and process elements until every channel is empty.
        `choose` picks the channel of the next element; by default, the channels take turns.
        """
        self.start()
        taken = 0
        while filled := [
            (task, index, at)
            for task in self.tasks.values()
            for index, channels in enumerate(task.channels)
            for at, channel in enumerate(channels)
            if channel
        ]:
            task, index, at = filled[taken % len(filled)] if choose is None else choose(filled)
            taken += 1
            task.take(index, at)

    def start(self) -> None:
        """Open all tasks, unless they are open already. `run` calls this."""
        if not self._started:
            self._started = True
            for task in self.tasks.values():
                task.open()

    def _not_started(self) -> None:
        if self._started:
            raise WrongState("the network is running: add and connect before")
