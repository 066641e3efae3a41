------------------------------ MODULE Reduced ------------------------------
\* Group with fewer states, for TLC. Each reduction keeps every violation of a property of states or of steps, but not
\* liveness. Neither is made for coordinators with caches of their own.
\*
\* 1. States that no step and no property distinguishes are one (`View`). It leaves out:
\*    * Numbers. Steps compare revisions, epochs and versions, and do not count with them. A new number is above all that
\*      were given out before (`Tick`; after a loss, `clock`). So the view has only the results of the comparisons that may
\*      still be made: with the numbers of the store, the backup and the delayed event, and of an answer with its reader.
\*    * Owed readers that cannot be left behind, because their positions allow every ceiling. Positions only rise, and
\*      nothing is owed to a reader that begins again further behind.
\*    * `lowest` of an overdue reader. It is compared with news only while the last answer is young, and the next answer
\*      that is young belongs to a report that sets `lowest`.
\*    * What a reader will ignore of an answer, because it has heard news of a higher revision. Without an answer on its way,
\*      `news` has no effect: the next news or report sets it.
\*    * The watermark of an answer. Only RevisionNamesOneEvent reads it, so the view has the value of that property.
\* 2. A lease passes only while a step waits for that: the end of a lease, or of the grace of a new group (`Awaited`).
\*    Otherwise an old answer only keeps its reader from using news, so that state has no step which the same state with a
\*    young answer lacks.
\*
\* Group itself has two more: an answer gets lost when its reader sends the next request, and the state to which the next
\* failover returns is chosen once.
\*
\* TLC represents a state by the least of its permutations. It compares first the variable whose name is first in TLC's
\* table of names, and that is `abstract`. So it finds equal views of permuted states; with another order it misses a third.
EXTENDS Group

VARIABLE abstract

Number(e) == IF e = None THEN None ELSE e.rev
Version(e) == IF e = None THEN None ELSE e.version
Epoch(g, r) == IF g = None THEN None ELSE g.members[r].epoch

Order(a, b) == IF a = None \/ b = None THEN None ELSE IF a < b THEN "<" ELSE IF a = b THEN "=" ELSE ">"
Same(a, b) == IF a = None \/ b = None THEN None ELSE a = b

Numbered == <<store, backup, wire>>
OrderOf(n) == [i \in 1 .. 3 |-> Order(n, Number(Numbered[i]))]
SameVersion(v) == IF Losses = 0 THEN None ELSE [i \in 1 .. 3 |-> Same(v, Version(Numbered[i]))]
SameEpoch(n, r) == <<Same(n, Epoch(store, r)), Same(n, Epoch(backup, r))>>

CanBeLeft(R) == {r \in R : pos[r] + Span < MAX}

AbstractAnswer(r) ==
    LET a == answer[r]
        e == a.event
    IN
    IF a = None THEN None
    ELSE IF reader[r].news /\ reader[r].rev > e.rev THEN <<a.age, SameVersion(e.version)>>
    ELSE <<a.age, SameVersion(e.version), e.ceiling, CanBeLeft(e.with \ {r}) \ owed[r], OrderOf(e.rev),
           Order(e.rev, reader[r].rev), reader[r].news>>

AbstractReader(r) ==
    LET me == reader[r] IN
    <<pos[r], AbstractAnswer(r), me.ceiling, me.age, IF Overdue(r) THEN None ELSE me.lowest, me.rev = 0, OrderOf(me.rev),
      SameVersion(me.version), me.epoch = 0, SameEpoch(me.epoch, r), me.alive, CanBeLeft(owed[r]),
      IF old[r] = None THEN None ELSE <<old[r].w, SameEpoch(old[r].epoch, r)>>>>

AbstractMember(m) == <<m.has, m.w, m.offer, m.lost>>
AbstractGroup(g) ==
    IF g = None THEN None
    ELSE <<[r \in Readers |-> AbstractMember(g.members[r])], g.watermark, g.ceiling, g.cap, g.grace, g.started>>
AbstractEvent(e) == IF e = None THEN None ELSE <<e.watermark, e.ceiling, CanBeLeft(e.with)>>

View ==
    <<[r \in Readers |-> AbstractReader(r)], AbstractGroup(store), AbstractGroup(backup), AbstractEvent(wire),
      OrderOf(Number(store)), Order(Number(backup), Number(wire)), quiet, left, RevisionNamesOneEvent>>

Abstract == abstract

Awaited == left.leases > 0 \/ left.losses > 0 \/ (IF store = None THEN TRUE ELSE store.grace)

\* Each step has a name of its own, so that TLC prints it in a counter-example.
Viewed == abstract' = View'
ReducedRegister(c, r) == Register(c, r) /\ Viewed
ReducedReport(c, r) == Report(c, r) /\ Viewed
ReducedNotKnown(c, r) == NotKnown(c, r) /\ Viewed
ReducedLateReport(c, r) == LateReport(c, r) /\ Viewed
ReducedEndLease(c, r) == EndLease(c, r) /\ Viewed
ReducedEndGrace(c) == EndGrace(c) /\ Viewed
ReducedReceive(r) == Receive(r) /\ Viewed
ReducedHearNews(r) == HearNews(r) /\ Viewed
ReducedPlan(r) == Plan(r) /\ Viewed
ReducedDie(r) == Die(r) /\ Viewed
ReducedRestart(r) == Restart(r) /\ Viewed
ReducedLeasePasses(r) == Awaited /\ LeasePasses(r) /\ Viewed
ReducedSilence == Silence /\ Viewed
ReducedForget == Forget /\ Viewed
ReducedFailOver == FailOver /\ Viewed

ReducedNext ==
    \/ \E c \in Actors, r \in Readers :
        \/ ReducedRegister(c, r) \/ ReducedReport(c, r) \/ ReducedNotKnown(c, r)
        \/ ReducedLateReport(c, r) \/ ReducedEndLease(c, r)
    \/ \E c \in Actors : ReducedEndGrace(c)
    \/ \E r \in Readers :
        \/ ReducedReceive(r) \/ ReducedHearNews(r) \/ ReducedPlan(r)
        \/ ReducedDie(r) \/ ReducedRestart(r) \/ ReducedLeasePasses(r)
    \/ ReducedSilence \/ ReducedForget \/ ReducedFailOver
ReducedSpec == Init /\ abstract = View /\ [][ReducedNext]_<<vars, abstract>>
=============================================================================
